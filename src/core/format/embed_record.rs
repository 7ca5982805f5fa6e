//! The record before each file that `fatbin embed` puts into an object. It makes the file's bytes and the name of its
//! symbol findable in a program that was linked and stripped.
//!
//! The record and the bytes are in one section, so a linker keeps, drops and moves both together. The distance between
//! them needs no relocation. Numbers are little-endian on every host. The layout is specific to fatbin;
//! docs/guide/embed.md documents it.
//!
//! | offset | size | field |
//! |---|---|---|
//! | 0 | 8 | magic |
//! | 8 | 4 | version, 1 |
//! | 12 | 4 | distance of the bytes from the record |
//! | 16 | 8 | number of bytes |
//! | 24 | 4 | length of the name without its NUL |
//! | 28 | 4 | 0 |
//! | 32 | | name of the symbol of the first byte, NUL, zeros up to the bytes |
//!
//! The bytes are followed by a NUL: runtimes read PTX up to one.
//!
//! An ELF object also has a note with the name of the section that holds its records. The note refers to nothing, so it
//! keeps no file in the program.

use crate::base::bytes::{Cursor, Extent, View};
use crate::base::error::{Cause, Malformed};

/// Bytes that begin a record. No text contains them.
pub const MAGIC: [u8; 8] = *b"\xfa\x7bEMBED\x1a";

/// Section of the note.
pub const NOTE_SECTION: &str = ".note.fatbin.embed";

/// Name in the note, with its NUL.
pub const NOTE_NAME: &[u8] = b"fatbin\0";

/// Type of the note; its description is the name of a section. Neither the gABI nor GNU uses this type.
pub const NOTE_TYPE: u32 = 0x100;

/// Version of the layout.
const VERSION: u32 = 1;

/// Offset of the name in a record.
pub const NAME_OFFSET: u64 = 32;

/// Maximum length of a name in bytes. C++ names of templates reach some thousand.
pub const MAX_NAME: usize = 1 << 16;

/// An embedded file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct EmbeddedFile<'data> {
    /// Name of the symbol of its first byte.
    pub name: &'data str,
    /// Record, bytes and the NUL that follows them.
    pub whole: View<'data>,
    /// Its bytes.
    pub view: View<'data>,
}

/// Returns whether a link merges a section into `section`: the name is the same, or has a suffix after a period.
pub fn is_part_of(name: &str, section: &str) -> bool {
    name.strip_prefix(section).is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}

/// Returns the record for `size` bytes that follow it at the next multiple of `alignment`, a power of two of at least
/// 8.
#[expect(clippy::arithmetic_side_effects, reason = "a name in memory")]
pub fn record(name: &str, size: u64, alignment: u64) -> Vec<u8> {
    let distance = (NAME_OFFSET + name.len() as u64 + 1).next_multiple_of(alignment);
    let mut record = MAGIC.to_vec();
    record.extend(VERSION.to_le_bytes());
    record.extend((distance as u32).to_le_bytes());
    record.extend(size.to_le_bytes());
    record.extend((name.len() as u32).to_le_bytes());
    record.extend([0; 4]);
    record.extend(name.as_bytes());
    record.resize(distance as usize, 0);
    record
}

