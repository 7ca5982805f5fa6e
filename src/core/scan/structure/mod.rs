//! The host file: its format, and the sections that hold containers.

mod android_relocations;
pub mod device_links;
pub mod fat_lto;
pub mod image_table;
pub mod pointers;
pub mod tables;
pub mod truncated;
pub mod wrappers;

use std::collections::BTreeMap;
use std::ops::Range;

use object::read::{File, FileKind, Object, ObjectSection};
use object::{ObjectKind, SectionFlags, elf};

use self::image_table::ImageRow;
use self::pointers::{HostFile, HostSection, PointerTarget, Pointers};
use super::source::DecodedBitcode;
use crate::base::bytes::{Extent, ObjectBytes, Resource, View, record_memory, size_of_range, text_work};
use crate::base::error::{Cause, Malformed};
use crate::base::range::{offset_from, range_at};
use crate::base::universal;
use crate::format::embedded::Region;
use crate::format::fat_binary_wrapper::{
    self, CUDA, CUDA_RELOCATABLE_SECTION, HIP, MACH_O_MODULE_ID_SECTION, MODULE_ID_SECTION, PE_NAME_SIZE,
};
use crate::format::{self, bitcode, bundle_section, offload_binary, oxart};
use crate::scan::inventory::{FileFormat, SectionRef};

/// Names of the sections where tools store containers: offload binaries for clang-linker-wrapper and for its `-r`
/// links, HIP's bundles, CUDA's fat binaries, fat binaries of relocatable CUDA code, and cuda-oxide's bundles.
const SECTIONS: [&str; 6] = [
    ".llvm.offloading",
    ".llvm.offloading.relocatable",
    HIP.container_section,
    CUDA.container_section,
    CUDA_RELOCATABLE_SECTION,
    oxart::SECTION,
];

/// Names of these sections in Mach-O files: segment and section. Source: clang's CGCUDANV.cpp and LLVM's
/// OffloadWrapper.cpp.
const MACH_O_SECTIONS: [(&str, &str); 4] = [
    HIP.mach_o_container_section,
    CUDA.mach_o_container_section,
    ("__NV_CUDA", CUDA_RELOCATABLE_SECTION),
    // Objects of `fatbin wrap`. LLVM has no name for this section.
    ("__TEXT", "__offloading"),
];

/// Parts of a host file that the scanner uses.
pub struct Structure<'data> {
    /// Format of the file.
    pub format: FileFormat,
    /// Sections for containers, sorted by offset.
    pub sections: Vec<Section<'data>>,
    /// Structures that point to containers.
    pub wrappers: Vec<wrappers::StoredWrapper<'data>>,
    /// Images of image tables: sizes by offsets.
    pub images: BTreeMap<u64, u64>,
    /// Rows of image tables.
    pub image_rows: Vec<ImageRow>,
    /// The host files: one, or the slices of a universal file.
    pub hosts: Vec<View<'data>>,
    /// True if the host files are objects, which must be linked.
    pub is_object: bool,
    /// Defect of a host file that ends before something that its headers refer to.
    pub defect: Option<Malformed>,
    /// Name and range of every section in the order of the file, to report the section of a container.
    names: Vec<(&'data str, Range<u64>)>,
}

/// Name and bytes of a section.
pub struct Section<'data> {
    /// Name; `None` for a file that consists of containers.
    pub name: Option<&'data str>,
    /// Bytes.
    pub view: View<'data>,
    /// Error about a section that is compressed as an ELF section.
    pub compressed: Option<Malformed>,
}

/// Returns the error about a section for device images that is compressed as an ELF section. Linkers write such
/// sections on request, and the readers of device code take the bytes as they are. Source: ELF specification,
/// `SHF_COMPRESSED`; measured with clang-linker-wrapper 22.1.8.
pub fn compressed_section(flags: SectionFlags, bytes: View<'_>) -> Option<Malformed> {
    let is_compressed = matches!(flags, SectionFlags::Elf { sh_flags, .. } if sh_flags.contains(elf::SHF_COMPRESSED));
    is_compressed.then(|| bytes.malformed("section for device images", 0, Cause::CompressedSection))
}

