//! Layout of the only structure, with its reader and writer side by side.

use crate::base::bytes::View;
use crate::base::error::Malformed;

pub use crate::format::container_type::BUNDLE_MAGIC as MAGIC;

/// The magic as text.
pub const MAGIC_TEXT: &str = match str::from_utf8(MAGIC) {
    Ok(text) => text,
    Err(_) => panic!("the magic is ASCII"),
};

/// Offset of the number of entries; the entries follow it.
pub const COUNT_OFFSET: u64 = MAGIC.len() as u64;

/// Offset of the first entry.
pub const ENTRIES_OFFSET: u64 = COUNT_OFFSET + 8;

/// Fixed part of an entry; `id_length` bytes of ID follow it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EntryHeader {
    /// +0: offset of the code object.
    pub offset: u64,
    /// +8: size of the code object in bytes.
    pub size: u64,
    /// +16: length of the ID in bytes.
    pub id_length: u64,
}

impl EntryHeader {
    pub const SIZE: u64 = 24;

    /// Offset of the length of the ID.
    pub const ID_LENGTH: u64 = 16;

    /// Reads the header at the start of a view.
    pub fn read(view: View) -> Result<Self, Malformed> {
        Ok(EntryHeader {
            offset: view.u64("bundle entry offset", 0)?,
            size: view.u64("bundle entry size", 8)?,
            id_length: view.u64("bundle entry id length", Self::ID_LENGTH)?,
        })
    }

    pub fn write(&self, to: &mut Vec<u8>) {
        to.extend(self.offset.to_le_bytes());
        to.extend(self.size.to_le_bytes());
        to.extend(self.id_length.to_le_bytes());
    }
}

/// Content of the host's section in a bundle of objects.
pub const HOST_CONTENT: &[u8] = b"\0";

/// Returns the name of the section for an ID.
pub fn section_name(id: &str) -> String {
    format!("{MAGIC_TEXT}{id}")
}
