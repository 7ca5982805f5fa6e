//! Reading: every stated offset and size is checked against the binary before anything is returned.

use super::raw::{self, Header, StringEntry, Version};
use crate::base::bytes::{Extent, Resource, View, entry_offsets};
use crate::base::codec;
use crate::base::codec::Codec;
use crate::base::error::{Cause, Malformed};
use crate::format::{Compressed, CompressedContents};

/// A checked offload binary.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadBinary<'data> {
    /// Version of the format.
    pub version: Version,
    /// Contents of the binary.
    pub contents: OffloadBinaryContents<'data>,
    /// The whole binary, including padding.
    pub view: View<'data>,
}

/// Contents after the header.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum OffloadBinaryContents<'data> {
    /// Entries, in the order of the binary.
    Entries(Vec<OffloadBinaryEntry<'data>>),
    /// A stream that must be decompressed before it can be read.
    Compressed(Compressed<'data>),
}

/// An image and its properties.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OffloadBinaryEntry<'data> {
    /// Form of the image, see [`super::image_kind`]; not interpreted, because tools write kinds that others do not
    /// know.
    pub image_kind: u16,
    /// Offload kind, see `OffloadKind::from_bit`; not interpreted for the same reason.
    pub offload_kind: u16,
    /// Flags, see [`super::flag`].
    pub flags: u32,
    /// Keys and values in the order of the file.
    pub strings: Vec<(&'data str, &'data str)>,
    /// The device image; empty if the flags state that there is none.
    pub image: View<'data>,
}

impl<'data> OffloadBinary<'data> {
    /// Reads the binary at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let header = Header::read(view)?;
        let version = header.version;
        let view = view.prefix(view.field("offload binary size", 8), header.size)?;
        let after_header = view.size().checked_sub(version.header_size());
        if after_header.is_none() {
            let cause = Cause::Unexpected { value: header.size, expected: "at least the size of the header" };
            return Err(view.malformed("offload binary size", 8, cause));
        }
        let contents = match header.inflated_size {
            0 => OffloadBinaryContents::Entries(read_entries(view, &header)?),
            _ => OffloadBinaryContents::Compressed(compressed(view, &header)?),
        };
        Ok(OffloadBinary { version, contents, view })
    }

    /// Returns the entries of a binary that is not compressed.
    pub fn entries(&self) -> &[OffloadBinaryEntry<'data>] {
        match &self.contents {
            OffloadBinaryContents::Entries(entries) => entries,
            OffloadBinaryContents::Compressed(_) => &[],
        }
    }
}

impl<'data> OffloadBinaryEntry<'data> {
    /// Returns whether the entry of a binary of this version has properties and no image. Version 1 has no such flag.
    pub fn is_metadata(&self, version: Version) -> bool {
        version > Version::One && self.flags & raw::flag::METADATA != 0
    }

    /// Returns the value of a key; the last one where it repeats, as in LLVM's map.
    pub fn string(&self, key: &str) -> Option<&'data str> {
        self.strings.iter().rfind(|(known, _)| *known == key).map(|&(_, value)| value)
    }
}

fn read_entries<'data>(view: View<'data>, header: &Header) -> Result<Vec<OffloadBinaryEntry<'data>>, Malformed> {
    if header.entries_count == 0 {
        let cause = Cause::Unexpected { value: 0, expected: "at least 1" };
        return Err(view.malformed("offload binary entry count", 24, cause));
    }
    let size = header.entries_count.saturating_mul(raw::Entry::SIZE);
    view.part(view.field("offload binary entries offset", 16), Extent { offset: header.entries_offset, size })?;
    let mut entries = Vec::new();
    for at in entry_offsets(header.entries_offset, header.entries_count, raw::Entry::SIZE) {
        let entry = raw::Entry::read(view.from(at))?;
        let image_stated_at = at.saturating_add(raw::Entry::IMAGE_OFFSET);
        entries.push(OffloadBinaryEntry {
            image_kind: entry.image_kind,
            offload_kind: entry.offload_kind,
            flags: entry.flags,
            strings: read_strings(header.version, view, at, &entry)?,
            image: view.part(
                view.field("offload binary image offset", image_stated_at),
                Extent { offset: entry.image_offset, size: entry.image_size },
            )?,
        });
    }
    reject_overlaps(view, header, &entries)?;
    Ok(entries)
}

