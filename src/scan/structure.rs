//! The host file: what it is, and which of its sections hold containers.

use std::collections::BTreeMap;
use std::ops::Range;

use object::SectionFlags;
use object::read::macho::{FatArch, MachOFatFile32, MachOFatFile64};
use object::read::{File, FileKind, Object, ObjectSection};

use super::pointers::Pointers;
use super::{image_table, wrappers};
use crate::bytes::View;
use crate::format::fat_binary_wrapper::{CUDA, HIP};
use crate::format::{self, DeviceImage, ImageKind, bundle_section, offload_binary};
use crate::inventory::{FileFormat, SectionRef};

/// Sections that tools keep containers in, by name: offload binaries for clang-linker-wrapper and for its `-r` links,
/// HIP's bundles, CUDA's fat binaries and those of CUDA code that is still to be linked.
const SECTIONS: [&str; 5] = [
    ".llvm.offloading",
    ".llvm.offloading.relocatable",
    HIP.container_section,
    CUDA.container_section,
    "__nv_relfatbin",
];

/// The same in Mach-O files: the segment and the section. Source: clang's CGCUDANV.cpp and LLVM's OffloadWrapper.cpp.
const MACH_O_SECTIONS: [(&str, &str); 3] =
    [HIP.mach_o_container_section, CUDA.mach_o_container_section, ("__NV_CUDA", "__nv_relfatbin")];

/// A PE file has room for so many bytes of a section's name (PE format, section headers).
const PE_NAME_SIZE: usize = 8;

/// A file as far as the scanner cares.
pub struct Structure<'data> {
    pub format: FileFormat,
    /// The sections that are there for containers.
    pub sections: Vec<Section<'data>>,
    /// The structures that point to containers.
    pub wrappers: Vec<wrappers::StoredWrapper<'data>>,
    /// Images of which a table says where they are: sizes by offsets.
    pub images: BTreeMap<u64, u64>,
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
        Ok(FileKind::MachO32 | FileKind::MachO64) => FileFormat::MachO,
        Ok(kind @ (FileKind::MachOFat32 | FileKind::MachOFat64)) => return universal(view, kind),
        _ if DeviceImage::identify(view).image_kind == ImageKind::Bitcode => FileFormat::Bitcode,
        _ => FileFormat::Raw,
    };
    let mut structure = Structure::new(format);
    let Ok(file) = File::parse(view.data()) else {
        structure.format = if format == FileFormat::Coff { FileFormat::Raw } else { format };
        // Containers by themselves, as tools write them before they are put anywhere.
        if format::of_magic(view).is_some() {
            structure.sections.push(Section { name: None, view });
        }
        return structure;
    };
    structure.add(&file, view);
    structure.sections = without_overlaps(structure.sections, Section::range);
    structure
}

/// A Mach-O file for several machines, with a file for each in it. Class files of Java begin with the same four bytes, and
/// then there are none.
fn universal(view: View<'_>, kind: FileKind) -> Structure<'_> {
    fn ranges<Arch: FatArch>(arches: &[Arch]) -> Vec<(u64, u64)> {
        arches.iter().map(FatArch::file_range).collect()
    }
    let ranges = match kind {
        FileKind::MachOFat64 => MachOFatFile64::parse(view.data()).map(|file| ranges(file.arches())),
        _ => MachOFatFile32::parse(view.data()).map(|file| ranges(file.arches())),
    };
    let views = ranges.unwrap_or_default().into_iter().filter_map(|(at, size)| view.part("slice", 0, at, size).ok());
    let slices = without_overlaps(views.collect(), |view: &View| view.start()..view.start() + view.size());
    let mut structure = Structure::new(FileFormat::Raw);
    for slice in slices {
        let kind = FileKind::parse(slice.data());
        if matches!(kind, Ok(FileKind::MachO32 | FileKind::MachO64))
            && let Ok(file) = File::parse(slice.data())
        {
            structure.format = FileFormat::MachO;
            structure.add(&file, slice);
        }
    }
    structure.sections = without_overlaps(structure.sections, Section::range);
    structure
}

/// What lies in these ranges in the order of the file, without what begins inside another: only a hostile file has that, and
/// it would have the same bytes walked as often as it has section headers.
fn without_overlaps<T>(mut sections: Vec<T>, range: impl Fn(&T) -> Range<u64>) -> Vec<T> {
    sections.sort_by_key(|section| range(section).start);
    let mut end = 0;
    sections.retain(|section| {
        let Range { start, end: own_end } = range(section);
        let is_separate = start >= end;
        end = end.max(own_end);
        is_separate
    });
    sections
}

/// The longest name of a section that is kept; each container in it has a copy.
const MAX_NAME_SIZE: usize = 1 << 10;

/// The name of a section, empty where it cannot be read.
fn name<'data>(section: &object::Section<'data, '_>) -> &'data str {
    section
        .name_bytes()
        .ok()
        .filter(|name| name.len() <= MAX_NAME_SIZE)
        .and_then(|name| std::str::from_utf8(name).ok())
        .unwrap_or_default()
}

impl Section<'_> {
    fn range(&self) -> Range<u64> {
        self.view.start()..self.view.start() + self.view.size()
    }
}

