//! Stored entries of containers that are written again. Headers, identifiers, options and unknown fields stay as they
//! are; only sizes, codecs and dropped images change.

use std::borrow::Cow;

use super::compress::{WriteError, compress, size_with};
use super::image::{FatbinImage, joined};
use super::raw::{ALIGNMENT, EntryHeader, GroupTable, Header, codec_flag, flag, kind};
use super::read::{FatbinEntry, entries, group};
use crate::base::bytes::{Cursor, Extent, Resource, View};
use crate::base::codec::{self, Codec, Compression};
use crate::base::content::Content;
use crate::base::error::{Cause, Malformed};
use crate::format::{DeviceImage, Fate};
use crate::target::nvptx::Arch;

/// An entry of a container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct StoredEntry<'data> {
    /// The entry, with the properties that its header states.
    entry: FatbinEntry<'data>,
    /// Header, identifier, options and payload.
    view: View<'data>,
    /// Rows of a group.
    rows: Option<Vec<View<'data>>>,
}

/// An entry whose payload is not compressed.
#[derive(Debug, Clone)]
pub struct PlainEntry<'data> {
    header: EntryHeader,
    /// Identifier and options of an image.
    strings: Cow<'data, [u8]>,
    payload: Content<'data>,
    /// Rows of a group, each with its bytes after the header.
    rows: Vec<(EntryHeader, Cow<'data, [u8]>)>,
}

