//! Exit statuses of all commands.

/// Exit status of a command, with the meanings of grep and diff.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Status {
    /// Success: written, found, as required, equal.
    Yes,
    /// Negative answer: nothing found, not as required, different.
    No,
    /// Invalid usage, or a file that cannot be read, parsed or written.
    Trouble,
    /// Nothing found, but files were not opened: not a negative answer.
    Unknown,
}

impl Status {
    /// Combines the statuses of two inputs: trouble with one is trouble, and finding something in one is enough.
    pub fn and(self, other: Status) -> Status {
        match (self, other) {
            (Status::Trouble, _) | (_, Status::Trouble) => Status::Trouble,
            (Status::Yes, _) | (_, Status::Yes) => Status::Yes,
            (Status::Unknown, _) | (_, Status::Unknown) => Status::Unknown,
            (Status::No, Status::No) => Status::No,
        }
    }

    /// Returns the exit status of the program.
    pub fn code(self) -> u8 {
        match self {
            Status::Yes => 0,
            Status::No => 1,
            Status::Trouble | Status::Unknown => 2,
        }
    }
}
