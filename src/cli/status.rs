//! Exit statuses and messages, in one place for all commands.

use std::io::{self, Write};

use crate::error::Error;

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

/// Prints one line about a problem and says what it means for the exit status.
pub fn report(error: &anyhow::Error) -> Status {
    // Whoever reads the output has gone, as `head` does: not an error, and nobody to tell.
    let closed = error.downcast_ref::<io::Error>().is_some_and(|error| error.kind() == io::ErrorKind::BrokenPipe);
    if !closed {
        // One line whatever the names in it contain.
        let message = format!("{error:#}").replace(|c: char| c.is_control(), "?");
        // If standard error is closed, the exit status still says it.
        let _ = writeln!(io::stderr(), "fatbin: {message}");
    }
    match error.downcast_ref::<Error>() {
        Some(Error::NothingMatches { .. } | Error::MissingTargets { .. }) => Status::No,
        _ => Status::Trouble,
    }
}
