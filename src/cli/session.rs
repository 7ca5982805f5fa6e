//! A run of the command line: how it reads inputs, what the options of all commands decide, and what it has said so far.
//!
//! Nothing of a run is in a static, so a process can have several.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use clap::{Args, ValueEnum};

use super::explanations::ReportedCodes;
use super::progress::Line;
use fatbin_core::base::io::Access;
use fatbin_core::scan::{Options, Scanner};

/// Options of all commands about output.
#[derive(Debug, Clone, Copy, Default, Args)]
pub struct OutputChoices {
    /// When to use colors; auto uses them on terminals unless NO_COLOR is set
    #[arg(
        long,
        global = true,
        value_name = "WHEN",
        default_value = "auto",
        hide_default_value = true,
        display_order = 1000
    )]
    color: When,

    /// Print results, warnings and errors only: no progress, no hints, no list of what was written or changed
    #[arg(long, global = true, display_order = 1002)]
    quiet: bool,
}

#[derive(Debug, Clone, Copy, Default, ValueEnum)]
pub enum When {
    #[default]
    Auto,
    Always,
    Never,
}

/// A run of the command line.
#[derive(Debug, Clone)]
pub struct Session {
    access: Access,
    choices: OutputChoices,
    said: Arc<Said>,
    progress: Line,
}

/// What a run has said so far.
#[derive(Debug, Default)]
struct Said {
    /// A report was written to standard output.
    has_written: AtomicBool,
    /// An error was reported, or nobody reads the output.
    has_reported: AtomicBool,
    codes: ReportedCodes,
    answer: Mutex<Option<String>>,
    subjects: Mutex<Subjects>,
}

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

impl Session {
    /// Starts a run that has this access to inputs.
    pub fn new(access: Access) -> Session {
        Session { access, choices: OutputChoices::default(), said: Arc::default(), progress: Line::default() }
    }

    /// Applies choices to all output that follows.
    pub fn choose(&mut self, choices: OutputChoices) {
        self.choices = choices;
    }

    /// The access to all inputs.
    pub fn access(&self) -> Access {
        self.access
    }

    /// Creates a scanner with this access.
    pub fn scanner(&self, options: Options) -> Scanner {
        Scanner::new(options).with_access(self.access)
    }

    /// Only results, warnings and errors are printed.
    pub fn is_quiet(&self) -> bool {
        self.choices.quiet
    }

    /// The choice of colors.
    pub fn color(&self) -> When {
        self.choices.color
    }

    /// The line of progress.
    pub fn progress(&self) -> &Line {
        &self.progress
    }

    /// Records that a report was written to standard output.
    pub fn record_written(&self) {
        self.said.has_written.store(true, Ordering::Relaxed);
    }

    /// A report was written to standard output.
    pub fn has_written(&self) -> bool {
        self.said.has_written.load(Ordering::Relaxed)
    }

    /// Records that an error was reported, or that nobody reads the output.
    pub fn record_reported(&self) {
        self.said.has_reported.store(true, Ordering::Relaxed);
    }

    /// An error was reported, or nobody reads the output.
    pub fn has_reported(&self) -> bool {
        self.said.has_reported.load(Ordering::Relaxed)
    }

    /// The codes of the errors so far.
    pub fn codes(&self) -> &ReportedCodes {
        &self.said.codes
    }

    /// Records the meaning of a negative answer, if it differs from the usual one of the command.
    pub fn record_answer(&self, answer: String) {
        *locked(&self.said.answer) = Some(answer);
    }

    /// Records the meaning of a negative answer, unless one is known.
    pub fn record_reason(&self, answer: &str) {
        locked(&self.said.answer).get_or_insert_with(|| answer.to_owned());
    }

    /// Takes the recorded meaning of a negative answer.
    pub fn take_answer(&self) -> Option<String> {
        locked(&self.said.answer).take()
    }

    /// Records the inputs that an answer is about.
    pub fn record_inputs(&self, names: impl IntoIterator<Item = String>) {
        let mut subjects = locked(&self.said.subjects);
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
    pub fn record_files(&self, count: usize) {
        locked(&self.said.subjects).files = Some(count);
    }

    /// Number of files in the inputs, if there are more, or fewer, than inputs.
    pub fn files(&self) -> Option<usize> {
        let Subjects { count, files, .. } = *locked(&self.said.subjects);
        files.filter(|files| *files != count)
    }

    /// An answer is about one input.
    pub fn is_only_input(&self) -> bool {
        locked(&self.said.subjects).count <= 1
    }

    /// The recorded inputs as the subject of a message.
    pub fn inputs(&self) -> String {
        let Subjects { first, count, .. } = &*locked(&self.said.subjects);
        match (first.as_slice(), *count) {
            ([], _) => "no input".to_owned(),
            ([one], _) => one.clone(),
            ([one, other], NAMED) => format!("{one} and {other}"),
            ([one, ..], count) => format!("{one} and {} more", count - 1),
        }
    }
}

fn locked<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
