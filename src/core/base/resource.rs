//! The resources that reading a file is limited in.

/// A resource with a limit for each input file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Resource {
    /// Steps of reading: a field, a table entry, eight bytes of text, or 64 searched bytes.
    Work,
    /// Bytes of results that are kept: inventories, kernels, names and paths.
    Memory,
    /// Decompressed bytes in total, at every level of nesting.
    Decompressed,
    /// Opened members of archives.
    Members,
}

impl Resource {
    /// Unit in messages.
    pub fn unit(self) -> &'static str {
        match self {
            Resource::Work => "steps of work",
            Resource::Memory => "bytes of results",
            Resource::Decompressed => "decompressed bytes",
            Resource::Members => "archive members",
        }
    }
}
