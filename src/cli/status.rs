//! Exit statuses and messages of all commands.

use std::io::{self, Write};

use anstyle::AnsiColor;

use crate::ops::BundleError;
use crate::ops::extract::ExtractError;
use crate::ops::filter::FilterError;

/// Exit status of a command, with the meanings of grep and diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success: written, found, as required, equal.
    Yes = 0,
    /// Negative answer: nothing found, not as required, different.
    No = 1,
    /// Invalid usage, or a file that cannot be read, parsed or written.
    Trouble = 2,
}

impl Status {
    /// Combines the statuses of two inputs: trouble with one is trouble, and finding something in one is enough.
    pub fn and(self, other: Status) -> Status {
        match (self, other) {
            (Status::Trouble, _) | (_, Status::Trouble) => Status::Trouble,
            (Status::Yes, _) | (_, Status::Yes) => Status::Yes,
            (Status::No, Status::No) => Status::No,
        }
    }
}

/// Prints a warning as one line.
pub fn warn(error: &anyhow::Error) {
    print(AnsiColor::Yellow, "fatbin: warning:", error);
}

/// Prints a message on standard error, with its prefix in color if that is a terminal.
fn print(color: AnsiColor, prefix: &str, error: &anyhow::Error) {
    // Names in a message may contain line breaks; the message is one line.
    let message = format!("{error:#}").replace(|c: char| c.is_control(), "?");
    let style = color.on_default().bold();
    // If standard error is closed, the exit status still reports the problem.
    let _ = writeln!(anstream::stderr(), "{style}{prefix}{style:#} {message}");
}

/// Prints an error as one line and returns the exit status that it causes.
pub fn report(error: &anyhow::Error) -> Status {
    // The reader closed the pipe, as `head` does: not an error.
    let closed = error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if !closed {
        print(AnsiColor::Red, "fatbin:", error);
    }
    let is_no_match = matches!(error.downcast_ref(), Some(BundleError::MissingTargets { .. }))
        || matches!(error.downcast_ref(), Some(FilterError::NoMatch { .. }))
        || matches!(error.downcast_ref(), Some(ExtractError::Filter(FilterError::NoMatch { .. })));
    if is_no_match { Status::No } else { Status::Trouble }
}
