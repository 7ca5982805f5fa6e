//! Offsets and sizes of ELF's structures, from their declarations in the crate `object`, and values that it lacks.
//!
//! Readers of one width use the structures of `object`. The offsets are for errors, for patches, and for code that
//! treats both widths alike.

use std::mem::offset_of;

use object::LittleEndian as Order;
use object::elf::{
    ELFDATA2MSB, FileHeader32, FileHeader64, Ident, ProgramHeader32, ProgramHeader64, Rela32, Rela64, SectionFlags,
    SectionHeader32, SectionHeader64, Sym32, Sym64,
};

/// First bytes of a 64-bit file in little-endian order.
pub const LITTLE_ENDIAN_64: &[u8] = b"\x7fELF\x02\x01";

/// First bytes of a 32-bit file in little-endian order.
pub const LITTLE_ENDIAN_32: &[u8] = b"\x7fELF\x01\x01";

/// Offsets in the identification, which is the same in both widths.
pub const EI_CLASS: u64 = offset_of!(Ident, class) as u64;
pub const EI_DATA: u64 = offset_of!(Ident, data) as u64;
pub const EI_OSABI: u64 = offset_of!(Ident, os_abi) as u64;
pub const EI_ABIVERSION: u64 = offset_of!(Ident, abi_version) as u64;
pub const EI_PAD: u64 = offset_of!(Ident, padding) as u64;

/// Flag of sections that may be far from all others (x86-64 psABI, table 4.3).
pub const SHF_X86_64_LARGE: SectionFlags = SectionFlags(0x1000_0000);

/// True if the identification states big-endian order.
pub fn is_big_endian(file: &[u8]) -> bool {
    file.get(EI_DATA as usize) == Some(&ELFDATA2MSB.0)
}

/// Offsets of fields and sizes of structures, in bytes, in one of the widths.
#[derive(Debug)]
pub struct ElfLayout {
    /// Size of an address, an offset or a size.
    pub word: u64,
    pub header_size: u64,
    pub e_type: u64,
    pub e_machine: u64,
    pub e_version: u64,
    pub e_phoff: u64,
    pub e_shoff: u64,
    pub e_flags: u64,
    pub e_ehsize: u64,
    pub e_phentsize: u64,
    pub e_phnum: u64,
    pub e_shentsize: u64,
    pub e_shnum: u64,
    pub e_shstrndx: u64,
    pub segment_header_size: u64,
    pub p_offset: u64,
    pub section_header_size: u64,
    pub sh_name: u64,
    pub sh_type: u64,
    pub sh_flags: u64,
    pub sh_offset: u64,
    pub sh_size: u64,
    pub sh_link: u64,
    pub sh_addralign: u64,
    pub symbol_size: u64,
    pub st_size: u64,
    pub st_shndx: u64,
    pub rela_size: u64,
    pub r_addend: u64,
}

macro_rules! layout {
    ($word:ty, $file:ident, $segment:ident, $section:ident, $symbol:ident, $relocation:ident) => {
        ElfLayout {
            word: size_of::<$word>() as u64,
            header_size: size_of::<$file<Order>>() as u64,
            e_type: offset_of!($file<Order>, e_type) as u64,
            e_machine: offset_of!($file<Order>, e_machine) as u64,
            e_version: offset_of!($file<Order>, e_version) as u64,
            e_phoff: offset_of!($file<Order>, e_phoff) as u64,
            e_shoff: offset_of!($file<Order>, e_shoff) as u64,
            e_flags: offset_of!($file<Order>, e_flags) as u64,
            e_ehsize: offset_of!($file<Order>, e_ehsize) as u64,
            e_phentsize: offset_of!($file<Order>, e_phentsize) as u64,
            e_phnum: offset_of!($file<Order>, e_phnum) as u64,
            e_shentsize: offset_of!($file<Order>, e_shentsize) as u64,
            e_shnum: offset_of!($file<Order>, e_shnum) as u64,
            e_shstrndx: offset_of!($file<Order>, e_shstrndx) as u64,
            segment_header_size: size_of::<$segment<Order>>() as u64,
            p_offset: offset_of!($segment<Order>, p_offset) as u64,
            section_header_size: size_of::<$section<Order>>() as u64,
            sh_name: offset_of!($section<Order>, sh_name) as u64,
            sh_type: offset_of!($section<Order>, sh_type) as u64,
            sh_flags: offset_of!($section<Order>, sh_flags) as u64,
            sh_offset: offset_of!($section<Order>, sh_offset) as u64,
            sh_size: offset_of!($section<Order>, sh_size) as u64,
            sh_link: offset_of!($section<Order>, sh_link) as u64,
            sh_addralign: offset_of!($section<Order>, sh_addralign) as u64,
            symbol_size: size_of::<$symbol<Order>>() as u64,
            st_size: offset_of!($symbol<Order>, st_size) as u64,
            st_shndx: offset_of!($symbol<Order>, st_shndx) as u64,
            rela_size: size_of::<$relocation<Order>>() as u64,
            r_addend: offset_of!($relocation<Order>, r_addend) as u64,
        }
    };
}

pub const ELF32: ElfLayout = layout!(u32, FileHeader32, ProgramHeader32, SectionHeader32, Sym32, Rela32);
pub const ELF64: ElfLayout = layout!(u64, FileHeader64, ProgramHeader64, SectionHeader64, Sym64, Rela64);
