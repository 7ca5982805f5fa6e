//! Problems and warnings on standard error, one line each.
//!
//! A problem with one image of a file often affects thousands of images. Messages about a file that differ only in
//! their places are merged into one line, with the first place and a count. The lines are printed once the file is
//! complete, in the order of their first messages. All output on standard error is written here, except progress bars.

use std::cell::RefCell;
use std::collections::BTreeMap;
use std::fmt;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::Args;
use clap::builder::styling::Style;
use clap::error::ErrorKind;
use console::Term;

use super::Status;
use super::failure::Failure;
use super::headings::OUTPUT;
use super::session::Session;
use super::usage::UsageMessage;
use crate::report::Meaning;
use fatbin_core::base::error::Error;
use fatbin_core::base::escape::{MAX_LINE, escape, escape_lines, shorten};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::STANDARD_OUTPUT;
use fatbin_core::scan::extract::ExtractError;
use fatbin_core::scan::filter::FilterError;
use fatbin_ops::analyze::verify::VerifyError;
use fatbin_ops::embed::bundle::BundleError;

/// Maximum number of different messages about one file. All of them are held in memory.
const MAX_GROUPS: usize = 100;

/// Returns whether messages are printed to a terminal.
pub fn are_shown() -> bool {
    Term::stderr().is_term()
}

/// Option of commands that report problems of several images.
#[derive(Debug, Clone, Copy, Args)]
pub struct ProblemArguments {
    /// Print every row, and every problem, also those that differ only in their places
    #[arg(short, long, help_heading = OUTPUT)]
    verbose: bool,
}

impl ProblemArguments {
    /// Returns whether rows that the default output leaves out are printed.
    pub fn is_verbose(self) -> bool {
        self.verbose
    }

    /// Returns the log of the command's problems.
    pub fn problems(self, session: &Session) -> Problems {
        Problems::new(session, self.verbose)
    }
}

/// Log of problems and warnings. Messages about the last file are printed at the latest when it is dropped.
#[derive(Debug)]
pub struct Problems {
    session: Session,
    is_verbose: bool,
    file: RefCell<FileProblems>,
}

/// Messages about one file, or about the members of one archive.
#[derive(Debug, Default)]
struct FileProblems {
    path: PathBuf,
    groups: Vec<Group>,
    /// Indices of groups.
    known: BTreeMap<(Severity, String), usize>,
    /// Number of messages that belong to none of the groups.
    omitted: usize,
}

/// Messages that differ only in their places.
#[derive(Debug)]
struct Group {
    severity: Severity,
    first: String,
    more: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Severity {
    Error,
    Warning,
}

/// A file, and its problem without the place.
struct Subject<'a> {
    path: &'a Path,
    problem: String,
}

impl Problems {
    /// Creates a log. A verbose log prints each message separately.
    pub fn new(session: &Session, is_verbose: bool) -> Problems {
        Problems { session: session.clone(), is_verbose, file: RefCell::default() }
    }

    /// The run that the problems are of.
    pub fn session(&self) -> &Session {
        &self.session
    }

    /// Reports an error and returns the exit status that it causes.
    pub fn report(&self, error: impl Into<Failure>) -> Status {
        let error = with_output(error.into());
        // The reader closed the pipe, as `head` does: not an error.
        self.session.record_reported();
        let closed = error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
        if !closed {
            self.session.codes().record(&error);
            self.add(Severity::Error, &error);
        }
        let is_no_match = matches!(error.downcast_ref(), Some(BundleError::MissingTargets { .. }))
            || matches!(error.downcast_ref(), Some(FilterError::NoMatch { .. }))
            || matches!(error.downcast_ref(), Some(ExtractError::Filter(FilterError::NoMatch { .. })));
        if is_no_match { Status::No } else { Status::Trouble }
    }

    /// Reports a warning.
    pub fn warn(&self, error: impl Into<Failure>) {
        self.add(Severity::Warning, &error.into());
    }

    /// Prints the messages about the file before `path`, if that is another file.
    pub fn start_file(&self, path: &FilePath) {
        let on_disk = Path::new(path.on_disk_text());
        if self.file.borrow().path != on_disk {
            self.flush();
            self.file.borrow_mut().path = on_disk.to_owned();
        }
    }

    /// Prints the messages that are held back.
    pub fn flush(&self) {
        self.file.take().print(&self.session);
    }

    fn add(&self, severity: Severity, error: &Failure) {
        let message = format!("{error:#}");
        let subject = if self.is_verbose { None } else { Subject::of(error) };
        let Some(Subject { path, problem }) = subject else {
            self.flush();
            return self.session.print_message(severity, &message);
        };
        if !self.file.borrow().covers(path) {
            self.flush();
            self.file.borrow_mut().path = path.to_owned();
        }
        self.file.borrow_mut().add(severity, problem, message);
    }
}

impl Drop for Problems {
    fn drop(&mut self) {
        self.flush();
    }
}

impl FileProblems {
    /// Returns whether a printed path is the file or a member of it.
    fn covers(&self, path: &Path) -> bool {
        let (path, own) = (path.as_os_str().as_encoded_bytes(), self.path.as_os_str().as_encoded_bytes());
        path.strip_prefix(own).is_some_and(|rest| rest.is_empty() || rest.starts_with(b"!"))
    }

