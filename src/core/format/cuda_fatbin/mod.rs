//! The CUDA fat binary, magic `50 ED 55 BA`: cubins and PTX for several architectures. The driver chooses one of them.
//!
//! NVIDIA's fatbinary writes it. nvcc and clang store it in the section `.nv_fatbin` of host objects, and relocatable
//! device code in `__nv_relfatbin`; in a finished program these sections contain containers back to back with padding
//! between them. Some libraries store containers in `.rodata`. All integers are little-endian.
//!
//! Layout of version 1: header, entries. An entry: header, identifier, option block, payload, each padded to 8 bytes.
//! Offsets in an entry count from its first byte. Source: NVIDIA publishes nothing. Derived from 12,378 entries of real
//! files and from the output of fatbinary 13.5 for chosen inputs; every cubin found was compared with the output of
//! cuobjdump.
//!
//! # Differences from fatbinary
//!
//! For cubins the output equals the output of fatbinary 13.5. For PTX it does too, unless the text has comments or
//! redundant blanks: fatbinary removes them, while every byte of an image is kept here. The drop-in `fatbinary` removes
//! them before it calls the writer. fatbinary requires the architecture as an option. Here it is read from the image,
//! except for a suffix that the cubin does not state, see [`FatbinImage::new`]. fatbinary scrambles LTO-IR that it
//! compresses; here it is stored uncompressed. The host is Linux.

mod compress;
mod image;
mod member;
mod raw;
mod read;
mod stored;
mod write;

#[cfg(test)]
mod tests;
#[cfg(test)]
mod write_tests;

pub use compress::{WriteError, level};
pub use image::{FatbinImage, GROUPS, HostSystem, Language};
pub use member::{FatbinMember, concatenate};
pub use raw::{EntryHeader, MAGIC, flag, kind};
pub use read::read_grouped;
pub use read::{CudaFatbin, FatbinEntry};
pub use stored::{PlainEntry, StoredEntry, stored_entries};
pub use write::write_entries;
pub use write::{write, write_members};

use super::{ContainerType, ContainerView, ImageView, UnknownValue, device_elf};
use crate::base::bytes::View;
use crate::base::codec::Codec;
use crate::base::error::Malformed;
use crate::target::OffloadKind;
use crate::target::nvptx::{self, Arch, Suffix};

/// Property of PTX from a linked object.
const LINKAGE: (&str, &str) = ("linkage", "relocatable");

/// Reads the container at the view's start.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let fatbin = CudaFatbin::read(view)?;
    let images = fatbin.entries.iter().map(image_of_entry).collect();
    Ok(ContainerView::new(ContainerType::CudaFatbin, Some(fatbin.version.into()), fatbin.view, images))
}

/// Returns an image with the properties that the container states. The bytes of a compressed image state nothing, and
/// uncompressed bytes agree with the container.
pub fn image_of_entry<'data>(entry: &FatbinEntry<'data>) -> ImageView<'data> {
    let header = &entry.header;
    let codec = entry.codec;
    // For an image in a group, the header states the size in the decompressed payload.
    let full_size = if entry.part.is_some() { header.stored_size } else { header.full_size };
    ImageView {
        kind: Some(OffloadKind::Cuda),
        image_kind: header.image_kind(),
        triple: Some(header.triple().to_owned()),
        arch: arch(entry).map(|arch| arch.to_string()),
        id: None,
        strings: if header.kind == kind::RELOCATABLE_PTX { vec![LINKAGE] } else { Vec::new() },
        unknown: unknown_kind(header.kind).into_iter().collect(),
        view: entry.image,
        codec: Some(codec),
        full_size: Some(full_size).filter(|&size| codec != Codec::None && size != 0),
        code_version: Some(header.code_version),
        is_mercury: header.flags & flag::MERCURY != 0,
        part: entry.part,
        has_stated_end: true,
        symbol: None,
    }
}

/// nvcc 13.5 stores cubins of Tile IR as `sm_90`, `sm_100` or `sm_100f`, although they are architecture-specific. Only
/// the attributes of the cubin state that. The entry repeats them for `sm_100` and later.
fn arch(entry: &FatbinEntry<'_>) -> Option<Arch> {
    let arch = entry.header.arch()?;
    if entry.header.kind != kind::ELF || arch.number < nvptx::FIRST_SPECIFIC {
        return Some(arch);
    }
    let is_specific = match entry.options {
        Some(attributes) => nvptx::is_specific(attributes.data()),
        None => own_arch(entry) == Some(Arch { suffix: Some(Suffix::Specific), ..arch }),
    };
    Some(if is_specific { Arch { suffix: Some(Suffix::Specific), ..arch } } else { arch })
}

/// Returns the architecture that an uncompressed cubin states.
fn own_arch(entry: &FatbinEntry<'_>) -> Option<Arch> {
    if entry.codec != Codec::None {
        return None;
    }
    device_elf::read(entry.image).ok()?.cubin?.arch()
}

/// A kind is unknown if it is newer than this program. A group with an invalid table has a known kind.
fn unknown_kind(kind: u16) -> Option<UnknownValue> {
    let known = [kind::PTX, kind::ELF, kind::NVVM, kind::RELOCATABLE_PTX, kind::TILE_IR, kind::GROUP];
    let is_known = known.contains(&kind);
    (!is_known).then_some(UnknownValue { field: UnknownValue::KIND, value: kind.into() })
}
