//! A relocatable host object: its sections, the symbols that other objects see, and its groups.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

use object::read::{File, Object, ObjectComdat, ObjectSection, ObjectSymbol};
use object::{Architecture, BinaryFormat, ObjectKind, SectionFlags, SectionKind, elf};

use super::tile_kernels::{self, TileKernels};
use fatbin_core::base::bytes::{ObjectBytes, Resource, View, record_memory};
use fatbin_core::base::elf_layout::SHF_X86_64_LARGE;
use fatbin_core::base::error::Malformed;

/// A host object.
#[derive(Debug, Clone, Default)]
pub struct HostObject {
    /// Machine; absent for a file that is not an ELF object.
    pub machine: Option<Architecture>,
    /// Sections that are loaded, and sections with device code that is not loaded.
    pub sections: Vec<InputSection>,
    /// Symbols that other objects see, defined or not.
    pub symbols: Vec<GlobalSymbol>,
    /// Section groups. The linker takes the first group of each name.
    pub groups: Vec<Group>,
    /// CUDA's tile kernels that it registers.
    pub tile_kernels: TileKernels,
}

/// A section of a host object.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputSection {
    /// Index in the section header table.
    pub index: usize,
    /// Name.
    pub name: String,
    /// Offset in the object, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
    /// Alignment.
    pub align: u64,
    /// Flags of ELF.
    pub flags: u64,
    /// Section type; only the part that determines its placement.
    pub kind: SectionKind,
}

/// A symbol that other objects see.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct GlobalSymbol {
    /// Name.
    pub name: String,
    /// Place of its definition.
    pub definition: Option<Definition>,
    /// True for a weak symbol.
    pub is_weak: bool,
}

/// Place of a symbol.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Definition {
    /// Index of the section; absent for a common or absolute symbol.
    pub section: Option<usize>,
    /// Offset in the section.
    pub value: u64,
}

/// Group of sections.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group {
    /// Name.
    pub name: String,
    /// Indices of the sections.
    pub sections: Vec<usize>,
}

impl InputSection {
    /// True if a program has the section when it runs.
    pub fn is_loaded(&self) -> bool {
        self.has(elf::SHF_ALLOC.0) && !self.is_excluded()
    }

    /// True if the linker drops the section.
    pub fn is_excluded(&self) -> bool {
        self.has(elf::SHF_EXCLUDE.0)
    }

    /// True if the section may be far from all others.
    pub fn is_large(&self) -> bool {
        self.has(SHF_X86_64_LARGE.0)
    }

    /// True if a flag is set.
    pub fn has(&self, flag: u64) -> bool {
        self.flags & flag != 0
    }
}

impl HostObject {
    /// Reads a file. A file that is not a relocatable ELF object has no sections and no symbols.
    pub fn read(view: View<'_>) -> Result<HostObject, Malformed> {
        let Some(file) = elf_object(view) else { return Ok(HostObject::default()) };
        let mut object = HostObject { machine: Some(file.architecture()), ..HostObject::default() };
        object.tile_kernels = tile_kernels::read(&file, view)?;
        for section in file.sections() {
            let SectionFlags::Elf { sh_flags, .. } = section.flags() else { continue };
            let name = section.name().unwrap_or_default().to_owned();
            charge(view, "section", size_of::<InputSection>(), &name)?;
            let offset = section.file_range().map_or(0, |range| range.0);
            // The flag has another meaning, or none, on other machines.
            let is_x86_64 = object.machine == Some(Architecture::X86_64);
            let flags = if is_x86_64 { sh_flags.0 } else { sh_flags.0 & !SHF_X86_64_LARGE.0 };
            object.sections.push(InputSection {
                index: section.index().0,
                name,
                offset,
                size: section.size(),
                align: section.align(),
                flags,
                kind: section.kind(),
            });
        }
        for symbol in file.symbols().filter(ObjectSymbol::is_global) {
            let name = symbol.name().unwrap_or_default().to_owned();
            charge(view, "symbol", size_of::<GlobalSymbol>(), &name)?;
            let definition =
                Definition { section: symbol.section_index().map(|index| index.0), value: symbol.address() };
            let definition = (!symbol.is_undefined()).then_some(definition);
            object.symbols.push(GlobalSymbol { name, definition, is_weak: symbol.is_weak() });
        }
        for group in file.comdats() {
            let name = group.name().unwrap_or_default().to_owned();
            charge(view, "section group", size_of::<Group>(), &name)?;
            let sections = group.sections().map(|index| index.0).collect();
            object.groups.push(Group { name, sections });
        }
        Ok(object)
    }

    /// Section with an index in the section header table.
    pub fn section(&self, index: usize) -> Option<&InputSection> {
        let at = self.sections.partition_point(|section| section.index < index);
        self.sections.get(at).filter(|section| section.index == index)
    }

    /// Section that contains the byte at this offset of the file.
    pub fn section_at(&self, offset: u64) -> Option<&InputSection> {
        let holds = |it: &&InputSection| offset.checked_sub(it.offset).is_some_and(|distance| distance < it.size);
        self.sections.iter().filter(|section| section.kind != SectionKind::UninitializedData).find(holds)
    }

    /// True if the object refers to a symbol of this name without defining it.
    pub fn needs(&self, name: &str) -> bool {
        self.symbols.iter().any(|symbol| symbol.definition.is_none() && symbol.name == name)
    }
}

/// Parses a relocatable ELF object; `None` for any other file.
pub fn elf_object(view: View<'_>) -> Option<File<'_, ObjectBytes<'_>>> {
    let file = File::parse(ObjectBytes(view)).ok()?;
    (file.format() == BinaryFormat::Elf && file.kind() == ObjectKind::Relocatable).then_some(file)
}

fn charge(view: View<'_>, field: &'static str, size: usize, name: &str) -> Result<(), Malformed> {
    view.charge(field, Resource::Memory, record_memory(size, [name.len()]))
}