/// Reads the entries of the container that is all of `view`, to be written again.
pub fn stored_entries(view: View<'_>) -> Result<Vec<StoredEntry<'_>>, Malformed> {
    let header = Header::read(view)?;
    let mut cursor = Cursor::new(entries(view, &header)?);
    let mut entries = Vec::new();
    while cursor.rest().size() > 0 {
        let (entry, view) = FatbinEntry::read(&mut cursor)?;
        let is_group = entry.header.kind == kind::GROUP;
        let rows = if is_group { group(view, &entry).ok() } else { None };
        let rows = rows.map(|rows| rows.into_iter().map(|(_, row)| row).collect());
        entries.push(StoredEntry { entry, view, rows });
    }
    Ok(entries)
}

impl<'data> StoredEntry<'data> {
    /// Returns the number of images that a reader of the container returns for the entry.
    pub fn image_count(&self) -> usize {
        self.rows.as_ref().map_or(1, Vec::len)
    }

    /// Returns the codec of the payload.
    pub fn codec(&self) -> Codec {
        if self.entry.header.kind == kind::GROUP && self.rows.is_none() { Codec::Opaque } else { self.entry.codec }
    }

    /// Returns whether the payload may be compressed. The compressed form is unknown for LTO-IR and for unknown kinds.
    pub fn is_compressible(&self) -> bool {
        self.codec() != Codec::Opaque
            && [kind::PTX, kind::RELOCATABLE_PTX, kind::ELF, kind::TILE_IR, kind::GROUP]
                .contains(&self.entry.header.kind)
    }

    /// Returns the entry as it is.
    pub fn verbatim(&self) -> Content<'data> {
        Content::from(self.view.data())
    }

    /// Returns the entry without compression; `None` if none of its images is left. `images` has the fate of each
    /// image.
    pub fn plain(&self, images: &[Fate<'data>]) -> Result<Option<PlainEntry<'data>>, Malformed> {
        match (&self.rows, images) {
            (None, [Fate::Drop]) => Ok(None),
            (None, [Fate::Replace(bytes)]) => self.replaced(bytes.clone()).map(Some),
            (None, _) => self.plain_image().map(Some),
            (Some(rows), _) if images.iter().all(|image| *image == Fate::Drop) && !rows.is_empty() => Ok(None),
            (Some(rows), _) => self.plain_group(rows, images).map(Some),
        }
    }

    /// Header, identifier and options.
    fn prefix(&self) -> (EntryHeader, View<'data>) {
        let header = self.entry.header;
        let field = self.view.field("CUDA fatbin entry header size", 4);
        let strings = self.view.between(field, EntryHeader::SIZE..header.header_size.into());
        (header, strings.unwrap_or_else(|_| self.view.from(self.view.size())))
    }

    fn plain_image(&self) -> Result<PlainEntry<'data>, Malformed> {
        let (header, strings) = self.prefix();
        let payload = match self.codec() {
            Codec::None => Content::from(self.exact_payload()),
            codec => Content::from(codec::decompress(codec, self.entry.image, header.full_size)?),
        };
        let header = EntryHeader { flags: header.flags & !(flag::LZ4 | flag::ZSTD), ..header };
        Ok(PlainEntry { header, strings: Cow::Borrowed(strings.data()), payload, rows: Vec::new() })
    }

    /// An uncompressed payload without its padding: an ELF file up to the end that its headers state, and a text with
    /// its NUL. Bytes that are not padding stay.
    fn exact_payload(&self) -> &'data [u8] {
        let padded = self.view.from(self.entry.header.header_size.into()).data();
        let image = self.entry.image.data().len();
        let exact = if kind::is_ptx(self.entry.header.kind) { image.checked_add(1) } else { Some(image) };
        match exact.and_then(|exact| padded.split_at_checked(exact)) {
            Some((exact, rest)) if rest.len() < ALIGNMENT as usize && rest.iter().all(|&byte| byte == 0) => exact,
            _ => padded,
        }
    }

    /// Properties that the new image states replace the old ones.
    fn replaced(&self, image: Content<'data>) -> Result<PlainEntry<'data>, Malformed> {
        if self.codec() == Codec::Opaque {
            let cause = Cause::UnsupportedCodec { codec: Codec::Opaque.name() };
            return Err(self.view.malformed("CUDA fatbin flags", 40, cause));
        }
        let (header, strings) = self.prefix();
        let joined = image.to_vec();
        let (header, strings) = stated(&self.entry, &joined).unwrap_or((header, Cow::Borrowed(strings.data())));
        let header = EntryHeader { flags: header.flags & !(flag::LZ4 | flag::ZSTD), ..header };
        let mut payload = image;
        if kind::is_ptx(header.kind) {
            payload.push(vec![0]);
        }
        Ok(PlainEntry { header, strings, payload, rows: Vec::new() })
    }

    fn plain_group(&self, rows: &[View<'data>], images: &[Fate<'data>]) -> Result<PlainEntry<'data>, Malformed> {
        let header = self.entry.header;
        let stored = self.entry.image;
        let payload = match self.codec() {
            Codec::None => Cow::Borrowed(stored.data()),
            codec => Cow::Owned(codec::decompress(codec, stored, header.full_size)?),
        };
        let payload_view = stored.derived(&payload);
        let mut plain = PlainEntry {
            header: EntryHeader { flags: header.flags & !(flag::LZ4 | flag::ZSTD), ..header },
            strings: Cow::Borrowed(&[]),
            payload: Content::new(),
            rows: Vec::new(),
        };
        for (row, image) in rows.iter().zip(images) {
            let mut own = EntryHeader::read(*row)?;
            match image {
                Fate::Drop => continue,
                Fate::Keep => {
                    let extent = Extent { offset: own.header_size.into(), size: own.stored_size };
                    let bytes = payload_view.part(row.field("CUDA fatbin group offset", 4), extent)?;
                    // Rows may share bytes.
                    bytes.charge("CUDA fatbin group offset", Resource::Memory, bytes.size())?;
                    plain.payload.push(bytes.data().to_vec());
                    plain.payload.align(ALIGNMENT);
                }
                Fate::Replace(bytes) => {
                    let mut stored = bytes.clone();
                    if kind::is_ptx(own.kind) {
                        stored.push(vec![0]);
                    }
                    stored.align(ALIGNMENT);
                    own.stored_size = stored.size();
                    plain.payload.append(stored);
                }
            }
            let strings = row.from(EntryHeader::SIZE).data();
            plain.rows.push((own, Cow::Borrowed(strings)));
        }
        Ok(plain)
    }
}

/// `None` if the image does not state what the header contains.
fn stated<'data>(entry: &FatbinEntry<'data>, image: &[u8]) -> Option<(EntryHeader, Cow<'data, [u8]>)> {
    let old = entry.header;
    let view = View::new(image);
    let new = FatbinImage::new(view, None).ok()?;
    let new = if old.kind == kind::RELOCATABLE_PTX { new.relocatable() } else { new };
    if new.kind() != old.kind {
        return None;
    }
    // The cubins of some releases do not state the suffix of their architecture.
    let arch = new.arch();
    let inherited = old.arch().filter(|it| it.number == arch.number && arch.suffix.is_none()).and_then(|it| it.suffix);
    let new = new.with_arch(Arch { suffix: arch.suffix.or(inherited), ..arch });
    let identifier = entry.identifier.map(|view| view.data()).unwrap_or_default();
    let options = if old.kind == kind::ELF { None } else { entry.options.map(|view| view.data()) };
    let new = new.with_identifier(identifier);
    let (header, strings) = match options {
        Some(options) => new.with_options(options).parts(0),
        None => new.parts(0),
    }
    .ok()?;
    let own = flag::BITS_64 | flag::MERCURY | flag::SPECIFIC | flag::FAMILY;
    let flags = old.flags & !own | header.flags & own;
    Some((EntryHeader { flags, reserved: old.reserved, ..header }, Cow::Owned(strings)))
}

