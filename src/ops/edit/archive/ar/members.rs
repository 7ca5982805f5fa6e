//! Members of an `ar` archive, with the spans that an edit changes.

use std::ops::Range;

use fatbin_core::base::archive::ar::{ArHeader, decimal};
use fatbin_core::base::bytes::{Cursor, Resource, View};
use fatbin_core::base::error::Malformed;

/// Prefix of a name that is stored in front of the member's bytes; its length follows (BSD, `ar(5)`).
const BSD_NAME: &[u8] = b"#1/";

/// A member of an archive.
#[derive(Debug, Clone)]
pub struct ArMember<'data> {
    /// Offset of the header.
    pub header: u64,
    /// Range of the size, a decimal number.
    pub digits: Range<u64>,
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
    let mut cursor = ArHeader::first(archive)?;
    while cursor.rest().size() > 0 {
        archive.charge("archive member", Resource::Memory, size_of::<ArMember<'_>>() as u64)?;
        members.push(member(archive, &mut cursor)?);
    }
    Ok(members)
}

fn member<'data>(archive: View<'data>, cursor: &mut Cursor<'data>) -> Result<ArMember<'data>, Malformed> {
    let header = ArHeader::take(cursor)?;
    let content = header.take_content(cursor)?;
    let bsd_name = match header.name.strip_prefix(BSD_NAME).and_then(decimal) {
        Some(size) => content.prefix(header.whole.field("archive member name", 0), size.min(content.size()))?,
        None => content.prefix("archive member name", 0)?,
    };
    let name = match bsd_name.data() {
        [] => header.name,
        name => name.split(|&byte| byte == 0).next().unwrap_or_default(),
    };
    Ok(ArMember {
        header: header.whole.range_in(archive).start,
        digits: header.digits.range_in(archive),
        name,
        content: content.range_in(archive),
        start: bsd_name.range_in(archive).end,
        end: cursor.at(),
    })
}