impl<'data> Structure<'data> {
    fn new(format: FileFormat) -> Self {
        let (sections, wrappers, images, names) = Default::default();
        Structure { format, sections, wrappers, images, names }
    }

    /// Adds what a host file has, which is all of `view`.
    fn add(&mut self, file: &File<'data>, view: View<'data>) {
        let (mut wrapper_sections, mut tables) = (Vec::new(), Vec::new());
        for section in file.sections() {
            // Sections without bytes in the file (.bss, and any section of a split debug file) have no range.
            let Some((offset, size)) = section.file_range() else { continue };
            let Ok(bytes) = view.part("section", 0, offset, size) else { continue };
            let name = name(&section);
            let has_type = matches!(section.flags(), SectionFlags::Elf { sh_type: offload_binary::SECTION_TYPE, .. });
            if has_type
                || self.has_name(&section, &SECTIONS, &MACH_O_SECTIONS)
                || bundle_section::entry_id(name).is_some()
            {
                self.sections.push(Section { name: Some(name), view: bytes });
            }
            self.names.push((name, bytes.start()..bytes.start() + size));
            if self.has_name(&section, &wrappers::SECTIONS, &wrappers::MACH_O_SECTIONS) {
                wrapper_sections.push((section, offset..offset + size));
            } else if name == image_table::SECTION {
                tables.push((section, offset..offset + size));
            }
        }
        if wrapper_sections.is_empty() && tables.is_empty() {
            return;
        }
        let [wrapper_sections, tables] =
            [wrapper_sections, tables].map(|sections| without_overlaps(sections, |(_, range)| range.clone()));
        let pointers = Pointers::read(file, view, wrapper_sections.iter().chain(&tables).map(|(section, _)| section));
        for (section, range) in wrapper_sections {
            let place = SectionRef { name: name(&section).to_owned(), offset: view.start() + range.start };
            let left = wrappers::MAX_WRAPPERS - self.wrappers.len();
            self.wrappers.extend(wrappers::read(place, range, view.start(), &pointers).take(left));
        }
        for (_, range) in tables {
            let left = image_table::MAX_IMAGES.saturating_sub(self.images.len());
            self.images.extend(image_table::read(range, view.start(), &pointers).take(left));
        }
    }

    /// Whether a section is called so, as far as there is room for its name.
    fn has_name(&self, section: &object::Section<'data, '_>, names: &[&str], mach_o: &[(&str, &str)]) -> bool {
        let name = name(section);
        match self.format {
            FileFormat::Pe => {
                names.iter().any(|known| known[..PE_NAME_SIZE.min(known.len())] == *name || *known == name)
            }
            FileFormat::MachO => {
                let segment = section.segment_name().ok().flatten().unwrap_or_default();
                mach_o.contains(&(segment, name)) || names.contains(&name)
            }
            _ => names.contains(&name),
        }
    }

    /// The section that holds this byte of the file.
    pub fn section_at(&self, offset: u64) -> Option<SectionRef> {
        let (name, range) = self.names.iter().find(|(_, range)| range.contains(&offset))?;
        Some(SectionRef { name: (*name).to_owned(), offset: range.start })
    }
}
