//! Debug information removed from device images: DWARF, line tables, PTX sources and the paths in them. On request,
//! symbols that nothing reads are removed, too.
//!
//! Nothing that a runtime reads changes. The bytes of segments and of all other sections stay, and so do addresses,
//! symbols and their indices. In cubins, the indices of sections stay too: NVIDIA's sections refer to sections and
//! symbols by index in ways that are not documented. The header of a removed section remains there, and is inactive or
//! empty. Only offsets in the file change.
//!
//! Sources: System V ABI, chapters 4 and 5; sections of cubins of ptxas 11.8 to 13.5 (`-g`, `-lineinfo`); sections that
//! llvm-strip 22 removes with `--strip-debug`.

mod layout;
mod sections;
mod symbols;

#[cfg(test)]
mod tests;

use object::LittleEndian as LE;
use object::elf::{self, FileHeader64, ProgramHeader64, SectionHeader64};
use object::endian::{U32, U64};
use object::pod::bytes_of;
use object::read::elf::FileHeader;

use crate::base::bytes::{Resource, View};
use crate::base::elf_layout::LITTLE_ENDIAN_64;
use crate::base::error::{Cause, Malformed};

use layout::Layout;
use sections::{Removal, Removed};

/// An ELF file for a device with valid tables.
#[derive(Clone, Copy)]
struct DeviceElf<'data> {
    view: View<'data>,
    header: &'data FileHeader64<LE>,
    segments: &'data [ProgramHeader64<LE>],
    sections: &'data [SectionHeader64<LE>],
}

/// What is removed from device images.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Stripped {
    /// Debug information.
    pub debug: bool,
    /// Symbols that neither a loader nor a linker reads.
    pub symbols: bool,
}

/// Returns a cubin or an AMD code object without these parts; `None` if it has none of them, and for other files.
pub fn without(view: View<'_>, parts: Stripped) -> Result<Option<Vec<u8>>, Malformed> {
    let Some(elf) = DeviceElf::read(view)? else { return Ok(None) };
    let symbols = if parts.symbols { symbols::without_resources(&elf)? } else { None };
    match &symbols {
        Some(bytes) => match DeviceElf::read(view.derived(bytes))? {
            Some(elf) => elf.without_parts(parts.debug, true),
            None => Ok(None),
        },
        None => elf.without_parts(parts.debug, false),
    }
}

impl<'data> DeviceElf<'data> {
    /// Reads the tables; `None` where the file is not for a GPU.
    fn read(view: View<'data>) -> Result<Option<Self>, Malformed> {
        let malformed = |error: object::Error| view.malformed("ELF header", 0, Cause::object_file(error));
        if !view.starts_with(LITTLE_ENDIAN_64) {
            return Ok(None);
        }
        let header = FileHeader64::<LE>::parse(view.data()).map_err(malformed)?;
        if ![elf::EM_AMDGPU, elf::EM_CUDA].contains(&header.e_machine(LE)) {
            return Ok(None);
        }
        let segments = header.program_headers(LE, view.data()).map_err(malformed)?;
        let sections = header.section_headers(LE, view.data()).map_err(malformed)?;
        let entries: usize = [segments.len(), sections.len()].iter().sum();
        view.charge("ELF section header", Resource::Work, entries as u64)?;
        Ok(Some(DeviceElf { view, header, segments, sections }))
    }

    /// Removes debug sections, and the bytes that are in no section if the tables of symbols got `smaller`.
    fn without_parts(&self, debug: bool, smaller: bool) -> Result<Option<Vec<u8>>, Malformed> {
        let removed = Removed::of(self, debug)?;
        if removed.is_empty() && !smaller { Ok(None) } else { self.without(&removed).map(Some) }
    }

    fn without(&self, removed: &Removed) -> Result<Vec<u8>, Malformed> {
        self.view.charge("stripped ELF file", Resource::Memory, self.view.size())?;
        let layout = Layout::of(self, removed)?;
        let mut bytes = layout.copy(self.view)?;
        let header = self.header_for(removed, &layout);
        set(&mut bytes, 0, bytes_of(&header));
        if !self.segments.is_empty() {
            let segments = self.segments.iter().map(|segment| layout.segment(segment));
            let segments: Vec<u8> = segments.flat_map(|segment| bytes_of(&segment).to_vec()).collect();
            set(&mut bytes, header.e_phoff.get(LE), &segments);
        }
        let sections = self.sections.iter().zip(removed.removals()).filter_map(|(section, removal)| {
            Some(match removal {
                Removal::Kept => layout.section(&removed.renumbered(section)),
                Removal::Emptied => {
                    let mut section = layout.section(section);
                    section.sh_size.set(LE, 0);
                    section
                }
                Removal::Inactive => inactive(),
                Removal::Dropped => return None,
            })
        });
        let sections: Vec<u8> = sections.flat_map(|section| bytes_of(&section).to_vec()).collect();
        set(&mut bytes, header.e_shoff.get(LE), &sections);
        Ok(bytes)
    }

    fn header_for(&self, removed: &Removed, layout: &Layout) -> FileHeader64<LE> {
        let mut header = *self.header;
        header.e_phoff.set(LE, layout.new_offset(header.e_phoff.get(LE)));
        header.e_shoff.set(LE, layout.table());
        // Numbers that do not fit into the header are in section 0; such files keep all sections.
        if header.e_shnum.get(LE) > 0 {
            header.e_shnum.set(LE, removed.count() as u16);
        }
        if let Some(names) = removed.new_index(header.e_shstrndx.get(LE).0.into()) {
            header.e_shstrndx.set(LE, elf::SymbolSection(names as u16));
        }
        header
    }
}

/// Returns the header of an inactive section. Linkers would copy an empty one of another type.
fn inactive() -> SectionHeader64<LE> {
    SectionHeader64 {
        sh_name: U32::default(),
        sh_type: U32::new(LE, elf::SHT_NULL),
        sh_flags: U64::default(),
        sh_addr: U64::default(),
        sh_offset: U64::default(),
        sh_size: U64::default(),
        sh_link: U32::default(),
        sh_info: U32::default(),
        sh_addralign: U64::default(),
        sh_entsize: U64::default(),
    }
}

/// Writes bytes at an offset where the layout has as many.
fn set(bytes: &mut [u8], at: u64, new: &[u8]) {
    let to = bytes.get_mut(at as usize..).and_then(|rest| rest.get_mut(..new.len()));
    to.expect("a part of the layout").copy_from_slice(new);
}
