//! Sections with debug information, and the ones that remain.

use object::LittleEndian as LE;
use object::elf::{self, SectionHeader64, Sym64};
use object::read::elf::{SectionHeader, Sym};

use super::DeviceElf;
use crate::base::bytes::{Resource, text_work};
use crate::base::error::{Cause, Malformed};
use crate::format::{MERCURY_TWIN, is_debug_section};

/// Prefixes of the names of sections with relocations.
const RELOCATIONS: [&[u8]; 2] = [b".rela", b".rel"];

/// Treatment of a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Removal {
    /// It stays.
    Kept,
    /// It loses its bytes.
    Emptied,
    /// Its header becomes inactive, so that other sections keep their indices.
    Inactive,
    /// It is not in the section table any more.
    Dropped,
}

/// Treatment of each section of a file.
#[derive(Debug)]
pub struct Removed {
    removals: Vec<Removal>,
    /// Index of each section that stays in the table, after the change.
    new_indices: Vec<Option<u32>>,
}

impl Removed {
    /// Selects the debug sections of a file; nothing unless `debug` is set.
    pub fn of(elf: &DeviceElf<'_>, debug: bool) -> Result<Self, Malformed> {
        let malformed = |error| elf.view.malformed("ELF section name", 0, Cause::object_file(error));
        check_name_table(elf)?;
        let names = object::read::elf::FileHeader::section_strings(elf.header, LE, elf.view.data(), elf.sections);
        let names = names.map_err(malformed)?;
        let mut removals = Vec::new();
        for section in elf.sections {
            let name = section.name(LE, names).map_err(malformed)?;
            elf.view.charge("ELF section name", Resource::Work, text_work(name.len()))?;
            let is_loaded = section.sh_flags(LE).contains(elf::SHF_ALLOC);
            removals.push(match name.strip_prefix(MERCURY_TWIN) {
                _ if !debug || is_loaded || section.sh_size(LE) == 0 => Removal::Kept,
                // nvlink 13.5 does not survive an inactive section that a symbol of these sections refers to.
                Some(twin) if is_debug(twin) => Removal::Emptied,
                None if is_debug(name) => Removal::Inactive,
                _ => Removal::Kept,
            });
        }
        keep_linked(elf, &mut removals)?;
        let mut removed = Removed { removals, new_indices: Vec::new() };
        if removed.can_renumber(elf)? {
            for removal in &mut removed.removals {
                if *removal == Removal::Inactive {
                    *removal = Removal::Dropped;
                }
            }
        }
        let mut indices = 0_u32..;
        let index = |removal: &Removal| if *removal == Removal::Dropped { None } else { indices.next() };
        removed.new_indices = removed.removals.iter().map(index).collect();
        Ok(removed)
    }

    /// Returns whether the file has no debug sections.
    pub fn is_empty(&self) -> bool {
        self.removals.iter().all(|removal| *removal == Removal::Kept)
    }

    /// Treatment of each section, in the order of the table.
    pub fn removals(&self) -> impl Iterator<Item = Removal> {
        self.removals.iter().copied()
    }

    /// Number of sections after the change.
    pub fn count(&self) -> u64 {
        self.new_indices.iter().flatten().count() as u64
    }

    /// Returns the index of a section after the change; `None` for a dropped section and for special indices.
    pub fn new_index(&self, index: u32) -> Option<u32> {
        self.new_indices.get(index as usize).copied().flatten()
    }

    /// Returns the header of a section with the new indices of the sections that it refers to.
    pub fn renumbered(&self, section: &SectionHeader64<LE>) -> SectionHeader64<LE> {
        let mut new = *section;
        if let Some(index) = self.new_index(section.sh_link(LE)) {
            new.sh_link.set(LE, index);
        }
        if has_section_in_info(section)
            && let Some(index) = self.new_index(section.sh_info(LE))
        {
            new.sh_info.set(LE, index);
        }
        new
    }

