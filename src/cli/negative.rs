//! The line on standard error that explains an exit status other than 0 without an error: the answer is on standard
//! output, or nothing was found.

use std::sync::{Mutex, MutexGuard, PoisonError};

use super::failure::Failure;
use super::problems::{are_shown, has_reported, print_answer};
use super::terminal::has_shown;
use super::{Command, Status};
use fatbin_core::scan::extract::ExtractError;
use fatbin_core::scan::filter::FilterError;
use fatbin_ops::link::doctor::DoctorError;

/// Names of the first inputs, and the number of all.
#[derive(Debug, Default)]
struct Subjects {
    first: Vec<String>,
    count: usize,
    /// Number of files in the inputs, if it is known.
    files: Option<usize>,
}

/// Number of inputs that are named.
const NAMED: usize = 2;

static ANSWER: Mutex<Option<String>> = Mutex::new(None);

/// Records the meaning of a negative answer, if it differs from the usual one of the command.
pub fn record_answer(answer: String) {
    *ANSWER.lock().unwrap_or_else(PoisonError::into_inner) = Some(answer);
}

static SUBJECTS: Mutex<Subjects> = Mutex::new(Subjects { first: Vec::new(), count: 0, files: None });

/// Records the meaning of a negative answer, unless one is known.
pub fn record_reason(answer: &str) {
    ANSWER.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| answer.to_owned());
}

/// Records the inputs that an answer is about.
pub fn record_inputs(names: impl IntoIterator<Item = String>) {
    let mut subjects = subjects();
    for name in names {
        if subjects.first.contains(&name) {
            continue;
        }
        subjects.count += 1;
        if subjects.first.len() < NAMED {
            subjects.first.push(name);
        }
    }
}

/// Records the number of files in the inputs.
pub fn record_files(count: usize) {
    subjects().files = Some(count);
}

/// Returns the number of files in the inputs if there are more, or fewer, than inputs.
pub fn files() -> Option<usize> {
    let Subjects { count, files, .. } = *subjects();
    files.filter(|files| *files != count)
}

/// Returns whether an answer is about one input.
pub fn is_only_input() -> bool {
    subjects().count <= 1
}

/// Returns the recorded inputs as the subject of a message.
pub fn inputs() -> String {
    let Subjects { first, count, .. } = &*subjects();
    match (first.as_slice(), *count) {
        ([], _) => "no input".to_owned(),
        ([one], _) => one.clone(),
        ([one, other], NAMED) => format!("{one} and {other}"),
        ([one, ..], count) => format!("{one} and {} more", count - 1),
    }
}

fn subjects() -> MutexGuard<'static, Subjects> {
    SUBJECTS.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Adds the inputs to an error about all inputs.
pub fn with_inputs(error: Failure) -> Failure {
    let filter = match error.downcast_ref() {
        Some(ExtractError::Filter(error)) => Some(error),
        _ => error.downcast_ref(),
    };
    let is_about_all = matches!(filter, Some(FilterError::NoMatch { .. }))
        || matches!(error.downcast_ref(), Some(DoctorError::NoObjects));
    if is_about_all { error.about(inputs()) } else { error }
}

/// The answers of a command that it does not report as errors.
#[derive(Debug, Clone, Copy)]
pub struct Answers {
    /// Meaning of status 1.
    no: &'static str,
    /// Meaning of status 2.
    unknown: &'static str,
    /// The text on standard output states the meaning of status 1.
    is_in_report: bool,
}

impl Answers {
    pub fn of(command: &Command) -> Answers {
        let no = match command {
            Command::List(_) => "no bundle entries; fatbin scan lists device images of every form",
            Command::Select(_) => "no code for the device",
            Command::Check(_) => "the policy is violated",
            Command::Diff(_) => "the device code differs",
            Command::Doctor(_) => "the link has problems",
            Command::Addr2line(_) => "no source for a location",
            Command::Metadata(_) => "no device code to describe",
            Command::Overview(_)
            | Command::Scan(_)
            | Command::Extract(_)
            | Command::Inspect(_)
            | Command::Verify(_)
            | Command::Size(_)
            | Command::Requires(_)
            | Command::Lock(_) => "no device images",
            Command::Wrap(_)
            | Command::Embed(_)
            | Command::Link(_)
            | Command::Pack(_)
            | Command::Bundle(_)
            | Command::Unbundle(_)
            | Command::Prune(_)
            | Command::Strip(_)
            | Command::Split(_)
            | Command::Join(_)
            | Command::Recover(_)
            | Command::Transcode(_)
            | Command::Replace(_)
            | Command::Schema(_)
            | Command::Explain(_)
            | Command::Completions(_)
            | Command::Man(_)
            | Command::InstallLinks(_)
            | Command::Help(_) => "nothing was written",
        };
        let unknown = match command {
            Command::Doctor(_) => "the link fails or cannot be judged",
            _ => "the answer is not known",
        };
        let is_in_report = matches!(
            command,
            Command::Overview(_)
                | Command::Scan(_)
                | Command::Inspect(_)
                | Command::Verify(_)
                | Command::Requires(_)
                | Command::Check(_)
                | Command::Diff(_)
                | Command::Doctor(_)
        );
        Answers { no, unknown, is_in_report }
    }

    /// Prints the line about a status, unless an error was reported.
    pub fn report(self, status: Status) {
        let recorded = ANSWER.lock().unwrap_or_else(PoisonError::into_inner).take();
        // Nobody needs to read on a terminal what the report has just stated.
        let is_stated = status == Status::No && recorded.is_none() && self.is_in_report && has_shown() && are_shown();
        let answer = match status {
            Status::Yes => return,
            Status::No => recorded.unwrap_or_else(|| self.no.to_owned()),
            Status::Trouble | Status::Unknown => self.unknown.to_owned(),
        };
        if !has_reported() && !is_stated {
            print_answer(&format!("{}: {answer}", inputs()));
        }
    }
}
