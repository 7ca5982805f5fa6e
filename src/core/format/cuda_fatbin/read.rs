//! Reading: the entries are walked by their sizes. Each entry must fit into the size of the container.

use super::raw::{ALIGNMENT, EntryHeader, GroupTable, Header, OptionBlock, kind};
use crate::base::bytes::{Cursor, Extent, View};
use crate::base::codec::Codec;
use crate::base::error::{Cause, Malformed};
use crate::format::{DeviceImage, GroupPart, image_range, without_nul};

/// A checked container.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CudaFatbin<'data> {
    /// Version of the format.
    pub version: u16,
    /// Entries in the order of the file.
    pub entries: Vec<FatbinEntry<'data>>,
    /// The header and all entries.
    pub view: View<'data>,
}

/// An image with the properties that the container states.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FatbinEntry<'data> {
    /// The header as in the file: unknown kinds and flags are kept.
    pub header: EntryHeader,
    /// Codec of the payload.
    pub codec: Codec,
    /// Position in the decompressed payload, where several images are compressed as one.
    pub part: Option<GroupPart>,
    /// Operand of `fatbinary --ident`, usually the name of a source file.
    pub identifier: Option<View<'data>>,
    /// Command line for ptxas (PTX) or for the code generator (NVVM, Tile IR); attributes in binary form (cubins).
    pub options: Option<View<'data>>,
    /// Stored bytes of the image, without the padding that follows.
    pub image: View<'data>,
}

impl<'data> CudaFatbin<'data> {
    /// Reads the container at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let (header, grouped) = read_grouped(view)?;
        let end = entries(view, &header)?.range_in(view).end;
        let view = view.prefix("CUDA fatbin", end)?;
        let mut entries = Vec::with_capacity(grouped.len());
        for GroupedEntry { entry, rows } in grouped {
            match rows {
                Some(rows) => entries.extend(rows),
                None => entries.push(entry),
            }
        }
        Ok(CudaFatbin { version: header.version, entries, view })
    }
}

/// An entry, with the images of a group.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GroupedEntry<'data> {
    /// The entry. For a group, the entry with all images.
    pub entry: FatbinEntry<'data>,
    /// Images of a group.
    pub rows: Option<Vec<FatbinEntry<'data>>>,
}

/// Reads the container at the start of a view, with groups as they are stored. A group with an invalid table is one
/// image of unknown content.
pub fn read_grouped(view: View<'_>) -> Result<(Header, Vec<GroupedEntry<'_>>), Malformed> {
    let header = Header::read(view)?;
    let mut cursor = Cursor::new(entries(view, &header)?);
    let mut entries = Vec::new();
    while cursor.rest().size() > 0 {
        let (entry, whole) = FatbinEntry::read(&mut cursor)?;
        entries.push(match entry.header.kind {
            kind::GROUP => match group(whole, &entry) {
                Ok(rows) => GroupedEntry { entry, rows: Some(rows.into_iter().map(|(image, _)| image).collect()) },
                Err(_) => GroupedEntry { entry: FatbinEntry { codec: Codec::Opaque, ..entry }, rows: None },
            },
            _ => GroupedEntry { entry, rows: None },
        });
    }
    Ok((header, entries))
}

/// Returns the bytes of all entries.
pub(super) fn entries<'data>(view: View<'data>, header: &Header) -> Result<View<'data>, Malformed> {
    view.part(view.field("CUDA fatbin size", 8), Extent { offset: Header::SIZE, size: header.size })
}

impl<'data> FatbinEntry<'data> {
    /// Reads the next entry; also returns all of its bytes.
    pub(super) fn read(cursor: &mut Cursor<'data>) -> Result<(Self, View<'data>), Malformed> {
        let view = cursor.rest();
        let header = EntryHeader::read(view)?;
        let header_size = u64::from(header.header_size);
        if header_size < EntryHeader::SIZE {
            let cause = Cause::Unexpected { value: header_size, expected: "at least 64" };
            return Err(view.malformed("CUDA fatbin entry header size", 4, cause));
        }
        let prefix = view.prefix(view.field("CUDA fatbin entry header size", 4), header_size)?;
        let payload_field = view.field("CUDA fatbin payload size", 8);
        let payload = view.part(payload_field, Extent { offset: header_size, size: header.stored_size })?;
        let whole = cursor.take_stated(payload_field, payload.range_in(view).end)?;
        let identifier = identifier(prefix, &header)?;
        let options = options(prefix, &header)?;
        let image = image(whole, &header)?;
        Ok((FatbinEntry { header, codec: header.codec(), part: None, identifier, options, image }, whole))
    }
}

/// Reads the images of a group, each with its row: headers in a table, bytes in the group's decompressed payload.
pub(super) fn group<'data>(
    view: View<'data>,
    group: &FatbinEntry<'data>,
) -> Result<Vec<(FatbinEntry<'data>, View<'data>)>, Malformed> {
    let table = GroupTable::read(view.from(EntryHeader::SIZE))?;
    let prefix = view.prefix(view.field("CUDA fatbin entry header size", 4), u64::from(group.header.header_size))?;
    let stated_at = EntryHeader::SIZE + 4;
    let size = u64::from(table.size);
    let table_field = prefix.field("CUDA fatbin group table size", stated_at);
    let table_view = prefix.part(table_field, Extent { offset: EntryHeader::SIZE, size })?;
    let mut rows = Cursor::new(table_view.from(GroupTable::SIZE));
    let mut entries = Vec::new();
    for _ in 0..table.count {
        entries.push(group_row(&mut rows, group)?);
    }
    if rows.rest().size() != 0 {
        let cause = Cause::Unexpected { value: size, expected: "8 and the sizes of the rows" };
        return Err(prefix.malformed("CUDA fatbin group table size", stated_at, cause));
    }
    Ok(entries)
}

