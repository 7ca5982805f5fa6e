//! Exit statuses of all commands.

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
