//! The structures that host code passes to the CUDA and HIP runtimes, each with a pointer to a container.
//!
//! Linkers merge the structures of all objects into one section; [`fat_binary_wrapper`] describes their layout. They
//! are not always back to back, because the address sanitizer puts red zones between them.

use std::ops::Range;

use object::SectionKind;
use object::read::{Object, ObjectSection};

use super::pointers::{HostFile, HostSection, PointerTarget, Pointers};
use crate::base::bytes::{Extent, Resource, View, text_work};
use crate::base::range::range_at;
use crate::format::fat_binary_wrapper::{self, CONTAINER_OFFSET, CUDA, CUDA_TILE_SECTION, HIP, HIP_KPACK_MAGIC};
use crate::scan::inventory::{SectionRef, WrapperKind};

/// Sections of the structures.
pub const SECTIONS: [&str; 3] = [CUDA.section, CUDA_TILE_SECTION, HIP.section];
/// Sections of the structures in Mach-O files: segment and section.
pub const MACH_O_SECTIONS: [(&str, &str); 2] = [CUDA.mach_o_section, HIP.mach_o_section];

/// First words of the structures.
const MAGICS: [(u32, WrapperKind); 3] =
    [(CUDA.magic, WrapperKind::Cuda), (HIP.magic, WrapperKind::Hip), (HIP_KPACK_MAGIC, WrapperKind::HipSplitByKpack)];

/// Size of the index of a code object, in bytes. The index follows the pointer in wrappers of rocm-kpack.
const INDEX_SIZE: u64 = 4;

/// Greatest size of a section that is searched. Larger sections hold arrays of other data.
const MAX_SEARCHED: u64 = 64 << 20;

/// Greatest number of wrappers that are searched in a section.
const MAX_FOUND: usize = 4096;

/// A wrapper as it is stored in the file.
pub struct StoredWrapper<'data> {
    /// Runtime that receives it.
    pub kind: WrapperKind,
    /// Section that holds it.
    pub section: SectionRef,
    /// Offset in the file, in bytes.
    pub offset: u64,
    /// Destination of its pointer.
    pub target: PointerTarget<'data>,
    /// Index of the code object in kpack archives.
    pub index: Option<u32>,
    /// Version of the structure.
    pub version: u32,
    /// Number of the container's device link, if known.
    pub link: Option<usize>,
    /// Name of the module that was compiled to the container, if known.
    pub module: Option<&'data str>,
}

/// Reads the wrappers of a section, which has this range in its host file. The host file starts at `base` of the file.
pub fn read<'a, 'data>(
    section: SectionRef,
    range: Range<u64>,
    base: u64,
    pointers: &'a Pointers<'_, 'data>,
) -> impl Iterator<Item = StoredWrapper<'data>> + 'a {
    let places = range.clone().step_by(pointers.size() as usize);
    places.filter_map(move |place| {
        let pointer_at = place.checked_add(CONTAINER_OFFSET)?;
        let index_at = pointer_at.checked_add(pointers.size())?;
        if index_at > range.end {
            return None;
        }
        let (kind, version) = kind_at(place, pointers)?;
        let target = match pointers.at(pointer_at) {
            PointerTarget::Offset(offset) => PointerTarget::Offset(base.checked_add(offset)?),
            elsewhere => elsewhere,
        };
        let index = (kind == WrapperKind::HipSplitByKpack).then(|| pointers.number(index_at, INDEX_SIZE)).flatten();
        Some(StoredWrapper {
            kind,
            section: section.clone(),
            offset: base.checked_add(place)?,
            target,
            index: index.and_then(|index| u32::try_from(index).ok()),
            version,
            link: None,
            module: None,
        })
    })
}

/// Returns the places that look like wrappers in the data of a host file, each with its section: a linker script, or
/// `/merge` of Microsoft's linkers, has moved them out of their own section.
pub fn search<'data, 'file>(
    file: &'file HostFile<'data>,
    view: View<'data>,
) -> Vec<(HostSection<'data, 'file>, Range<u64>)> {
    let word = |magic: u32| if file.is_little_endian() { magic.to_le_bytes() } else { magic.to_be_bytes() };
    let magics = MAGICS.map(|(magic, _)| word(magic));
    let step = if file.is_64() { 8 } else { 4 };
    let mut found = Vec::new();
    for section in file.sections().filter(|section| is_data(section.kind())) {
        let Some((offset, size)) = section.file_range().filter(|(_, size)| *size <= MAX_SEARCHED) else { continue };
        let Ok(bytes) = view.part("section", Extent { offset, size }) else { continue };
        if view.charge("section", Resource::Work, text_work(bytes.data().len())).is_err() {
            break;
        }
        let words = (offset..).step_by(step).zip(bytes.data().chunks_exact(step));
        let places = words.filter(|(_, word)| magics.iter().any(|magic| word.starts_with(magic)));
        let end = range_at(offset, size).end;
        for (place, _) in places.take(MAX_FOUND) {
            let after = CONTAINER_OFFSET.saturating_add(step as u64).saturating_add(INDEX_SIZE);
            let file_index = section.index();
            if let Ok(section) = file.section_by_index(file_index) {
                found.push((section, place..place.saturating_add(after).min(end)));
            }
        }
    }
    found
}

fn is_data(kind: SectionKind) -> bool {
    matches!(kind, SectionKind::Data | SectionKind::ReadOnlyDataWithRel)
}

/// Kind and version of the wrapper at this offset of the host file, if there is one.
fn kind_at(place: u64, pointers: &Pointers) -> Option<(WrapperKind, u32)> {
    let magic = pointers.number(place, 4)?;
    let &(_, kind) = MAGICS.iter().find(|(known, _)| u64::from(*known) == magic)?;
    let version = pointers.number(place.checked_add(4)?, 4)?;
    let version = fat_binary_wrapper::VERSIONS.into_iter().find(|known| u64::from(*known) == version)?;
    Some((kind, version))
}