/// Reads the next row; also returns all of its bytes.
fn group_row<'data>(
    rows: &mut Cursor<'data>,
    group: &FatbinEntry<'data>,
) -> Result<(FatbinEntry<'data>, View<'data>), Malformed> {
    let rest = rows.rest();
    let header = EntryHeader::read(rest)?;
    let row_size = EntryHeader::SIZE.max(identifier_end(&header)).max(options_end(rest, &header)?);
    let row = rows.take("CUDA fatbin group row", row_size)?;
    let identifier = identifier(row, &header)?;
    let options = options(row, &header)?;
    let whole = if group.codec == Codec::None { group.image.size() } else { group.header.full_size };
    let offset = u64::from(header.header_size);
    let size = header.stored_size;
    if offset.checked_add(size).is_none_or(|end| end > whole) {
        return Err(row.malformed("CUDA fatbin group offset", 4, Cause::OutOfBounds { offset, size, limit: whole }));
    }
    let (image, part) = match group.codec {
        Codec::None => {
            let own = image_range(header.image_kind(), group.image, offset, size)?;
            let own = Extent { offset, size: own.len() as u64 };
            (group.image.part(row.field("CUDA fatbin group offset", 4), own)?, None)
        }
        _ => (group.image, Some(GroupPart { offset, whole })),
    };
    Ok((FatbinEntry { header, codec: group.codec, part, identifier, options, image }, row))
}

/// The end includes the padding; 0 if there is no identifier.
#[expect(clippy::arithmetic_side_effects, reason = "a sum of numbers of 32 bits")]
fn identifier_end(header: &EntryHeader) -> u64 {
    if header.name_offset == 0 { 0 } else { padded_size(header.name_size) + u64::from(header.name_offset) }
}

/// The end includes the padding; 0 if there is no option block.
#[expect(clippy::arithmetic_side_effects, reason = "a sum of numbers of 32 bits")]
fn options_end(row: View<'_>, header: &EntryHeader) -> Result<u64, Malformed> {
    let at = u64::from(header.options_offset);
    if at == 0 {
        return Ok(0);
    }
    let block = OptionBlock::read(row.from(at))?;
    Ok(at + OptionBlock::SIZE + padded_size(block.size))
}

/// Size of a string with its NUL and padding.
fn padded_size(size: u32) -> u64 {
    (u64::from(size) + 1).next_multiple_of(ALIGNMENT)
}

fn identifier<'data>(prefix: View<'data>, header: &EntryHeader) -> Result<Option<View<'data>>, Malformed> {
    if header.name_offset == 0 {
        return Ok(None);
    }
    let extent = Extent { offset: header.name_offset.into(), size: header.name_size.into() };
    prefix.part(prefix.field("CUDA fatbin identifier offset", 32), extent).map(Some)
}

#[expect(clippy::arithmetic_side_effects, reason = "a number of 32 bits")]
fn options<'data>(prefix: View<'data>, header: &EntryHeader) -> Result<Option<View<'data>>, Malformed> {
    let at = u64::from(header.options_offset);
    // In a group the offset points to the table of its images; in unknown kinds its meaning is unknown.
    let has_options = [kind::PTX, kind::ELF, kind::NVVM, kind::RELOCATABLE_PTX, kind::TILE_IR].contains(&header.kind);
    if at == 0 || !has_options {
        return Ok(None);
    }
    let block_extent = Extent { offset: at, size: OptionBlock::SIZE };
    let block_view = prefix.part(prefix.field("CUDA fatbin options offset", 20), block_extent)?;
    let block = OptionBlock::read(block_view)?;
    let field = block_view.field("CUDA fatbin option string offset", 0);
    let leading_nul = if header.kind == kind::ELF { 1 } else { 0 };
    let options = Extent { offset: u64::from(block.offset) + leading_nul, size: block.size.into() };
    prefix.part(field, options).map(Some)
}

/// Only compressed images state their exact size. An ELF file ends where its own headers end, a PTX text before the
/// zeros that pad it.
fn image<'data>(entry: View<'data>, header: &EntryHeader) -> Result<View<'data>, Malformed> {
    let offset = u64::from(header.header_size);
    if header.compressed_size != 0 {
        return entry.part(
            entry.field("CUDA fatbin compressed size", 16),
            Extent { offset, size: u64::from(header.compressed_size) },
        );
    }
    let payload = entry.from(offset);
    let size = match (header.codec(), header.kind) {
        (Codec::None, kind::ELF | kind::TILE_IR) => DeviceImage::identify(payload).own_size,
        (Codec::None, kind::PTX | kind::RELOCATABLE_PTX) => Some(without_nul(payload.data())),
        _ => None,
    };
    entry.part(entry.field("CUDA fatbin payload size", 8), Extent { offset, size: size.unwrap_or(header.stored_size) })
}