impl<'data> PlainEntry<'data> {
    /// Returns the stored entry, compressed if a codec is given. Without compression, the images of a group become
    /// separate entries, because fatbinary groups compressed images only.
    pub fn stored(&self, compression: Option<Compression>) -> Result<Content<'data>, WriteError> {
        match (compression, self.rows.as_slice()) {
            (None, []) if !self.is_group() => Ok(self.uncompressed()),
            (None, rows) => {
                rows.iter().try_fold((Content::new(), 0), |all, row| self.ungrouped(all, row)).map(|it| it.0)
            }
            (Some(how), []) if !self.is_group() => self.compressed(self.header, self.strings.to_vec(), how),
            (Some(how), rows) => self.grouped(rows, how),
        }
    }

    /// Returns whether several images are compressed together.
    pub fn is_group(&self) -> bool {
        self.header.kind == kind::GROUP
    }

    fn uncompressed(&self) -> Content<'data> {
        let mut payload = self.payload.clone();
        payload.align(ALIGNMENT);
        let header = EntryHeader { stored_size: payload.size(), compressed_size: 0, full_size: 0, ..self.header };
        let mut content = Content::from(joined(header, self.strings.to_vec()));
        content.append(payload);
        content
    }

    /// Appends an image of a group as a separate entry. `all` has the entries before it, and their size in the payload.
    fn ungrouped(
        &self,
        (mut all, start): (Content<'data>, u64),
        (row, strings): &(EntryHeader, Cow<'data, [u8]>),
    ) -> Result<(Content<'data>, u64), WriteError> {
        let header_size = size_with(EntryHeader::SIZE, strings.len() as u64)?;
        let stored_size = row.stored_size.next_multiple_of(ALIGNMENT);
        let mut left = stored_size;
        let mut image = Vec::new();
        for run in self.payload.runs_from(start) {
            let run = run.get(..left as usize).unwrap_or(run);
            image.extend(run);
            left = left.abs_diff(run.len() as u64);
        }
        let unpadded = usize::try_from(row.stored_size).ok().and_then(|size| image.get(..size));
        if unpadded.is_some_and(|image| !can_be_padded(row, image)) {
            return Err(WriteError::Unaligned { size: row.stored_size });
        }
        all.push(joined(EntryHeader { header_size, stored_size, ..*row }, strings.to_vec()));
        all.push(image);
        Ok((all, start.checked_add(stored_size).ok_or(WriteError::TooLarge)?))
    }

    fn grouped(
        &self,
        rows: &[(EntryHeader, Cow<'data, [u8]>)],
        how: Compression,
    ) -> Result<Content<'data>, WriteError> {
        let mut table = Vec::new();
        let mut offset = 0_u64;
        for (row, strings) in rows {
            let header_size = u32::try_from(offset).map_err(|_| WriteError::TooLarge)?;
            EntryHeader { header_size, ..*row }.write(&mut table);
            table.extend(strings.iter());
            let end = offset.checked_add(row.stored_size).and_then(|end| end.checked_next_multiple_of(ALIGNMENT));
            offset = end.ok_or(WriteError::TooLarge)?;
        }
        let size = size_with(GroupTable::SIZE, table.len() as u64)?;
        let count = u32::try_from(rows.len()).map_err(|_| WriteError::TooLarge)?;
        let mut strings = Vec::new();
        GroupTable { count, size }.write(&mut strings);
        strings.extend(table);
        let header_size = size_with(EntryHeader::SIZE, size.into())?;
        self.compressed(EntryHeader { header_size, ..self.header }, strings, how)
    }

    fn compressed(
        &self,
        header: EntryHeader,
        strings: Vec<u8>,
        how: Compression,
    ) -> Result<Content<'data>, WriteError> {
        let stored = compress(&self.payload, how)?;
        let compressed_size = u32::try_from(stored.len()).map_err(|_| WriteError::TooLarge)?;
        let stored_size = (stored.len() as u64).next_multiple_of(ALIGNMENT);
        let full_size = self.payload.size();
        let flags = header.flags | codec_flag(how.codec);
        let header = EntryHeader { stored_size, compressed_size, full_size, flags, ..header };
        let mut content = Content::from(joined(header, strings));
        let mut payload = Content::from(stored);
        payload.align(ALIGNMENT);
        content.append(payload);
        Ok(content)
    }
}

/// A separate entry is padded. The zeros must not become a part of the image.
fn can_be_padded(row: &EntryHeader, image: &[u8]) -> bool {
    let states_end = || DeviceImage::identify(View::new(image)).own_size.is_some();
    row.stored_size.is_multiple_of(ALIGNMENT) || kind::is_ptx(row.kind) || states_end()
}
