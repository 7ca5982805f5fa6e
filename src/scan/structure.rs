//! The host file: what it is, and which of its sections hold containers.

use std::ops::Range;

use object::read::{File, FileKind, Object, ObjectSection};
use object::{SectionFlags, elf};

use crate::bytes::View;
use crate::inventory::FileFormat;

/// Sections that tools keep containers in, by name: offload binaries for clang-linker-wrapper and for its `-r` links,
/// HIP's bundles, CUDA's fat binaries and those of CUDA code that is still to be linked.
const SECTIONS: [&str; 5] =
    [".llvm.offloading", ".llvm.offloading.relocatable", ".hip_fatbin", ".nv_fatbin", "__nv_relfatbin"];

/// `SHT_LLVM_OFFLOADING` (`llvm/BinaryFormat/ELF.h`): offload binaries whatever the section is called.
const SHT_LLVM_OFFLOADING: elf::SectionType = elf::SectionType(0x6fff_4c0b);

/// A file as far as the scanner cares.
pub struct Structure<'data> {
    pub format: FileFormat,
    /// The sections that are there for containers.
    pub sections: Vec<Section<'data>>,
    /// Name and place of every section, to say where a container was found.
    names: Vec<(String, Range<u64>)>,
}

/// A section's name and bytes.
pub struct Section<'data> {
    pub name: String,
    pub view: View<'data>,
}

/// Reads the headers of a host file. A file that is none, or whose headers cannot be read, has no sections: it is
/// searched like any other bytes, so a damaged header hides nothing.
pub fn read(view: View<'_>) -> Structure<'_> {
    let format = match FileKind::parse(view.data()) {
        Ok(FileKind::Elf32 | FileKind::Elf64) => FileFormat::Elf,
        _ => FileFormat::Raw,
    };
    let mut structure = Structure { format, sections: Vec::new(), names: Vec::new() };
    let Ok(file) = File::parse(view.data()) else { return structure };
    for section in file.sections() {
        // Sections without bytes in the file (.bss, and any section of a split debug file) have no range.
        let Some((offset, size)) = section.file_range() else { continue };
        let Some(end) = offset.checked_add(size).filter(|&end| end <= view.size()) else { continue };
        let name = String::from_utf8_lossy(section.name_bytes().unwrap_or_default()).into_owned();
        let typed = matches!(section.flags(), SectionFlags::Elf { sh_type: SHT_LLVM_OFFLOADING, .. });
        if (typed || SECTIONS.contains(&name.as_str()))
            && let Ok(view) = view.part("section", 0, offset, size)
        {
            structure.sections.push(Section { name: name.clone(), view });
        }
        structure.names.push((name, offset..end));
    }
    structure
}

impl Structure<'_> {
    /// The name of the section that holds this byte of the file.
    pub fn section_at(&self, offset: u64) -> Option<&str> {
        self.names.iter().find(|(_, range)| range.contains(&offset)).map(|(name, _)| name.as_str())
    }
}
