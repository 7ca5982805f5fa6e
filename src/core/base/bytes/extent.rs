//! Arguments for a part of a view: the bytes, and the field that states them.

use crate::base::error::{Cause, Malformed};

/// A number of bytes from an offset on, in a view that has not been asked yet whether it has them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Extent {
    /// Offset of the first byte in the view.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}

impl Extent {
    /// Offset after the last byte. Beyond 64 bits it is the largest, which is out of bounds in every view.
    pub(crate) fn end(self) -> u64 {
        self.offset.saturating_add(self.size)
    }
}

/// A table in a view: entries of one size.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Table {
    /// Offset of the first entry in the view.
    pub offset: u64,
    /// Number of entries.
    pub count: u64,
    /// Size of an entry in bytes, not 0.
    pub entry_size: u64,
}

impl Table {
    /// All entries. A size beyond 64 bits is out of bounds in every view.
    pub fn extent(self) -> Extent {
        Extent { offset: self.offset, size: entries_size(self.count, self.entry_size) }
    }

    /// Offsets of the entries, up to the largest offset: for a table of addresses, which no view has.
    pub fn offsets(self) -> impl Iterator<Item = u64> {
        (self.offset..self.extent().end()).step_by(self.entry_size as usize)
    }
}

/// Size of entries in bytes. A count that no file can have gives a size that no file has.
pub fn entries_size(count: u64, entry_size: u64) -> u64 {
    count.saturating_mul(entry_size)
}

/// Name of a field and its place in the file, for errors about what the field states. A name alone is the start of the
/// view that is read.
#[derive(Debug, Clone, Copy)]
pub struct FieldPlace {
    name: &'static str,
    /// Offset from the start of the file; `None` for the start of the view that is read.
    offset: Option<u64>,
}

impl FieldPlace {
    pub(super) fn new(name: &'static str, offset: u64) -> Self {
        FieldPlace { name, offset: Some(offset) }
    }

    /// Creates an error about the field, in a view that starts at `view_start` in the file.
    #[cold]
    pub(super) fn malformed(self, view_start: u64, cause: Cause) -> Malformed {
        Malformed { field: self.name, offset: self.offset.unwrap_or(view_start), cause }
    }
}

impl From<&'static str> for FieldPlace {
    fn from(name: &'static str) -> Self {
        FieldPlace { name, offset: None }
    }
}
