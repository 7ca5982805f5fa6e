//! Exit statuses and messages, in one place for all commands.

use std::io::{self, Write};

use anstyle::AnsiColor;

use crate::error::Error;
use crate::ops::extract::ExtractError;
use crate::ops::filter::FilterError;

/// As grep and diff have them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Done, found.
    Yes = 0,
    /// Nothing found.
    No = 1,
    /// Wrong usage; something could not be read, understood or written.
    Trouble = 2,
}

impl Status {
    /// The status of two inputs together: trouble with one is trouble, and finding something in one is enough.
    pub fn and(self, other: Status) -> Status {
        match (self, other) {
            (Status::Trouble, _) | (_, Status::Trouble) => Status::Trouble,
            (Status::Yes, _) | (_, Status::Yes) => Status::Yes,
            (Status::No, Status::No) => Status::No,
        }
    }
}

/// Prints one line about something that is no problem yet and may become one.
pub fn warn(error: &anyhow::Error) {
    say(AnsiColor::Yellow, "fatbin: warning:", error);
}

/// `what` is in color where standard error is a terminal.
fn say(color: AnsiColor, what: &str, error: &anyhow::Error) {
    // One line whatever the names in it contain.
    let message = format!("{error:#}").replace(|c: char| c.is_control(), "?");
    let style = color.on_default().bold();
    // If standard error is closed, the exit status still says it.
    let _ = writeln!(anstream::stderr(), "{style}{what}{style:#} {message}");
}

/// Prints one line about a problem and says what it means for the exit status.
pub fn report(error: &anyhow::Error) -> Status {
    // Whoever reads the output has gone, as `head` does: not an error, and nobody to tell.
    let closed = error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if !closed {
        say(AnsiColor::Red, "fatbin:", error);
    }
    let is_no_match = matches!(error.downcast_ref(), Some(Error::MissingTargets { .. }))
        || matches!(error.downcast_ref(), Some(FilterError::NoMatch { .. }))
        || matches!(error.downcast_ref(), Some(ExtractError::Filter(FilterError::NoMatch { .. })));
    if is_no_match { Status::No } else { Status::Trouble }
}