    fn add(&mut self, severity: Severity, problem: String, message: String) {
        let count = self.groups.len();
        match self.known.get(&(severity, problem.clone())) {
            Some(&group) => self.groups[group].more += 1,
            None if count == MAX_GROUPS => self.omitted += 1,
            None => {
                self.known.insert((severity, problem), count);
                self.groups.push(Group { severity, first: message, more: 0 });
            }
        }
    }

    fn print(self, session: &Session) {
        for Group { severity, first, more } in self.groups {
            match more {
                0 => session.print_message(severity, &first),
                more => {
                    session.print_message(severity, &format!("{first} (and {more} more like it; use -v to print all)"));
                }
            }
        }
        if self.omitted > 0 {
            let path = self.path.display();
            session.print_message(
                Severity::Error,
                &format!("{path}: {} more problems; use -v to print all", self.omitted),
            );
        }
    }
}

impl<'a> Subject<'a> {
    /// Only an error about one of several places in a file has a subject; `None` for other errors.
    fn of(error: &'a Failure) -> Option<Self> {
        let subject = |path: &'a PathBuf, problem: String| Some(Subject { path, problem });
        if let Some(VerifyError::Image { path, why, .. }) = error.downcast_ref() {
            return subject(path, why.clone());
        }
        if let Some(ExtractError::UnknownCodec { path, .. }) = error.downcast_ref() {
            return subject(path, "unknown codec".to_owned());
        }
        if let Some(FilterError::KernelsUnknown { path, why, .. }) = filter_error(error) {
            return subject(path, (*why).to_owned());
        }
        match input_error(error)? {
            Error::Malformed { path, malformed } | Error::MalformedImage { path, malformed, .. } => {
                subject(path, format!("{}: {}", malformed.field, malformed.cause))
            }
            Error::UnreadableMember { path, why } => subject(path, why.clone()),
            _ => None,
        }
    }
}

fn filter_error(error: &Failure) -> Option<&FilterError> {
    match error.downcast_ref() {
        Some(ExtractError::Filter(error)) => Some(error),
        _ => error.downcast_ref(),
    }
}

fn input_error(error: &Failure) -> Option<&Error> {
    match (error.downcast_ref(), error.downcast_ref(), filter_error(error)) {
        (Some(VerifyError::Input(error)), ..) => Some(error),
        (_, Some(ExtractError::File(error)), _) => Some(error),
        (.., Some(FilterError::Input(error))) => Some(error),
        _ => error.downcast_ref(),
    }
}

/// Adds the name of standard output to an error of writing to it: only such errors have no context. A closed pipe is
/// not reported.
fn with_output(error: Failure) -> Failure {
    match error.downcast_ref::<io::Error>() {
        Some(cause) if error.is_bare() && cause.kind() != io::ErrorKind::BrokenPipe => {
            error.about(format!("{STANDARD_OUTPUT}: cannot write"))
        }
        _ => error,
    }
}

impl Session {
    /// Prints a line about what a command did, for `--verbose` and `--explain`.
    pub fn print_detail(&self, detail: fmt::Arguments<'_>) {
        self.print_line("fatbin:", Style::new(), &detail.to_string());
    }

    /// Prints the line about a negative answer.
    pub fn print_answer(&self, message: &str) {
        self.print_line("fatbin:", Style::new(), message);
    }

    /// Prints a warning.
    pub fn print_warning(&self, message: &str) {
        self.print_message(Severity::Warning, message);
    }

    /// Prints the command that explains the errors so far, if a person reads them.
    pub fn print_hint(&self) {
        if let Some(command) = self.codes().command()
            && are_shown()
            && !self.is_quiet()
        {
            self.print_line("fatbin:", Style::new(), &format!("for details, run: {command}"));
        }
    }

    /// Prints what another program has printed, escaped.
    pub fn print_output(&self, output: &str) {
        let _ = self.progress().suspend(|| write!(io::stderr(), "{}", escape_lines(output)));
    }

    fn print_message(&self, severity: Severity, message: &str) {
        let (meaning, prefix) = match severity {
            Severity::Error => (Meaning::Bad, "fatbin:"),
            Severity::Warning => (Meaning::Unsure, "fatbin: warning:"),
        };
        self.print_line(prefix, meaning.style(), message);
    }

    /// Prints a line, escaped and of limited length. Colors are left out if standard error is not a terminal.
    fn print_line(&self, prefix: &str, style: Style, message: &str) {
        let message = escape(message);
        let message = shorten(&message, MAX_LINE - prefix.len() - 1);
        let style = if self.has_color(&Term::stderr()) { style } else { Style::new() };
        // If standard error is closed, the exit status still reports the problem.
        let line = format!("{style}{prefix}{style:#} {message}\n");
        let _ = self.progress().suspend(|| io::stderr().write_all(line.as_bytes()));
    }

    /// Prints the error in the arguments of a command line, or the help that they request, and ends the program. The
    /// error may contain arguments, such as names that a shell found in a directory.
    pub fn exit_with_usage(&self, error: &clap::Error, program: &clap::Command) -> ! {
        if error.kind() == ErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
            let _ = error.print();
        } else {
            let UsageMessage { message, usage } = UsageMessage::new(error, program);
            self.print_message(Severity::Error, &message);
            // A command may have several forms.
            for form in usage.iter().flat_map(|usage| usage.lines()) {
                self.print_message(Severity::Error, &format!("usage: {}", form.trim()));
            }
        }
        self.codes().record_usage(error);
        self.print_hint();
        std::process::exit(error.exit_code());
    }
}
