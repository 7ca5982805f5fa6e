//! The host file: what it is, and which of its sections hold containers.

use std::ops::Range;

use object::SectionFlags;
use object::read::{File, FileKind, Object, ObjectSection};

use crate::bytes::View;
use crate::format::{self, DeviceImage, ImageKind, bundle_section, offload_binary};
use crate::inventory::{FileFormat, InSection};

/// Sections that tools keep containers in, by name: offload binaries for clang-linker-wrapper and for its `-r` links,
/// HIP's bundles, CUDA's fat binaries and those of CUDA code that is still to be linked.
const SECTIONS: [&str; 5] =
    [".llvm.offloading", ".llvm.offloading.relocatable", ".hip_fatbin", ".nv_fatbin", "__nv_relfatbin"];

/// A PE file has room for so many bytes of a section's name (PE format, section headers).
const PE_NAME: usize = 8;

/// A file as far as the scanner cares.
pub struct Structure<'data> {
    pub format: FileFormat,
    /// The sections that are there for containers.
    pub sections: Vec<Section<'data>>,
    /// Name and place of every section, to say where a container was found.
    names: Vec<(&'data str, Range<u64>)>,
}

/// A section's name and bytes.
pub struct Section<'data> {
    pub name: Option<&'data str>,
    pub view: View<'data>,
}

/// Reads the headers of a host file. A file that is none, or whose headers cannot be read, has no sections: it is
/// searched like any other bytes, so a damaged header hides nothing.
pub fn read(view: View<'_>) -> Structure<'_> {
    let format = match FileKind::parse(view.data()) {
        Ok(FileKind::Elf32 | FileKind::Elf64) => FileFormat::Elf,
        Ok(FileKind::Coff | FileKind::CoffBig) => FileFormat::Coff,
        Ok(FileKind::Pe32 | FileKind::Pe64) => FileFormat::Pe,
        _ if DeviceImage::identify(view).image_kind == ImageKind::Bitcode => FileFormat::Bitcode,
        _ => FileFormat::Raw,
    };
    let mut structure = Structure { format, sections: Vec::new(), names: Vec::new() };
    let Ok(file) = File::parse(view.data()) else {
        structure.format = if format == FileFormat::Coff { FileFormat::Raw } else { format };
        // Containers by themselves, as tools write them before they are put anywhere.
        if format::of_magic(view).is_some() {
            structure.sections.push(Section { name: None, view });
        }
        return structure;
    };
    for section in file.sections() {
        // Sections without bytes in the file (.bss, and any section of a split debug file) have no range.
        let Some((offset, size)) = section.file_range() else { continue };
        let Some(end) = offset.checked_add(size).filter(|&end| end <= view.size()) else { continue };
        let name = section.name().unwrap_or_default();
        let typed = matches!(section.flags(), SectionFlags::Elf { sh_type: offload_binary::SECTION_TYPE, .. });
        let named = SECTIONS.iter().any(|known| match format {
            FileFormat::Pe => known[..PE_NAME.min(known.len())] == *name || *known == name,
            _ => *known == name,
        });
        if (typed || named || bundle_section::entry_id(name).is_some())
            && let Ok(view) = view.part("section", 0, offset, size)
        {
            structure.sections.push(Section { name: Some(name), view });
        }
        structure.names.push((name, offset..end));
    }
    structure.sections = without_overlaps(structure.sections);
    structure
}

/// Sections in the order of the file, without those that begin inside another: only a hostile file has them, and it would
/// have the same bytes walked as often as it has section headers.
fn without_overlaps(mut sections: Vec<Section<'_>>) -> Vec<Section<'_>> {
    sections.sort_by_key(|section| section.view.start());
    let mut end = 0;
    sections.retain(|section| {
        let apart = section.view.start() >= end;
        end = end.max(section.view.start() + section.view.size());
        apart
    });
    sections
}

impl Structure<'_> {
    /// The section that holds this byte of the file.
    pub fn section_at(&self, offset: u64) -> Option<InSection> {
        let (name, range) = self.names.iter().find(|(_, range)| range.contains(&offset))?;
        Some(InSection { name: (*name).to_owned(), offset: range.start })
    }
}