/// Rejects images that overlap. If they could share bytes, binaries in binaries would multiply at each level.
fn reject_overlaps(view: View<'_>, header: &Header, entries: &[OffloadBinaryEntry<'_>]) -> Result<(), Malformed> {
    let offsets = entry_offsets(header.entries_offset, header.entries_count, raw::Entry::SIZE);
    let mut images: Vec<(View<'_>, u64)> = entries.iter().map(|entry| entry.image).zip(offsets).collect();
    images.retain(|(image, _)| image.size() > 0);
    images.sort_unstable_by_key(|(image, entry_at)| (image.start(), image.size(), *entry_at));
    let mut end = 0;
    for (image, entry_at) in images {
        if image.start() < end {
            let value = image.start().saturating_sub(view.start());
            let cause = Cause::Unexpected { value, expected: "an offset after the preceding image" };
            let at = entry_at.saturating_add(raw::Entry::IMAGE_OFFSET);
            return Err(view.malformed("offload binary image offset", at, cause));
        }
        end = image.range().end;
    }
    Ok(())
}

fn read_strings<'data>(
    version: Version,
    view: View<'data>,
    entry_at: u64,
    entry: &raw::Entry,
) -> Result<Vec<(&'data str, &'data str)>, Malformed> {
    let size = version.string_entry_size();
    let whole = entry.string_count.saturating_mul(size);
    let stated_at = entry_at.saturating_add(raw::Entry::STRING_OFFSET);
    let table = view.part(
        view.field("offload binary string offset", stated_at),
        Extent { offset: entry.string_offset, size: whole },
    )?;
    // Entries may share a table.
    table.charge("offload binary string count", Resource::Memory, whole)?;
    let mut strings = Vec::new();
    for at in entry_offsets(entry.string_offset, entry.string_count, size) {
        let string = StringEntry::read(version, view.from(at))?;
        let key = view.c_string(view.field("offload binary key", at), string.key_offset)?;
        let value_stated_at = at.saturating_add(StringEntry::VALUE_OFFSET);
        let value = match string.value_size {
            None => view.c_string(view.field("offload binary value", value_stated_at), string.value_offset)?,
            Some(size) => view.string(
                view.field("offload binary value", value_stated_at),
                Extent { offset: string.value_offset, size },
            )?,
        };
        strings.push((key, value));
    }
    Ok(strings)
}

/// Splits a compressed binary into its header, as it is without compression, and the stream.
fn compressed<'data>(view: View<'data>, header: &Header) -> Result<Compressed<'data>, Malformed> {
    let offset = header.entries_offset;
    if offset != header.version.header_size() {
        let cause = Cause::Unexpected { value: offset, expected: "40 in a compressed binary" };
        return Err(view.malformed("offload binary entries offset", 16, cause));
    }
    let full_size = header.inflated_size.checked_sub(offset).ok_or_else(|| {
        let cause = Cause::Unexpected { value: header.inflated_size, expected: "at least 40" };
        view.malformed("offload binary inflated size", 32, cause)
    })?;
    let stored = view.from(offset);
    // A stream that is not zstd is zlib.
    let codec = if stored.starts_with(&codec::ZSTD_MAGIC) { Codec::Zstd } else { Codec::Zlib };
    let mut prefix = Vec::new();
    Header { size: header.inflated_size, inflated_size: 0, ..*header }.write(&mut prefix);
    let contents = CompressedContents::Container;
    Ok(Compressed { codec, stored, full_size, prefix, hash: None, contents })
}
