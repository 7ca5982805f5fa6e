//! Device ELF files: sections by name, functions, and unique addresses of functions.
//!
//! In relocatable files and in cubins, every function has a separate section that begins at address 0. Debug
//! information refers to functions through relocations, so any base address works if it is unique per section. The base
//! is the section number, shifted above all possible offsets in a section.

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::elf::{ElfFile, FileHeader, NoteIterator, ProgramHeader, SectionHeader, Sym};
use object::{Endianness, Object, ObjectSection, ObjectSymbol, SectionIndex};

use crate::base::bytes::{Extent, NameMap, ObjectBytes, Resource, View, text_work};
use crate::base::error::{Cause, Malformed};
use crate::format::{has_stored_bytes, is_32_bit_cubin};

/// Width of an ELF file, as the type of its header. Only cubins of CUDA 11.8 and older are 32-bit.
pub trait Width: FileHeader<Endian = Endianness> {}

/// Header of a 64-bit file.
pub type Header64 = FileHeader64<Endianness>;

impl Width for Header64 {}

impl Width for FileHeader32<Endianness> {}

/// Section of an ELF file.
pub type ElfSection<'data, 'file, W = Header64> = object::read::elf::ElfSection<'data, 'file, W, ObjectBytes<'data>>;

/// Symbol of an ELF file.
pub type ElfSymbol<'data, 'file, W = Header64> = object::read::elf::ElfSymbol<'data, 'file, W, ObjectBytes<'data>>;

/// An ELF file whose tables have been read.
#[derive(Debug)]
pub struct Elf<'data, W: Width = Header64> {
    pub view: View<'data>,
    pub file: ElfFile<'data, W, ObjectBytes<'data>>,
    by_name: NameMap<&'data str, SectionIndex>,
    /// True if sections have no addresses and get a base instead.
    is_based: bool,
}

/// A file of either width.
#[derive(Debug)]
pub enum AnyElf<'data> {
    /// A 32-bit cubin.
    Elf32(Elf<'data, FileHeader32<Endianness>>),
    /// A 64-bit file.
    Elf64(Elf<'data>),
}

impl<'data> AnyElf<'data> {
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        if is_32_bit_cubin(view) {
            return Elf::read(view).map(AnyElf::Elf32);
        }
        Elf::read(view).map(AnyElf::Elf64)
    }
}

/// Evaluates an expression with the file in an [`AnyElf`].
macro_rules! with_elf {
    ($any:expr, $elf:ident => $result:expr) => {
        match $any {
            $crate::image::elf::AnyElf::Elf32($elf) => $result,
            $crate::image::elf::AnyElf::Elf64($elf) => $result,
        }
    };
}
pub(super) use with_elf;

/// A function in the symbol table.
#[derive(Debug, Clone, Copy)]
pub struct ElfFunction<'data> {
    pub name: &'data str,
    /// Index in the symbol table.
    pub number: usize,
    pub section: Option<SectionIndex>,
    pub other: u8,
    /// Address, with the base of its section.
    pub entry: u64,
    pub size: u64,
}

/// Shift of a section number above all offsets in a section, which fit into 32 bits like sizes of code.
const BASE_SHIFT: u32 = 32;

/// Type of the symbols of kernels in AMD code objects of version 2: the descriptor, followed by the code.
const STT_AMDGPU_HSA_KERNEL: elf::SymbolType = elf::SymbolType(10);