/// Reads the embedded file whose record begins the view.
pub fn read(view: View<'_>) -> Result<EmbeddedFile<'_>, Malformed> {
    if !view.starts_with(&MAGIC) {
        return Err(view.malformed("magic", 0, Cause::Unexpected { value: 0, expected: "that of an embedded file" }));
    }
    let version = view.u32("version", 8)?;
    if version != VERSION {
        let cause = Cause::UnsupportedVersion { value: version.into(), supported: "1" };
        return Err(view.malformed("version", 8, cause));
    }
    let distance = u64::from(view.u32("distance", 12)?);
    let size = view.u64("size", 16)?;
    let length = u64::from(view.u32("name length", 24)?);
    let reserved = view.u32("reserved", 28)?;
    if reserved != 0 {
        return Err(view.malformed("reserved", 28, Cause::Unexpected { value: reserved.into(), expected: "0" }));
    }
    if length == 0 || length > MAX_NAME as u64 {
        let cause = Cause::Unexpected { value: length, expected: "1 to 65536" };
        return Err(view.malformed("name length", 24, cause));
    }
    let mut cursor = Cursor::new(view);
    cursor.take("name", NAME_OFFSET)?;
    let name = cursor.string(view.field("name", 24), length)?;
    if name.contains(|c: char| c.is_control()) {
        return Err(view.malformed("name", NAME_OFFSET, Cause::Unreadable));
    }
    let padding = view.between(view.field("distance", 12), cursor.at()..distance)?;
    if padding.size() == 0 || padding.data().iter().any(|&byte| byte != 0) {
        let cause = Cause::Unexpected { value: distance, expected: "the end of zeros after the name" };
        return Err(view.malformed("distance", 12, cause));
    }
    let bytes = view.part(view.field("bytes", 16), Extent { offset: distance, size })?;
    let after_bytes = Extent { offset: bytes.range_in(view).end, size: 1 };
    let terminator = view.part(view.field("terminator", 16), after_bytes)?;
    if terminator.data() != [0] {
        return Err(terminator.malformed("terminator", 0, Cause::Unexpected { value: 1, expected: "0" }));
    }
    let whole = view.prefix(view.field("embedded file", 16), terminator.range_in(view).end)?;
    Ok(EmbeddedFile { name, whole, view: bytes })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn embedded(name: &str, bytes: &[u8], alignment: u64) -> Vec<u8> {
        [&record(name, bytes.len() as u64, alignment)[..], bytes, &[0]].concat()
    }

    #[test]
    fn reads_what_it_wrote() {
        for alignment in [8, 64, 4096] {
            for name in ["k", "_ZN2ns6kernelE", "a name with spaces, 31 bytes ..", &"x".repeat(3000)] {
                for bytes in [&b""[..], b"bytes", &[7; 1000]] {
                    let mut data = embedded(name, bytes, alignment);
                    data.extend(b"what follows");
                    let file = read(View::new(&data)).unwrap();
                    assert_eq!((file.name, file.view.data()), (name, bytes));
                    assert_eq!(file.view.start() % alignment, 0);
                    assert_eq!(file.whole.size() as usize, data.len() - 12);
                }
            }
        }
    }

    #[test]
    fn rejects_a_record_that_is_damaged_or_truncated() {
        let good = embedded("name", b"bytes", 64);
        let message = |change: &dyn Fn(&mut Vec<u8>)| {
            let mut data = good.clone();
            change(&mut data);
            read(View::new(&data)).unwrap_err().to_string()
        };
        let set = |at: usize, value: u8| move |data: &mut Vec<u8>| data[at] = value;
        for (change, expected) in [
            (&set(1, 0) as &dyn Fn(&mut Vec<u8>), "magic"),
            (&set(8, 2), "unsupported version 2 (supported: 1)"),
            (&set(12, 36), "expected the end of zeros after the name"),
            (&set(12, 65), "expected the end of zeros after the name"),
            (&set(15, 1), "out of bounds"),
            (&set(16, 6), "out of bounds"),
            (&set(16, 4), "terminator"),
            (&set(23, 1), "out of bounds"),
            (&set(24, 0), "invalid value 0x0, expected 1 to 65536"),
            (&set(24, 3), "expected the end of zeros after the name"),
            (&set(27, 1), "expected 1 to 65536"),
            (&set(28, 1), "reserved"),
            (&set(33, 0), "not a printable UTF-8 string"),
            (&set(33, 0xff), "not a printable UTF-8 string"),
            (&set(40, 1), "expected the end of zeros after the name"),
        ] {
            let found = message(change);
            assert!(found.contains(expected), "{found}, expected {expected}");
        }
        for length in 0..good.len() {
            assert!(read(View::new(&good[..length])).is_err(), "{length}");
        }
    }
}
