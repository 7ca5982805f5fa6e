//! Sections of offload binaries from which some were removed. LLVM's tools read such a section as binaries without gaps, so the
//! section is cut to the binaries that are left, and each of these extends to the next.
//!
//! Only section headers and sizes change, which no runtime reads: a program finds its images by the table that registers them.
//! Source: `extractOffloadFiles` in llvm/lib/Object/OffloadBinary.cpp (LLVM 22).

use std::ops::Range;

use object::elf::{FileHeader64, SectionHeader64};
use object::endian::{Endian, Endianness};
use object::read::elf::{FileHeader, SectionHeader};

use super::patch::Patch;
use crate::bytes::View;
use crate::content::Content;
use crate::error::Malformed;
use crate::format::ContainerType;
use crate::inventory::{Container, File};

/// Offset of the size in an offload binary; it is in little-endian byte order.
const SIZE_FIELD: u64 = 8;

/// Offset and size of address, offset and size in a section header, in bytes.
const PLACE_FIELDS: u64 = 16;
const PLACE_SIZE: u64 = 24;

/// Returns the patches for the sections of a 64-bit ELF file from which the containers at the offsets in `removed` are removed.
pub fn without_gaps<'data>(view: View<'data>, file: &File, removed: &[u64]) -> Result<Vec<Patch<'data>>, Malformed> {
    let Ok(header) = FileHeader64::<Endianness>::parse(view.data()) else { return Ok(Vec::new()) };
    let Ok(endian) = header.endian() else { return Ok(Vec::new()) };
    let sections = header.section_headers(endian, view.data()).unwrap_or_default();
    let mut patches = Vec::new();
    for (index, section) in sections.iter().enumerate() {
        let Some((start, size)) = section.file_range(endian) else { continue };
        let range = start..start.saturating_add(size);
        let own: Vec<&Container> = containers_in(file, &range).collect();
        let is_removed = |container: &Container| container.offset.is_some_and(|offset| removed.contains(&offset));
        let is_offload = |container: &&Container| container.container_type == ContainerType::OffloadBinary;
        if !own.iter().copied().any(is_removed) || !own.iter().all(is_offload) {
            continue;
        }
        let left: Vec<Range<u64>> =
            own.iter().copied().filter(|it| !is_removed(it)).filter_map(Container::range).collect();
        for pair in left.windows(2) {
            let [one, next] = pair else { continue };
            if one.end < next.start {
                patches.extend(with_size(one.start, next.start.saturating_sub(one.start)));
            }
        }
        let place = match (left.first(), left.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => start..start,
        };
        let at = header.e_shoff(endian);
        let entry = (index as u64).saturating_mul(size_of::<SectionHeader64<Endianness>>() as u64);
        patches.extend(with_place(at.saturating_add(entry), section, endian, place));
    }
    Ok(patches)
}

fn containers_in<'a>(file: &'a File, range: &Range<u64>) -> impl Iterator<Item = &'a Container> {
    let range = range.clone();
    file.containers.iter().filter(move |container| container.offset.is_some_and(|offset| range.contains(&offset)))
}

/// Returns the patch of the size of an offload binary.
fn with_size<'data>(start: u64, size: u64) -> Option<Patch<'data>> {
    let at = start.checked_add(SIZE_FIELD)?;
    Patch::in_place(at..at.checked_add(8)?, Content::from(size.to_le_bytes().to_vec()))
}

/// Returns the patch of a section header that gives the section another place in the bytes that it had.
fn with_place<'data>(
    at: u64,
    section: &SectionHeader64<Endianness>,
    endian: Endianness,
    place: Range<u64>,
) -> Option<Patch<'data>> {
    let moved = place.start.checked_sub(section.sh_offset(endian))?;
    // Sections that are not loaded have no address.
    let address = match section.sh_addr(endian) {
        0 => 0,
        address => address.checked_add(moved)?,
    };
    let fields = [address, place.start, place.end.checked_sub(place.start)?];
    let bytes = fields.map(|field| endian.write_u64(field)).concat();
    let start = at.checked_add(PLACE_FIELDS)?;
    Patch::in_place(start..start.checked_add(PLACE_SIZE)?, Content::from(bytes))
}