/// Reads the headers of a host file. Any other file, and a file with unreadable headers, has no sections and is
/// searched by magic. A damaged header therefore hides nothing.
pub fn read(view: View<'_>) -> Structure<'_> {
    let kind = FileKind::parse(view.data());
    let defect = truncated::defect(kind.ok(), view);
    let format = match kind {
        Ok(FileKind::Elf32 | FileKind::Elf64) => FileFormat::Elf,
        Ok(FileKind::Coff | FileKind::CoffBig) => FileFormat::Coff,
        Ok(FileKind::Pe32 | FileKind::Pe64) => FileFormat::Pe,
        Ok(FileKind::MachO32 | FileKind::MachO64) => FileFormat::MachO,
        Ok(FileKind::MachOFat32 | FileKind::MachOFat64) => {
            return Structure { defect, ..universal(view) };
        }
        _ if bitcode::is_bitcode(view) => FileFormat::Bitcode,
        _ => FileFormat::Raw,
    };
    let mut structure = Structure { defect, ..Structure::new(format) };
    let Ok(file) = File::parse(ObjectBytes(view)) else {
        // The magic of COFF has only two bytes, and other files begin with them by chance.
        if format == FileFormat::Coff && structure.defect.is_none() {
            structure.format = FileFormat::Raw;
        }
        // Containers that are whole files, as tools write them before embedding.
        if format::of_magic(view).is_some() {
            structure.sections.push(Section { name: None, view, compressed: None });
        }
        return structure;
    };
    structure.add(&file, view);
    structure.sort();
    structure
}

/// Structure of bytes that were decoded from host bitcode.
pub fn of_bitcode<'data>(view: View<'data>, decoded: &'data DecodedBitcode) -> Structure<'data> {
    let mut structure = Structure::new(FileFormat::Bitcode);
    for (name, range) in &decoded.sections {
        // Mach-O objects store the segment name in a different field.
        let name = name.split_once(',').map_or(name.as_str(), |(_, section)| section);
        let Ok(view) = view.between(view.field("section", range.start), range.clone()) else { continue };
        structure.sections.push(Section { name: Some(name), view, compressed: None });
        structure.names.push((name, range.clone()));
    }
    structure
}

/// True if a section with this name is for containers. The name contains the segment if the format has segments, as in
/// bitcode.
pub fn is_container_section(name: &str) -> bool {
    let is_known = match name.split_once(',') {
        Some(place) => MACH_O_SECTIONS.contains(&place),
        None => SECTIONS.contains(&name),
    };
    is_known || bundle_section::entry_id(name).is_some()
}

/// Reads the headers of the Mach-O files in a universal file.
fn universal(view: View<'_>) -> Structure<'_> {
    let views = universal::slices(view).into_iter().filter_map(|slice| view.part("slice", slice.extent).ok());
    let slices = without_overlaps(views.collect(), View::range);
    let mut structure = Structure::new(FileFormat::Raw);
    for slice in slices {
        let kind = FileKind::parse(slice.data());
        if matches!(kind, Ok(FileKind::MachO32 | FileKind::MachO64))
            && let Ok(file) = File::parse(ObjectBytes(slice))
        {
            structure.format = FileFormat::MachO;
            structure.add(&file, slice);
        }
    }
    structure.sort();
    structure
}

/// Returns the sections in file order, without sections that start inside another. Only hostile files have such
/// sections. They would make the scanner read the same bytes once per section header.
fn without_overlaps<T>(mut sections: Vec<T>, range: impl Fn(&T) -> Range<u64>) -> Vec<T> {
    sections.sort_by_cached_key(|section| range(section).start);
    let mut end = 0;
    sections.retain(|section| {
        let Range { start, end: own_end } = range(section);
        let is_separate = start >= end;
        end = end.max(own_end);
        is_separate
    });
    sections
}

/// Empty if the name cannot be read.
fn name<'data>(section: &HostSection<'data, '_>) -> &'data str {
    section.name_bytes().ok().and_then(|name| std::str::from_utf8(name).ok()).unwrap_or_default()
}

impl Section<'_> {
    fn range(&self) -> Range<u64> {
        self.view.range()
    }
}

impl<'data> Structure<'data> {
    /// The host files that can be parsed, and their bytes.
    pub fn parsed_hosts(&self) -> impl Iterator<Item = (HostFile<'data>, View<'data>)> {
        self.hosts.iter().filter_map(|&host| Some((HostFile::parse(ObjectBytes(host)).ok()?, host)))
    }

    fn new(format: FileFormat) -> Self {
        Structure {
            format,
            sections: Vec::new(),
            wrappers: Vec::new(),
            images: BTreeMap::new(),
            image_rows: Vec::new(),
            hosts: Vec::new(),
            is_object: false,
            defect: None,
            names: Vec::new(),
        }
    }

    /// Adds the sections, wrappers and image tables of a host file, which is all of `view`.
    fn add(&mut self, file: &HostFile<'data>, view: View<'data>) {
        self.hosts.push(view);
        self.is_object |= file.kind() == ObjectKind::Relocatable;
        let mut wrapper_sections = Vec::new();
        let mut tables = Vec::new();
        let mut modules = None;
        for section in file.sections() {
            // Sections without bytes in the file (.bss, and any section of a split debug file) have no range.
            let Some((offset, size)) = section.file_range() else { continue };
            let Ok(bytes) = view.part("section", Extent { offset, size }) else { continue };
            let name = name(&section);
            if view.charge("section", Resource::Work, text_work(name.len())).is_err() {
                break;
            }
            let has_type = matches!(section.flags(), SectionFlags::Elf { sh_type: offload_binary::SECTION_TYPE, .. });
            if has_type
                || self.has_name(&section, name, &SECTIONS, &MACH_O_SECTIONS)
                || bundle_section::entry_id(name).is_some()
            {
                let compressed = compressed_section(section.flags(), bytes);
                self.sections.push(Section { name: Some(name), view: bytes, compressed });
            }
            self.names.push((name, bytes.range()));
            let range = range_at(offset, size);
            if self.has_name(&section, name, &wrappers::SECTIONS, &wrappers::MACH_O_SECTIONS) {
                wrapper_sections.push((section, range));
            } else if name == image_table::SECTION {
                tables.push((section, range));
            } else if self.has_name(&section, name, &[MODULE_ID_SECTION], &[MACH_O_MODULE_ID_SECTION]) {
                modules = Some(bytes);
            }
        }
        let holds_containers =
            |section: &Section<'_>| section.name.is_some_and(fat_binary_wrapper::is_container_section);
        let is_searched = wrapper_sections.is_empty() && self.sections.iter().any(holds_containers);
        if is_searched {
            wrapper_sections = wrappers::search(file, view);
        }
        if wrapper_sections.is_empty() && tables.is_empty() {
            return;
        }
        let [wrapper_sections, tables] =
            [wrapper_sections, tables].map(|sections| without_overlaps(sections, |(_, range)| range.clone()));
        let pointers = Pointers::read(file, view, wrapper_sections.iter().chain(&tables).map(|(section, _)| section));
        let mut found = Vec::new();
        for (section, range) in wrapper_sections {
            let offset = offset_from(view.start(), section.file_range().map_or(range.start, |(offset, _)| offset));
            let place = SectionRef { name: name(&section).to_owned(), offset };
            found.extend(wrappers::read(place, range, view.start(), &pointers));
        }
        if is_searched {
            found.retain(|wrapper| self.points_to_a_section(wrapper));
        }
        device_links::record(modules, &mut found, self.wrappers.len());
        self.wrappers.append(&mut found);
        for (_, range) in tables {
            for row in image_table::read(range, view.start(), &pointers) {
                if view.charge("image table", Resource::Memory, record_memory(size_of::<ImageRow>(), [])).is_err() {
                    break;
                }
                self.images.extend(row.image.map(|offset| (offset, row.size)));
                self.image_rows.push(row);
            }
        }
    }

    /// Returns whether a structure points to a section for containers, or to a symbol. Other data may begin like a wrapper.
    fn points_to_a_section(&self, wrapper: &wrappers::StoredWrapper<'_>) -> bool {
        match wrapper.target {
            PointerTarget::Offset(offset) => self.sections.iter().any(|section| section.range().contains(&offset)),
            PointerTarget::Symbol(_) => self.is_object,
            PointerTarget::Nothing => false,
        }
    }

    /// Sorts what was added by offset.
    fn sort(&mut self) {
        self.sections = without_overlaps(std::mem::take(&mut self.sections), Section::range);
        // An empty section before another at the same offset holds nothing.
        self.names.retain(|(_, range)| !range.is_empty());
        self.names.sort_by_cached_key(|(_, range)| range.start);
    }

    /// True if a section has one of these names. PE files truncate them.
    fn has_name(&self, section: &HostSection<'data, '_>, name: &str, names: &[&str], mach_o: &[(&str, &str)]) -> bool {
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

    /// Names of all sections.
    pub fn section_names(&self) -> impl Iterator<Item = &'data str> {
        self.names.iter().map(|(name, _)| *name)
    }

    /// Section that holds this byte of the file.
    pub fn section_at(&self, offset: u64) -> Option<SectionRef> {
        let (name, range) = self.named_section(offset)?;
        Some(SectionRef { name: (*name).to_owned(), offset: range.start })
    }

    /// Ranges of the sections whose names match.
    pub fn sections_named(&self, is_match: impl Fn(&str) -> bool) -> impl Iterator<Item = Range<u64>> {
        self.names.iter().filter(move |(name, _)| is_match(name)).map(|(_, range)| range.clone())
    }

    fn named_section(&self, offset: u64) -> Option<&(&'data str, Range<u64>)> {
        let after = self.names.partition_point(|(_, range)| range.start <= offset);
        self.names.get(after.checked_sub(1)?).filter(|(_, range)| range.contains(&offset))
    }

    /// Part of `range` that can hold an image without a container at `offset`: its section, or all of the range if no
    /// section holds it.
    pub fn region<'a>(&self, view: View<'a>, offset: u64, range: &Range<u64>) -> Region<'a> {
        let section = self.named_section(offset).map_or(range.clone(), |(_, section)| section.clone());
        let start = section.start.max(range.start);
        let size = size_of_range(&(start..section.end.min(range.end)));
        let view = view.record("section", Extent { offset: start, size }).unwrap_or(view.from(view.size()));
        Region { view, may_hold_text: !self.hosts.is_empty() }
    }
}