impl<'data, W: Width> Elf<'data, W> {
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let malformed = |error: object::Error| view.malformed("ELF file", 0, Cause::object_file(error));
        // Any `e_version` is accepted: cubins have the version of the toolkit there.
        let file = ElfFile::<W, _>::parse(ObjectBytes(view)).map_err(malformed)?;
        let mut by_name = NameMap::default();
        for section in file.sections() {
            let name = section.name();
            charge_name(view, name.as_ref().map_or(0, |name| name.len()))?;
            if let Ok(name) = name {
                by_name.entry(name).or_insert(section.index());
            }
        }
        let header = file.elf_header();
        let endian = file.endian();
        let is_based = header.e_type(endian) == elf::ET_REL || header.e_machine(endian) == elf::EM_CUDA;
        Ok(Elf { view, file, by_name, is_based })
    }

    pub fn machine(&self) -> elf::Machine {
        self.file.elf_header().e_machine(self.file.endian())
    }

    /// True if the file must be linked before it can run.
    pub fn is_relocatable(&self) -> bool {
        self.file.elf_header().e_type(self.file.endian()) == elf::ET_REL
    }

    /// True if sections have no addresses and get a base instead.
    pub fn has_section_bases(&self) -> bool {
        self.is_based
    }

    /// Subtracts the base of the section from an address.
    pub fn without_base(&self, address: u64) -> u64 {
        if self.is_based { address & ((1 << BASE_SHIFT) - 1) } else { address }
    }

    pub fn section(&self, name: &str) -> Option<ElfSection<'data, '_, W>> {
        self.file.section_by_index(*self.by_name.get(name)?).ok()
    }

    pub fn size_of(&self, name: &str) -> Option<u64> {
        self.section(name).map(|section| section.size())
    }

    /// Offset and size of the stored bytes of a section; `None` for a section without bytes in the file. `object` does
    /// not know CUDA's types for such sections, and their sizes are sizes in memory.
    pub fn file_range(&self, section: &ElfSection<'_, '_, W>) -> Option<(u64, u64)> {
        let section_type = section.elf_section_header().sh_type(self.file.endian());
        if has_stored_bytes(self.machine(), section_type) { section.file_range() } else { None }
    }

    /// Stored bytes of a section; empty for a section without bytes in the file.
    pub fn bytes(&self, section: &ElfSection<'data, '_, W>) -> Result<View<'data>, Malformed> {
        let (offset, size) = self.file_range(section).unwrap_or_default();
        self.view.part("ELF section offset", Extent { offset, size })
    }

    /// Upper byte of the field `sh_info` of a section.
    pub fn info_byte(&self, section: SectionIndex) -> Option<u8> {
        let header = self.file.elf_section_table().section(section).ok()?;
        Some((header.sh_info(self.file.endian()) >> 24) as u8)
    }

    /// Functions in the order of the symbol table; for a stripped file, of the dynamic symbol table. The list ends
    /// early if the budget is exhausted.
    pub fn functions(&self) -> Vec<ElfFunction<'data>> {
        let of = |symbols: &mut dyn Iterator<Item = ElfSymbol<'data, '_, W>>| -> Vec<_> {
            let charged = |symbol: &ElfSymbol<'data, '_, W>| self.charge_symbol(symbol).is_ok();
            symbols.take_while(charged).filter_map(|symbol| self.function(&symbol)).collect()
        };
        match of(&mut self.file.symbols()) {
            functions if functions.is_empty() => of(&mut self.file.dynamic_symbols()),
            functions => functions,
        }
    }

    /// Charges the name of a symbol. Any number of symbols can share a name of any length.
    pub fn charge_symbol<'a>(&self, symbol: &impl ObjectSymbol<'a>) -> Result<(), Malformed> {
        charge_name(self.view, symbol.name_bytes().map_or(0, <[u8]>::len))
    }

    fn function(&self, symbol: &ElfSymbol<'data, '_, W>) -> Option<ElfFunction<'data>> {
        let own = symbol.elf_symbol();
        let is_code = own.st_type() == elf::STT_FUNC
            || own.st_type() == STT_AMDGPU_HSA_KERNEL && self.machine() == elf::EM_AMDGPU;
        if !is_code || symbol.is_undefined() {
            return None;
        }
        Some(ElfFunction {
            name: symbol.name().ok()?,
            number: symbol.index().0,
            section: symbol.section_index(),
            other: own.st_other().0,
            entry: self.address(symbol),
            size: symbol.size(),
        })
    }

    /// Address of a symbol. Includes the base of its section if the section holds code.
    pub fn address(&self, symbol: &ElfSymbol<'data, '_, W>) -> u64 {
        let base = symbol.section_index().map_or(0, |section| self.base(section));
        base.wrapping_add(symbol.address())
    }

    /// Base of a code section without an address. Data sections have base 0, because references to them are offsets.
    fn base(&self, section: SectionIndex) -> u64 {
        let header = self.file.elf_section_table().section(section);
        let holds_code = header.is_ok_and(|it| it.sh_flags(self.file.endian()).contains(elf::SHF_EXECINSTR));
        if self.is_based && holds_code { (section.0 as u64) << BASE_SHIFT } else { 0 }
    }

    /// All notes of the file: owner, type and description.
    pub fn notes(&self) -> Vec<(&'data [u8], u32, View<'data>)> {
        let endian = self.file.endian();
        let mut notes = Vec::new();
        let mut read = |mut found: NoteIterator<'data, W>| {
            // Notes after an invalid note cannot be found.
            while let Ok(Some(note)) = found.next()
                && self.view.charge("ELF note", Resource::Work, 1).is_ok()
            {
                notes.push((note.name(), note.n_type(endian).0, self.view_of(note.desc())));
            }
        };
        let mut has_sections = false;
        for section in self.file.elf_section_table().iter() {
            if let Ok(Some(found)) = section.notes(endian, self.view.data()) {
                has_sections = true;
                read(found);
            }
        }
        // A file without section headers still has segments. A loader reads only segments.
        if !has_sections {
            for segment in self.file.elf_program_headers() {
                if let Ok(Some(found)) = segment.notes(endian, self.view.data()) {
                    read(found);
                }
            }
        }
        notes
    }

    /// `bytes` must be borrowed from this file.
    fn view_of(&self, bytes: &'data [u8]) -> View<'data> {
        let start = bytes.as_ptr().addr().wrapping_sub(self.view.data().as_ptr().addr());
        self.view
            .part("ELF note", Extent { offset: start as u64, size: bytes.len() as u64 })
            .unwrap_or(self.view.derived(bytes))
    }
}

/// Charges reading a name, which includes comparing and hashing it.
fn charge_name(view: View<'_>, length: usize) -> Result<(), Malformed> {
    view.charge("ELF file", Resource::Work, text_work(length).saturating_mul(2))
}
