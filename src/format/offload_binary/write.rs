//! Writing version 1, equal to the byte to what llvm-offload-binary 22.1 writes for the same strings in the same order.
//! (Its own order follows a hash map; ours is the caller's.)

use std::ops::Range;

use super::ALIGNMENT;
use super::raw::{Entry, Header, StringEntry, VERSION};
use super::string_table::StringTable;
use crate::bytes::align_up;
use crate::content::Content;

/// One image and its properties.
#[derive(Debug, Clone)]
pub struct Member<'a, 'data> {
    /// See [`super::image_kind`].
    pub image_kind: u16,
    /// See [`crate::target::OffloadKind::bit`].
    pub offload_kind: u16,
    pub flags: u32,
    /// Keys and values; they must not contain NUL.
    pub strings: &'a [(&'a str, &'a str)],
    pub image: &'data [u8],
}

/// An offload binary, and which of its bytes are the image.
#[derive(Debug)]
pub struct Written<'data> {
    pub content: Content<'data>,
    pub image: Range<u64>,
}

/// An offload binary of one image, whose bytes stay borrowed. `None` where its size would leave 64 bits.
pub fn write<'data>(member: &Member<'_, 'data>) -> Option<Written<'data>> {
    let strings = StringTable::new(member.strings.iter().flat_map(|&(key, value)| [key, value]));
    let string_offset = Header::SIZE + Entry::SIZE;
    let table_offset = string_offset + member.strings.len() as u64 * StringEntry::SIZE;
    let image_offset = align_up(table_offset + strings.bytes().len() as u64, ALIGNMENT)?;
    let image_size = member.image.len() as u64;
    let size = align_up(image_offset.checked_add(image_size)?, ALIGNMENT)?;

    let mut front = Vec::with_capacity(image_offset as usize);
    let header = Header { version: VERSION, size, entry_offset: Header::SIZE, entry_size: Entry::SIZE };
    header.write(&mut front);
    Entry {
        image_kind: member.image_kind,
        offload_kind: member.offload_kind,
        flags: member.flags,
        string_offset,
        string_count: member.strings.len() as u64,
        image_offset,
        image_size,
    }
    .write(&mut front);
    for (key, value) in member.strings {
        let key_offset = table_offset + strings.offset(key);
        let value_offset = table_offset + strings.offset(value);
        StringEntry { key_offset, value_offset }.write(&mut front);
    }
    front.extend(strings.bytes());
    front.resize(image_offset as usize, 0);

    let mut content = Content::from(front);
    content.push(member.image);
    content.align(ALIGNMENT);
    Some(Written { content, image: image_offset..image_offset + image_size })
}
