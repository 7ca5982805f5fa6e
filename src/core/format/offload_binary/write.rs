//! Writing. Version 1 equals the output of llvm-offload-binary 22.1 for the same strings in the same order (its own
//! order follows a hash map, here the caller decides). Versions 2 and 3 follow LLVM's main branch with one exception:
//! there, the images of a binary are packed without padding; here each is aligned to eight bytes, as in version 1, so
//! that an ELF file can be read in place.

use std::io::{self, Write};
use std::ops::Range;

use super::ALIGNMENT;
use super::raw::{Entry, Header, StringEntry, Version};
use super::read::{OffloadBinary, OffloadBinaryEntry};
use super::string_table::StringTable;
use crate::base::bytes::View;
use crate::base::codec::{self, Compression, Counted};
use crate::base::content::Content;
use crate::base::error::{Cause, Malformed};

/// An image and its properties. Values are text, or bytes as an entry that was read has them.
#[derive(Debug, Clone)]
pub struct OffloadBinaryImage<'a, 'data, Value = &'a str> {
    /// Form of the image, see [`super::image_kind`].
    pub image_kind: u16,
    /// Offload kind, see `OffloadKind::bit`.
    pub offload_kind: u16,
    /// Flags, see [`super::flag`].
    pub flags: u32,
    /// Keys and values. Keys must not contain NUL, and in version 1 values must not either.
    pub strings: &'a [(&'a str, Value)],
    /// Bytes of the image.
    pub image: &'data [u8],
}

impl<'data> OffloadBinaryEntry<'data> {
    /// Returns the entry as a member of a binary to write.
    pub fn member(&self) -> OffloadBinaryImage<'_, 'data, &'data [u8]> {
        OffloadBinaryImage {
            image_kind: self.image_kind,
            offload_kind: self.offload_kind,
            flags: self.flags,
            strings: &self.strings,
            image: self.image.data(),
        }
    }
}

/// Offload binaries, and the ranges of the images in them.
#[derive(Debug)]
pub struct OffloadBinaryOutput<'data> {
    /// The binaries.
    pub content: Content<'data>,
    /// Ranges in the order of the members.
    pub images: Vec<Range<u64>>,
}

/// Writes the members as an offload binary. Version 1 holds one image, so there each member becomes one binary, back to
/// back. The images' bytes are borrowed. `None` if a size exceeds 64 bits.
pub fn write<'data, Value: AsRef<[u8]>>(
    version: Version,
    members: &[OffloadBinaryImage<'_, 'data, Value>],
) -> Option<OffloadBinaryOutput<'data>> {
    write_contents(version, members, members.iter().map(|member| Content::from(member.image)).collect())
}

/// Like [`write()`], with `images` in place of the members' images. An image may consist of several runs.
pub fn write_contents<'data, Value: AsRef<[u8]>>(
    version: Version,
    members: &[OffloadBinaryImage<'_, '_, Value>],
    images: Vec<Content<'data>>,
) -> Option<OffloadBinaryOutput<'data>> {
    if version > Version::One {
        return write_one(version, members, images);
    }
    let mut all = OffloadBinaryOutput { content: Content::new(), images: Vec::new() };
    for (member, image) in members.iter().zip(images) {
        let one = write_one(version, std::slice::from_ref(member), vec![image])?;
        let start = all.content.size();
        for image in one.images {
            all.images.push(start.checked_add(image.start)?..start.checked_add(image.end)?);
        }
        all.content.append(one.content);
    }
    Some(all)
}

/// Checks that the reader accepts the members' properties and returns the same.
pub fn check<Value: AsRef<[u8]> + Clone>(
    version: Version,
    members: &[OffloadBinaryImage<'_, '_, Value>],
) -> Result<(), Malformed> {
    let without_bytes: Vec<_> = members.iter().map(|it| OffloadBinaryImage { image: &[], ..it.clone() }).collect();
    let written = write(version, &without_bytes).map(|output| output.content.to_vec()).unwrap_or_default();
    let mut rest = View::new(&written);
    let mut expected = members.iter();
    // Empty output is rejected too.
    while rest.size() > 0 || expected.len() == members.len() {
        let binary = OffloadBinary::read(rest)?;
        for entry in binary.entries() {
            if expected.next().is_none_or(|member| !is_same(member.strings, &entry.strings)) {
                let cause = Cause::Described("a key or value contains NUL".to_owned());
                return Err(rest.malformed("offload binary strings", 0, cause));
            }
        }
        rest = rest.from(binary.view.size());
    }
    Ok(())
}

fn is_same<Value: AsRef<[u8]>>(strings: &[(&str, Value)], read: &[(&str, &[u8])]) -> bool {
    strings.iter().map(|(key, value)| (*key, value.as_ref())).eq(read.iter().copied())
}

