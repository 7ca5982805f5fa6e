//! Writing. Version 1 equals the output of llvm-offload-binary 22.1 for the same strings in the same order (its own
//! order follows a hash map, here the caller decides). Versions 2 and 3 follow LLVM's main branch with one exception:
//! there, the images of a binary are packed without padding; here each is aligned to eight bytes, as in version 1, so
//! that an ELF file can be read in place.

use std::io::{self, Write};
use std::ops::Range;

use super::ALIGNMENT;
use super::raw::{Entry, Header, StringEntry, Version};
use super::string_table::StringTable;
use crate::bytes::align_up;
use crate::codec::{self, Compression, Counted};
use crate::content::Content;

/// An image and its properties.
#[derive(Debug, Clone)]
pub struct OffloadBinaryImage<'a, 'data> {
    /// Form of the image, see [`super::image_kind`].
    pub image_kind: u16,
    /// Offload kind, see [`crate::target::OffloadKind::bit`].
    pub offload_kind: u16,
    /// Flags, see [`super::flag`].
    pub flags: u32,
    /// Keys and values. Keys must not contain NUL, and in version 1 values must not either.
    pub strings: &'a [(&'a str, &'a str)],
    /// Bytes of the image.
    pub image: &'data [u8],
}

/// Offload binaries, and the ranges of the images in them.
#[derive(Debug)]
pub struct OffloadBinaryOutput<'data> {
    /// The binaries.
    pub content: Content<'data>,
    /// Ranges in the order of the members.
    pub images: Vec<Range<u64>>,
}

/// Writes the members as an offload binary; in version 1, which holds one image, as one binary per member, back to
/// back. The images' bytes are borrowed. `None` where a size exceeds 64 bits.
pub fn write<'data>(version: Version, members: &[OffloadBinaryImage<'_, 'data>]) -> Option<OffloadBinaryOutput<'data>> {
    if version > Version::One {
        return write_one(version, members);
    }
    let mut all = OffloadBinaryOutput { content: Content::new(), images: Vec::new() };
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

/// Compresses the output of [`write()`] for version 3. The stream is written to `to`; returns the header that precedes
/// it, and the padding that follows it.
///
/// # Panics Panics if the content is of another version.
pub fn compress(content: &Content, how: Compression, to: impl Write) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let header_size = Version::Three.header_size();
    let mut to = Counted::new(to);
    codec::compress(content.runs_from(header_size), content.size() - header_size, how, &mut to)?;
    let first = content.runs().next().expect("every binary begins with its header");
    let header = Header::read(crate::bytes::View::new(first)).expect("a header that was written here");
    assert_eq!(header.version, Version::Three, "only version 3 can be compressed");
    let stored = Header { size: header_size + to.size(), inflated_size: content.size(), ..header };
    let mut header = Vec::new();
    stored.write(&mut header);
    let padding = stored.size.next_multiple_of(ALIGNMENT) - stored.size;
    Ok((header, vec![0; padding as usize]))
}

fn write_one<'data>(version: Version, members: &[OffloadBinaryImage<'_, 'data>]) -> Option<OffloadBinaryOutput<'data>> {
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

    let mut header = Vec::with_capacity(images_offset as usize);
    let entries_count = members.len() as u64;
    Header { version, size, entries_offset, entries_count, inflated_size: 0 }.write(&mut header);
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
        .write(&mut header);
        string_offset += string_count * version.string_entry_size();
    }
    for (key, value) in all_strings() {
        StringEntry {
            key_offset: table_offset + strings.offset(key),
            value_offset: table_offset + strings.offset(value),
            value_size: (version > Version::One).then_some(value.len() as u64),
        }
        .write(&mut header);
    }
    header.extend(strings.bytes());
    header.resize(images_offset as usize, 0);

    let mut content = Content::from(header);
    for member in members {
        content.push(member.image);
        content.align(ALIGNMENT);
    }
    Some(OffloadBinaryOutput { content, images })
}
