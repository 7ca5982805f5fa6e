//! Entries of a container: an image, or several images that are compressed as one.

use std::borrow::Cow;

use super::compress::{WriteError, compress, size_with};
use super::image::{EncodedEntry, FatbinImage, GROUPS, joined};
use super::raw::{ALIGNMENT, EntryHeader, GroupTable, codec_flag, kind};
use super::read::FatbinEntry;
use crate::base::codec::Compression;
use crate::base::content::Content;
use crate::target::nvptx::Arch;

/// Code version of a group, as fatbinary writes it.
const GROUP_VERSION: (u16, u16) = (0, 1);

/// An entry to write.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FatbinMember<'data> {
    /// One image, stored with a codec or uncompressed.
    Image {
        /// The image.
        image: FatbinImage<'data>,
        /// Codec and level; `None` for an uncompressed entry.
        compression: Option<Compression>,
    },
    /// Several images that are compressed as one (`fatbinary --concat`).
    Group {
        /// The images, in the order of the table.
        images: Vec<FatbinImage<'data>>,
        /// Codec and level.
        compression: Compression,
    },
    /// PTX of an object, as it is stored there. The driver links it again.
    Relocatable {
        /// The entry of the object.
        entry: FatbinEntry<'data>,
        /// Name of the module, for an entry without an identifier.
        module: Cow<'data, [u8]>,
    },
}

impl<'data> From<FatbinImage<'data>> for FatbinMember<'data> {
    fn from(image: FatbinImage<'data>) -> Self {
        FatbinMember::Image { image, compression: None }
    }
}

impl<'data> FatbinMember<'data> {
    /// Writes the entry.
    pub(super) fn entry(&self) -> Result<EncodedEntry<'data>, WriteError> {
        match self {
            FatbinMember::Image { image, compression } => {
                if compression.is_some() && image.kind() == kind::NVVM {
                    return Err(WriteError::CompressedLtoIr);
                }
                image.entry(*compression)
            }
            FatbinMember::Group { images, compression } => group(images, *compression),
            FatbinMember::Relocatable { entry, module } => relocatable(entry, module),
        }
    }

    /// The image of an ungrouped entry, if it is of a sort that can be compressed as one.
    fn image_of(&self, group: usize) -> Option<FatbinImage<'data>> {
        match self {
            FatbinMember::Image { image, .. } if image.group() == Some(group) => Some(*image),
            _ => None,
        }
    }
}

/// Arranges members like `fatbinary --concat`: at least `fewest` images of a sort form a group, and groups follow all
/// other entries. The sorts are PTX, cubins, and cubins with Mercury code. fatbinary makes groups of two or more, and
/// the library that it calls of one.
pub fn concatenate(members: Vec<FatbinMember<'_>>, compression: Compression, fewest: usize) -> Vec<FatbinMember<'_>> {
    let mut rest = members;
    let mut groups = Vec::new();
    for group in 0..GROUPS.len() {
        let images: Vec<_> = rest.iter().filter_map(|member| member.image_of(group)).collect();
        if images.len() >= fewest.max(1) {
            rest.retain(|member| member.image_of(group).is_none());
            groups.push(FatbinMember::Group { images, compression });
        }
    }
    rest.extend(groups);
    rest
}

/// Writes the entry of relocatable PTX. Only the kind and the identifier differ from the entry of the object.
fn relocatable<'data>(entry: &FatbinEntry<'data>, module: &[u8]) -> Result<EncodedEntry<'data>, WriteError> {
    let old = entry.header;
    let identifier = entry.identifier.map_or(module, |identifier| identifier.data());
    let options = entry.options.map(|options| options.data());
    // Architecture and version come from the entry.
    let image = FatbinImage::of_ptx(b"", old.code_version, Arch { number: old.arch_number, suffix: None });
    let image = image.relocatable().with_identifier(identifier).with_options(options.unwrap_or_default());
    let (own, strings) = image.parts(old.stored_size)?;
    let EntryHeader { kind, header_size, options_offset, name_offset, name_size, .. } = own;
    let header = EntryHeader { kind, header_size, options_offset, name_offset, name_size, ..old };
    let mut payload = Content::from(entry.image.data());
    // The NUL that ends a text is among the padding.
    payload.pad_to(old.stored_size);
    Ok(EncodedEntry { header: joined(header, strings), payload })
}

/// Writes the entry of a group: its header, a table of the images, and one stream of all images, each padded.
fn group<'data>(images: &[FatbinImage], how: Compression) -> Result<EncodedEntry<'data>, WriteError> {
    let mut whole = Content::new();
    let mut rows = Vec::new();
    for image in images {
        let offset = whole.size();
        let mut payload = image.payload();
        payload.align(ALIGNMENT);
        rows.extend(image.row(offset, payload.size())?);
        whole.append(payload);
    }
    let stored = compress(&whole, how)?;
    let size = |size: usize| u32::try_from(size).map_err(|_| WriteError::TooLarge);
    let table_size = size_with(GroupTable::SIZE, rows.len() as u64)?;
    let mut header = Vec::new();
    EntryHeader {
        kind: kind::GROUP,
        header_size: size_with(EntryHeader::SIZE, table_size.into())?,
        stored_size: (stored.len() as u64).next_multiple_of(ALIGNMENT),
        compressed_size: size(stored.len())?,
        options_offset: EntryHeader::SIZE as u32,
        code_version: GROUP_VERSION,
        arch_number: 0,
        name_offset: 0,
        name_size: 0,
        flags: codec_flag(how.codec) | images.first().map_or(0, FatbinImage::group_flags),
        reserved: 0,
        full_size: whole.size(),
    }
    .write(&mut header);
    GroupTable { count: size(images.len())?, size: table_size }.write(&mut header);
    header.extend(rows);
    Ok(EncodedEntry { header, payload: Content::from(stored) })
}
