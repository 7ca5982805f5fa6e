//! Writing. Version 1 is equal to the byte to what llvm-offload-binary 22.1 writes for the same strings in the same order
//! (its own order follows a hash map; ours is the caller's). Versions 2 and 3 follow LLVM's main branch but for one thing:
//! it puts the images of a binary one right after the other, here each stands at a multiple of eight, as it does in
//! version 1, so that an ELF file can be read where it is.

use std::io::{self, Write};
use std::ops::Range;

use super::ALIGNMENT;
use super::raw::{Entry, Header, StringEntry, Version};
use super::string_table::StringTable;
use crate::bytes::align_up;
use crate::codec::{self, Compression, Counted};
use crate::content::Content;

/// One image and its properties.
#[derive(Debug, Clone)]
pub struct Member<'a, 'data> {
    /// See [`super::image_kind`].
    pub image_kind: u16,
    /// See [`crate::target::OffloadKind::bit`].
    pub offload_kind: u16,
    /// See [`super::flag`].
    pub flags: u32,
    /// Keys and values. Keys must not contain NUL, and in version 1 values must not either.
    pub strings: &'a [(&'a str, &'a str)],
    pub image: &'data [u8],
}

/// Offload binaries, and which of their bytes are the images.
#[derive(Debug)]
pub struct Written<'data> {
    pub content: Content<'data>,
    /// In the order of the members.
    pub images: Vec<Range<u64>>,
}

/// The members as an offload binary; in version 1, which holds one image each, as one binary after the other. The images'
/// bytes stay borrowed. `None` where a size would leave 64 bits.
pub fn write<'data>(version: Version, members: &[Member<'_, 'data>]) -> Option<Written<'data>> {
    if version > Version::One {
        return write_one(version, members);
    }
    let mut all = Written { content: Content::new(), images: Vec::new() };
    for member in members {
        let one = write_one(version, std::slice::from_ref(member))?;
        let start = all.content.size();
        for image in one.images {
            all.images.push(start.checked_add(image.start)?..start.checked_add(image.end)?);
        }
        all.content.append(one.content);
    }
    Some(all)
}

/// Compresses what [`write()`] has made as version 3. The stream goes to `to`; returned are the header that belongs in front
/// of it, and the padding that belongs behind.
///
/// # Panics
/// If the content is of another version.
pub fn compress(content: &Content, how: Compression, to: impl Write) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let header_size = Version::Three.header_size();
    let mut to = Counted::new(to);
    codec::compress(content.runs_from(header_size), content.size() - header_size, how, &mut to)?;
    let first = content.runs().next().expect("every binary begins with its header");
    let header = Header::read(crate::bytes::View::new(first)).expect("a header that was written here");
    assert_eq!(header.version, Version::Three, "only version 3 can be compressed");
    let stored = Header { size: header_size + to.size(), inflated_size: content.size(), ..header };
    let mut front = Vec::new();
    stored.write(&mut front);
    let padding = stored.size.next_multiple_of(ALIGNMENT) - stored.size;
    Ok((front, vec![0; padding as usize]))
}

fn write_one<'data>(version: Version, members: &[Member<'_, 'data>]) -> Option<Written<'data>> {
    let all_strings = || members.iter().flat_map(|member| member.strings);
    let strings = StringTable::new(all_strings().flat_map(|&(key, value)| [key, value]));
    let entries_offset = version.header_size();
    let string_offset = entries_offset + members.len() as u64 * Entry::SIZE;
    let table_offset = string_offset + all_strings().count() as u64 * version.string_entry_size();
    let images_offset = align_up(table_offset + strings.bytes().len() as u64, ALIGNMENT)?;
    let mut images = Vec::new();
    let mut size = images_offset;
    for member in members {
        let end = size.checked_add(member.image.len() as u64)?;
        images.push(size..end);
        size = align_up(end, ALIGNMENT)?;
    }

    let mut front = Vec::with_capacity(images_offset as usize);
    let entries_count = members.len() as u64;
    Header { version, size, entries_offset, entries_count, inflated_size: 0 }.write(&mut front);
    let mut string_offset = string_offset;
    for (member, image) in members.iter().zip(&images) {
        let string_count = member.strings.len() as u64;
        Entry {
            image_kind: member.image_kind,
            offload_kind: member.offload_kind,
            flags: member.flags,
            string_offset,
            string_count,
            image_offset: image.start,
            image_size: image.end - image.start,
        }
        .write(&mut front);
        string_offset += string_count * version.string_entry_size();
    }
    for (key, value) in all_strings() {
        StringEntry {
            key_offset: table_offset + strings.offset(key),
            value_offset: table_offset + strings.offset(value),
            value_size: (version > Version::One).then_some(value.len() as u64),
        }
        .write(&mut front);
    }
    front.extend(strings.bytes());
    front.resize(images_offset as usize, 0);

    let mut content = Content::from(front);
    for member in members {
        content.push(member.image);
        content.align(ALIGNMENT);
    }
    Some(Written { content, images })
}