    /// Returns whether sections can leave the table. The file must be linked, only standard fields of its format may
    /// refer to sections by index, and all symbols must be in sections before the first debug section. Linkers place
    /// debug sections after everything that is loaded.
    fn can_renumber(&self, elf: &DeviceElf<'_>) -> Result<bool, Malformed> {
        let is_linked = elf.header.e_type.get(LE) == elf::ET_DYN || elf.header.e_type.get(LE) == elf::ET_EXEC;
        if elf.header.e_machine.get(LE) != elf::EM_AMDGPU || !is_linked {
            return Ok(false);
        }
        let Some(first) = self.removals.iter().position(|removal| *removal != Removal::Kept) else { return Ok(false) };
        if elf.sections.len() >= usize::from(elf::SHN_LORESERVE) {
            return Ok(false);
        }
        for (section, removal) in elf.sections.iter().zip(self.removals()) {
            let refers_to_removed = |index: u32| {
                removal == Removal::Kept
                    && self.removals.get(index as usize).is_some_and(|removal| *removal != Removal::Kept)
            };
            let has_group = section.sh_type(LE) == elf::SHT_GROUP;
            let info = if has_section_in_info(section) { section.sh_info(LE) } else { 0 };
            if has_group || refers_to_removed(section.sh_link(LE)) || refers_to_removed(info) {
                return Ok(false);
            }
            if [elf::SHT_SYMTAB, elf::SHT_DYNSYM].contains(&section.sh_type(LE))
                && !symbols_precede(elf, section, first)?
            {
                return Ok(false);
            }
        }
        Ok(true)
    }
}

/// Checks that the section with the section names has bytes, which stay and move with its header. llvm-strip 22
/// requires this type, too.
fn check_name_table(elf: &DeviceElf<'_>) -> Result<(), Malformed> {
    let index = name_table(elf)?;
    match elf.sections.get(index as usize).map(|section| section.sh_type(LE)) {
        Some(found) if index > 0 && found != elf::SHT_STRTAB => {
            let value = found.0.into();
            let cause = Cause::Unexpected { value, expected: "SHT_STRTAB (3)" };
            Err(elf.view.malformed("type of the ELF section with the section names", elf.header.e_shoff.get(LE), cause))
        }
        _ => Ok(()),
    }
}

/// Returns the index of the section with the section names; 0 for none.
fn name_table(elf: &DeviceElf<'_>) -> Result<u32, Malformed> {
    let malformed = |error| elf.view.malformed("ELF header", 0, Cause::object_file(error));
    object::read::elf::FileHeader::shstrndx(elf.header, LE, elf.view.data()).map_err(malformed)
}

/// Keeps the section names, and the sections that others link to, regardless of their names.
fn keep_linked(elf: &DeviceElf<'_>, removals: &mut [Removal]) -> Result<(), Malformed> {
    let names = name_table(elf)?;
    let kept = elf.sections.iter().zip(removals.iter()).filter(|(_, removal)| **removal == Removal::Kept);
    let linked: Vec<u32> = kept.map(|(section, _)| section.sh_link(LE)).chain([names]).collect();
    for index in linked {
        if let Some(removal) = removals.get_mut(index as usize) {
            *removal = Removal::Kept;
        }
    }
    Ok(())
}

/// True for sections with debug information, and for their relocations.
fn is_debug(name: &[u8]) -> bool {
    let name = RELOCATIONS.iter().find_map(|prefix| name.strip_prefix(*prefix)).unwrap_or(name);
    is_debug_section(name)
}

fn has_section_in_info(section: &SectionHeader64<LE>) -> bool {
    [elf::SHT_REL, elf::SHT_RELA].contains(&section.sh_type(LE)) || section.sh_flags(LE).contains(elf::SHF_INFO_LINK)
}

/// Returns whether all symbols of a table are in sections before this one, or in none.
fn symbols_precede(elf: &DeviceElf<'_>, section: &SectionHeader64<LE>, first: usize) -> Result<bool, Malformed> {
    let malformed = |error| elf.view.malformed("ELF symbol table", section.sh_offset(LE), Cause::object_file(error));
    let symbols: &[Sym64<LE>] = section.data_as_array(LE, elf.view.data()).map_err(malformed)?;
    elf.view.charge("ELF symbol table", Resource::Work, symbols.len() as u64)?;
    Ok(symbols.iter().all(|symbol| {
        let index = symbol.st_shndx(LE);
        usize::from(index.0) < first || (index.0 >= elf::SHN_LORESERVE && index != elf::SHN_XINDEX)
    }))
}
