//! RPM packages: a lead, a header of signatures, a header of the package, and the payload, a compressed cpio archive.
//!
//! Source: the RPM package format, version 4, in the documentation of RPM 4.18; tags from its `rpmtag.h`.

use super::{ArchiveFormat, Member, MemberContent};
use crate::base::bytes::{Cursor, Resource, View, entries_size};
use crate::base::error::{Cause, Malformed};

/// First bytes of the lead.
pub const MAGIC: &[u8] = b"\xed\xab\xee\xdb";

/// Sizes of the lead, of the introduction of a header and of an entry of its index.
const LEAD: u64 = 96;
const INTRODUCTION: u64 = 16;
const ENTRY: u64 = 16;

/// First bytes of a header: magic and version.
const HEADER_MAGIC: &[u8] = b"\x8e\xad\xe8\x01";

/// The header of signatures is padded to a multiple of this.
const ALIGNMENT: u64 = 8;

/// Tags of the format and of the compressor of the payload.
const PAYLOAD_FORMAT: u32 = 1124;
const PAYLOAD_COMPRESSOR: u32 = 1125;

/// Reads the payload as an unnamed member.
pub fn members<'data>(view: View<'data>, take: &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed> {
    let mut cursor = Cursor::new(view);
    cursor.take("RPM lead", LEAD)?;
    Header::read(&mut cursor)?;
    cursor.align(ALIGNMENT);
    let header = Header::read(&mut cursor)?;
    let payload = cursor.rest();
    let content = if ArchiveFormat::of(payload).is_some() {
        MemberContent::Here(payload)
    } else {
        let format = header.text(PAYLOAD_FORMAT).unwrap_or("cpio");
        let compressor = header.text(PAYLOAD_COMPRESSOR).unwrap_or("gzip");
        MemberContent::Unreadable(format!(
            "not opened: its payload is no {format} archive compressed by {compressor}; unpack it with rpm2archive"
        ))
    };
    take(Member::new(None, content));
    Ok(())
}

/// A header: an index of typed values, and their store.
struct Header<'data> {
    index: View<'data>,
    store: View<'data>,
}

impl<'data> Header<'data> {
    fn read(cursor: &mut Cursor<'data>) -> Result<Self, Malformed> {
        let introduction = cursor.take("RPM header", INTRODUCTION)?;
        if !introduction.starts_with(HEADER_MAGIC) {
            let cause = Cause::Described("invalid magic or version".to_owned());
            return Err(introduction.malformed("RPM header", 0, cause));
        }
        let entries = introduction.u32("RPM header entries", 8)?.swap_bytes();
        let size = introduction.u32("RPM header size", 12)?.swap_bytes();
        let index_size = entries_size(entries.into(), ENTRY);
        let index = cursor.take_stated(introduction.field("RPM header entries", 8), index_size)?;
        let store = cursor.take_stated(introduction.field("RPM header size", 12), size.into())?;
        Ok(Header { index, store })
    }

    /// Returns the text of a tag; `None` if the header lacks it.
    fn text(&self, tag: u32) -> Option<&'data str> {
        let mut entries = Cursor::new(self.index);
        while let Ok(entry) = entries.take("RPM header entry", ENTRY) {
            entry.charge("RPM header entry", Resource::Work, 1).ok()?;
            if entry.u32("RPM tag", 0).ok()?.swap_bytes() == tag {
                let offset = entry.u32("RPM value offset", 8).ok()?.swap_bytes();
                return self.store.c_string("RPM value", offset.into()).ok();
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn header(entries: &[(u32, &str)]) -> Vec<u8> {
        let mut index = Vec::new();
        let mut store = Vec::new();
        for (tag, text) in entries {
            index.extend([*tag, 6, store.len() as u32, 1].map(u32::to_be_bytes).concat());
            store.extend([text.as_bytes(), b"\0"].concat());
        }
        let sizes = [0, entries.len() as u32, store.len() as u32].map(u32::to_be_bytes).concat();
        [HEADER_MAGIC, &sizes, &index, &store].concat()
    }

    fn package(compressor: &str, payload: &[u8]) -> Vec<u8> {
        let mut bytes = [MAGIC, &[0; 92], &header(&[(1000, "odd")])].concat();
        bytes.resize(bytes.len().next_multiple_of(8), 0);
        [&bytes[..], &header(&[(1124, "cpio"), (1125, compressor)]), payload].concat()
    }

    fn listed(bytes: &[u8]) -> Result<String, String> {
        let mut found = String::new();
        members(View::new(bytes), &mut |member| match member.content {
            MemberContent::Here(view) => found = format!("{} bytes", view.size()),
            MemberContent::Unreadable(reason) => found = reason,
            other => panic!("{other:?}"),
        })
        .map_err(|error| error.to_string())?;
        Ok(found)
    }

    #[test]
    fn the_payload_is_a_member() {
        let payload = b"\xfd7zXZ\0 and more";
        let bytes = package("xz", payload);
        assert_eq!(listed(&bytes).unwrap(), "15 bytes");
        let start = bytes.len() - payload.len();
        for cut in 0..start {
            listed(&bytes[..cut]).unwrap_err();
        }
        let reason = "not opened: its payload is no cpio archive compressed by zpaq; unpack it with rpm2archive";
        assert_eq!(listed(&package("zpaq", b"zpaq")).unwrap(), reason);
    }

    #[test]
    fn damage_is_an_error_at_its_field() {
        let cases: [(usize, &[u8], &str); 4] = [
            (96, b"x", "RPM header at 0x60: invalid magic or version"),
            (99, b"\x02", "RPM header at 0x60: invalid magic or version"),
            (104, &[0xff; 4], "RPM header entries at 0x68: offset 112 with size 68719476720 is out of bounds"),
            (108, &[0xff; 4], "RPM header size at 0x6c: offset 128 with size 4294967295 is out of bounds"),
        ];
        for (at, bytes, expected) in cases {
            let mut damaged = package("xz", b"");
            damaged[at..at + bytes.len()].copy_from_slice(bytes);
            let error = listed(&damaged).unwrap_err();
            assert!(error.starts_with(expected), "{error}, expected {expected}");
        }
        // Values beyond the store are no text.
        let mut damaged = package("xz", b"?");
        let entry = damaged.windows(4).rposition(|bytes| bytes == PAYLOAD_COMPRESSOR.to_be_bytes()).unwrap();
        damaged[entry + 8..entry + 12].copy_from_slice(&[0xff; 4]);
        assert!(listed(&damaged).unwrap().contains("compressed by gzip"));
    }
}
