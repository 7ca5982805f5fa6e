//! Reading: every stated offset and size is checked against the binary before anything is returned.

use super::raw::{Entry, Header, StringEntry};
use crate::bytes::View;
use crate::error::{Cause, Malformed};

/// More properties than any tool writes (there are two, `triple` and `arch`); a bound for hostile files.
const MOST_STRINGS: u64 = 1024;

/// A checked offload binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadBinary<'data> {
    pub version: u32,
    /// See [`super::image_kind`]; kept as it is, because tools write kinds that others do not know.
    pub image_kind: u16,
    /// See [`crate::target::OffloadKind::from_bit`]; kept as it is for the same reason.
    pub offload_kind: u16,
    pub flags: u32,
    /// Keys and values in the order of the file.
    pub strings: Vec<(&'data str, &'data str)>,
    /// The device image.
    pub image: View<'data>,
    /// The whole binary, padding included.
    pub view: View<'data>,
}

impl<'data> OffloadBinary<'data> {
    /// Reads the binary at the start of a view that may go on behind it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let header = Header::read(view)?;
        let view = view.part("offload binary size", 8, 0, header.size)?;
        if header.entry_size != Entry::SIZE {
            let cause = Cause::Unexpected { value: header.entry_size, expected: "40" };
            return Err(view.malformed("offload binary entry size", 24, cause));
        }
        let at = header.entry_offset;
        view.part("offload binary entry offset", 16, at, Entry::SIZE)?;
        let entry = Entry::read(view, at)?;
        let strings = read_strings(view, at, &entry)?;
        let image = view.part("offload binary image offset", at + 24, entry.image_offset, entry.image_size)?;
        Ok(OffloadBinary {
            version: header.version,
            image_kind: entry.image_kind,
            offload_kind: entry.offload_kind,
            flags: entry.flags,
            strings,
            image,
            view,
        })
    }

    /// The value of a key; the last one where it repeats, as in LLVM's map.
    pub fn string(&self, key: &str) -> Option<&'data str> {
        self.strings.iter().rfind(|(known, _)| *known == key).map(|&(_, value)| value)
    }
}

fn read_strings<'data>(
    view: View<'data>,
    entry_at: u64,
    entry: &Entry,
) -> Result<Vec<(&'data str, &'data str)>, Malformed> {
    if entry.string_count > MOST_STRINGS {
        let cause = Cause::Unexpected { value: entry.string_count, expected: "at most 1024" };
        return Err(view.malformed("offload binary string count", entry_at + 16, cause));
    }
    let table_size = entry.string_count * StringEntry::SIZE;
    view.part("offload binary string offset", entry_at + 8, entry.string_offset, table_size)?;
    (0..entry.string_count)
        .map(|index| {
            let at = entry.string_offset + index * StringEntry::SIZE;
            let string = StringEntry::read(view, at)?;
            let key = view.c_string("offload binary key", at, string.key_offset)?;
            let value = view.c_string("offload binary value", at + 8, string.value_offset)?;
            Ok((key, value))
        })
        .collect()
}
