//! Sections of offload binaries, after some of the binaries were removed. LLVM's tools read such a section as binaries
//! without gaps, so the section is cut to the binaries that are left, and each of these extends to the next.
//!
//! Only section headers and sizes change. No runtime reads them: a program finds its images by the table that registers
//! them. Source: `extractOffloadFiles` in llvm/lib/Object/OffloadBinary.cpp (LLVM 22).

use std::ops::Range;

use super::elf_headers::ElfHeaders;
use super::patch::Patch;
use fatbin_core::base::bytes::size_of_range;
use fatbin_core::base::content::Content;
use fatbin_core::format::ContainerType;
use fatbin_core::scan::inventory::{Container, File};

/// Offset of the size in an offload binary; it is in little-endian byte order.
const SIZE_FIELD: u64 = 8;

/// Cuts sections of an ELF file to the containers that are left, if containers were removed from them. Returns the
/// patches that extend these containers. `removed` has the offsets of the removed containers, and is sorted.
pub fn without_gaps<'data>(headers: &mut ElfHeaders<'data>, file: &File, removed: &[u64]) -> Vec<Patch<'data>> {
    let mut patches = Vec::new();
    let sections: Vec<_> = headers.sections().collect();
    let mut containers: Vec<(u64, &Container)> =
        file.containers.iter().filter_map(|it| Some((it.offset?, it))).collect();
    containers.sort_by_cached_key(|(offset, _)| *offset);
    for (index, range) in sections {
        let first = containers.partition_point(|(offset, _)| *offset < range.start);
        let rest = containers.get(first..).unwrap_or_default().iter();
        let own: Vec<&Container> =
            rest.take_while(|(offset, _)| *offset < range.end).map(|(_, container)| *container).collect();
        let is_removed =
            |container: &Container| container.offset.is_some_and(|offset| removed.binary_search(&offset).is_ok());
        let is_offload = |container: &&Container| container.container_type == ContainerType::OffloadBinary;
        if !own.iter().copied().any(is_removed) || !own.iter().all(is_offload) {
            continue;
        }
        let left: Vec<Range<u64>> =
            own.iter().copied().filter(|it| !is_removed(it)).filter_map(Container::range).collect();
        for pair in left.windows(2) {
            let [one, next] = pair else { continue };
            if one.end < next.start {
                patches.extend(with_size(one.start, size_of_range(&(one.start..next.start))));
            }
        }
        let place = match (left.first(), left.last()) {
            (Some(first), Some(last)) => first.start..last.end,
            _ => range.start..range.start,
        };
        headers.set_place(index, place);
    }
    patches
}

fn with_size<'data>(start: u64, size: u64) -> Option<Patch<'data>> {
    let at = start.checked_add(SIZE_FIELD)?;
    Patch::in_place(at..at.checked_add(8)?, Content::from(size.to_le_bytes().to_vec()))
}
