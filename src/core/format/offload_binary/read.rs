//! Reading: every stated offset and size is checked against the binary before anything is returned.

use super::raw::{self, Header, StringEntry, Version};
use super::symbols;
use crate::base::bytes::{Extent, Resource, Table, View};
use crate::base::codec::{self, Codec};
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
    /// Keys and values in the order of the file. Only the value of [`symbols::KEY`] may be bytes that are not text.
    pub strings: Vec<(&'data str, &'data [u8])>,
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

    /// Decompresses a binary; `None` if it is not compressed.
    pub fn decompress(&self) -> Result<Option<Vec<u8>>, Malformed> {
        match &self.contents {
            OffloadBinaryContents::Entries(_) => Ok(None),
            OffloadBinaryContents::Compressed(compressed) => compressed.decompress().map(Some),
        }
    }

    /// Returns the entries of a binary, whose decompressed bytes are the result of [`Self::decompress`].
    pub fn entries_from(&self, bytes: Option<&'data [u8]>) -> Result<Vec<OffloadBinaryEntry<'data>>, Malformed> {
        match bytes {
            None => Ok(self.entries().to_vec()),
            Some(bytes) => Ok(OffloadBinary::read(self.view.derived(bytes))?.entries().to_vec()),
        }
    }
}

impl<'data> OffloadBinaryEntry<'data> {
    /// Returns whether the entry of a binary of this version has properties and no image. Version 1 has no such flag.
    pub fn is_metadata(&self, version: Version) -> bool {
        version > Version::One && self.flags & raw::flag::METADATA != 0
    }

    /// Returns the text of a key; the last one where it repeats, as in LLVM's map.
    pub fn string(&self, key: &str) -> Option<&'data str> {
        let (_, value) = self.strings.iter().rfind(|(known, _)| *known == key)?;
        std::str::from_utf8(value).ok()
    }

    /// Returns the names of SYCL kernels in the value of [`symbols::KEY`].
    pub fn symbols(&self) -> Vec<&'data str> {
        let value = self.strings.iter().rfind(|(known, _)| *known == symbols::KEY);
        value.and_then(|(_, value)| symbols::names(View::new(value)).ok()).unwrap_or_default()
    }
}

fn read_entries<'data>(view: View<'data>, header: &Header) -> Result<Vec<OffloadBinaryEntry<'data>>, Malformed> {
    if header.entries_count == 0 {
        let cause = Cause::Unexpected { value: 0, expected: "at least 1" };
        return Err(view.malformed("offload binary entry count", 24, cause));
    }
    let field = view.field("offload binary entries offset", 16);
    let table = Table { offset: header.entries_offset, count: header.entries_count, entry_size: raw::Entry::SIZE };
    let mut entries = Vec::new();
    for record in view.table(field, table)? {
        let entry = raw::Entry::read(record)?;
        let image_field = record.field("offload binary image offset", raw::Entry::IMAGE_OFFSET);
        entries.push(OffloadBinaryEntry {
            image_kind: entry.image_kind,
            offload_kind: entry.offload_kind,
            flags: entry.flags,
            strings: read_strings(header.version, view, record, &entry)?,
            image: view.part(image_field, Extent { offset: entry.image_offset, size: entry.image_size })?,
        });
    }
    reject_overlaps(view, view.table(field, table)?.zip(&entries))?;
    Ok(entries)
}

/// Rejects images that overlap. If they could share bytes, binaries in binaries would multiply at each level.
fn reject_overlaps<'a, 'data: 'a>(
    view: View<'data>,
    entries: impl Iterator<Item = (View<'data>, &'a OffloadBinaryEntry<'data>)>,
) -> Result<(), Malformed> {
    let mut images: Vec<(View<'_>, View<'_>)> = entries.map(|(record, entry)| (entry.image, record)).collect();
    images.retain(|(image, _)| image.size() > 0);
    images.sort_unstable_by_key(|(image, record)| (image.start(), image.size(), record.start()));
    let mut end = 0;
    for (image, record) in images {
        if image.start() < end {
            let value = image.range_in(view).start;
            let cause = Cause::Unexpected { value, expected: "an offset after the preceding image" };
            return Err(record.malformed("offload binary image offset", raw::Entry::IMAGE_OFFSET, cause));
        }
        end = image.range().end;
    }
    Ok(())
}

fn read_strings<'data>(
    version: Version,
    view: View<'data>,
    record: View<'data>,
    entry: &raw::Entry,
) -> Result<Vec<(&'data str, &'data [u8])>, Malformed> {
    let field = record.field("offload binary string offset", raw::Entry::STRING_OFFSET);
    let entry_size = version.string_entry_size();
    let table = Table { offset: entry.string_offset, count: entry.string_count, entry_size };
    let rows = view.table(field, table)?;
    // Entries may share a table.
    view.from(table.offset).charge("offload binary string count", Resource::Memory, table.extent().size)?;
    let mut strings = Vec::new();
    for row in rows {
        let string = StringEntry::read(version, row)?;
        let key = view.c_string(row.field("offload binary key", 0), string.key_offset)?;
        let value_field = row.field("offload binary value", StringEntry::VALUE_OFFSET);
        let value = match string.value_size.map(|size| Extent { offset: string.value_offset, size }) {
            None => view.c_string(value_field, string.value_offset)?.as_bytes(),
            Some(extent) if key == symbols::KEY => {
                let value = view.part(value_field, extent)?;
                symbols::names(value)?;
                value.data()
            }
            Some(extent) => view.string(value_field, extent)?.as_bytes(),
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
