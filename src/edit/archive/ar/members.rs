//! Headers of the members of an `ar` archive, with the spans that an edit changes.

use std::ops::Range;

use crate::base::bytes::{Extent, Resource, View};
use crate::base::error::{Cause, Malformed};
use crate::base::range::{moved, offset_from};

/// Size of the archive's magic.
const MAGIC_SIZE: u64 = 8;

/// Size of a member's header, and ranges of its fields (System V `ar.h`).
const HEADER: u64 = 60;
const NAME: Range<usize> = 0..16;
/// Range of the member's size, a decimal number.
pub const SIZE: Range<u64> = 48..58;

/// Prefix of a name that is stored in front of the member's bytes; its length follows (BSD, `ar(5)`).
const BSD_NAME: &[u8] = b"#1/";

/// A member of an archive.
#[derive(Debug, Clone)]
pub struct ArMember<'data> {
    /// Offset of the header.
    pub header: u64,
    /// Stored name, without padding. For a long name in GNU's table, this is its offset.
    pub name: &'data [u8],
    /// Range of everything that the size in the header counts, a BSD name included.
    pub content: Range<u64>,
    /// Offset of the member's own bytes.
    pub start: u64,
    /// Offset of the next header: the end of the content, or of the padding after it.
    pub end: u64,
}

impl ArMember<'_> {
    /// Returns whether the name is stored in front of the member's bytes.
    pub fn has_bsd_name(&self) -> bool {
        self.start > self.content.start
    }
}

/// Reads the headers of all members, tables included.
pub fn read(archive: View<'_>) -> Result<Vec<ArMember<'_>>, Malformed> {
    let mut members = Vec::new();
    let mut at = MAGIC_SIZE;
    while at < archive.size() {
        archive.charge("archive member", Resource::Memory, size_of::<ArMember<'_>>() as u64)?;
        let member = member(archive, at)?;
        at = member.end;
        members.push(member);
    }
    Ok(members)
}

fn member(archive: View<'_>, at: u64) -> Result<ArMember<'_>, Malformed> {
    let header = archive.record("archive member", Extent { offset: at, size: HEADER })?;
    let text = |range: Range<usize>| header.data().get(range).unwrap_or_default().trim_ascii_end();
    let size_at = moved(&SIZE, at).start;
    let size = number(text(SIZE.start as usize..SIZE.end as usize));
    let size = size.ok_or_else(|| archive.malformed("archive member size", size_at, Cause::Unreadable))?;
    let content_at = header.range_in(archive).end;
    let content = archive.part(archive.field("archive member size", size_at), Extent { offset: content_at, size })?;
    let (name, name_size) = match text(NAME).strip_prefix(BSD_NAME).map(number) {
        Some(Some(name_size)) => {
            let name = archive
                .part(
                    archive.field("archive member name", at),
                    Extent { offset: content_at, size: name_size.min(size) },
                )?
                .data();
            let is_padding = |byte: &&u8| **byte == 0;
            (name.split(|byte| is_padding(&byte)).next().unwrap_or_default(), name.len() as u64)
        }
        _ => (text(NAME), 0),
    };
    let content = content.range_in(archive);
    let end = content.end.next_multiple_of(2).min(archive.size());
    Ok(ArMember { header: at, name, start: offset_from(content.start, name_size), content, end })
}

fn number(digits: &[u8]) -> Option<u64> {
    str::from_utf8(digits).ok()?.parse().ok()
}