/// Compresses the output of [`write()`] for version 3. The stream is written to `to`. Returns the header that precedes
/// the stream, and the padding that follows it.
///
/// # Panics
///
/// Panics if the content is of another version.
pub fn compress(content: &Content, how: Compression, to: impl Write) -> io::Result<(Vec<u8>, Vec<u8>)> {
    let header_size = Version::Three.header_size();
    let mut to = Counted::new(to);
    let size = content.size().checked_sub(header_size).expect("every binary begins with its header");
    codec::compress(content.runs_from(header_size), size, how, &mut to)?;
    let first = content.runs().next().expect("every binary begins with its header");
    let header = Header::read(crate::base::bytes::View::new(first)).expect("a header that was written here");
    assert_eq!(header.version, Version::Three, "only version 3 can be compressed");
    let size = header_size.checked_add(to.size()).ok_or(io::ErrorKind::FileTooLarge)?;
    let stored = Header { size, inflated_size: content.size(), ..header };
    let mut header = Vec::new();
    stored.write(&mut header);
    let padding = stored.size.wrapping_neg() % ALIGNMENT;
    Ok((header, vec![0; padding as usize]))
}

#[expect(clippy::arithmetic_side_effects, reason = "sums of the sizes of slices in memory are below 2^63")]
fn write_one<'data, Value: AsRef<[u8]>>(
    version: Version,
    members: &[OffloadBinaryImage<'_, '_, Value>],
    contents: Vec<Content<'data>>,
) -> Option<OffloadBinaryOutput<'data>> {
    let all_strings =
        || members.iter().flat_map(|member| member.strings).map(|(key, value)| (key.as_bytes(), value.as_ref()));
    let strings = StringTable::new(all_strings().flat_map(|(key, value)| [key, value]));
    let entries_offset = version.header_size();
    let string_offset = entries_offset + members.len() as u64 * Entry::SIZE;
    let table_offset = string_offset + all_strings().count() as u64 * version.string_entry_size();
    let images_offset = (table_offset + strings.bytes().len() as u64).checked_next_multiple_of(ALIGNMENT)?;
    let mut images = Vec::new();
    let mut size = images_offset;
    for image in &contents {
        let end = size.checked_add(image.size())?;
        images.push(size..end);
        size = end.checked_next_multiple_of(ALIGNMENT)?;
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
    for image in contents {
        content.append(image);
        content.align(ALIGNMENT);
    }
    Some(OffloadBinaryOutput { content, images })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check_strings(version: Version, strings: &[(&str, &str)]) -> Result<(), Malformed> {
        let member = OffloadBinaryImage { image_kind: 1, offload_kind: 4, flags: 0, strings, image: b"image" };
        let result = check(version, &[member.clone(), member.clone()]);
        let written = write(version, &[member.clone(), member]).unwrap().content.to_vec();
        let read = OffloadBinary::read(View::new(&written));
        let is_equal = read.as_ref().is_ok_and(|read| {
            read.entries().iter().all(|entry| is_same(strings, &entry.strings) && entry.image.data() == b"image")
        });
        assert_eq!(result.is_ok(), is_equal, "{version:?} {:?}", strings.first());
        result
    }

    /// Keys and values of two parts; each part is harmless or hostile.
    #[test]
    fn what_is_accepted_is_read_back_equal() {
        let parts = ["", "a", "\0", "\u{1b}[31m\n", "\u{202e}é", ",="];
        let texts: Vec<String> = parts.iter().flat_map(|a| parts.iter().map(move |b| format!("{a}{b}"))).collect();
        for version in [Version::One, Version::Two, Version::Three] {
            let mut accepted = 0;
            for key in &texts {
                for value in &texts {
                    accepted += usize::from(check_strings(version, &[(key, value), ("triple", value)]).is_ok());
                }
            }
            assert!(accepted > 400, "{version:?}: {accepted}");
            let long = "x".repeat(1 << 17);
            for strings in [[("key", long.as_str())], [(&long, "value")]] {
                let _ = check_strings(version, &strings);
            }
        }
        let many: Vec<String> = (0..1025).map(|number| number.to_string()).collect();
        for count in [1024, 1025] {
            let strings: Vec<(&str, &str)> = many[..count].iter().map(|key| (key.as_str(), "value")).collect();
            let _ = check_strings(Version::Three, &strings);
        }
    }

    #[test]
    fn what_cannot_be_read_back_is_an_error() {
        assert!(check_strings(Version::One, &[("key", "a\0b")]).is_err());
        assert!(check_strings(Version::Three, &[("key", "a\0b")]).is_ok(), "the size of a value is stated");
        for version in [Version::One, Version::Two, Version::Three] {
            assert!(check_strings(version, &[("k\0y", "value")]).is_err());
        }
        assert!([Version::One, Version::Three].iter().all(|version| check::<&str>(*version, &[]).is_err()));
    }
}
