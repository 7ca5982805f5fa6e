//! ELF files: headers, sections and segments.

use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Pod, elf};

use super::{require, require_table};
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::format;

/// Checks a file that is too short to state its class.
pub fn check_magic(view: View<'_>) -> Result<(), Malformed> {
    if view.starts_with(&elf::ELFMAG) { require(view, "ELF header", 0, size_of::<elf::Ident>() as u64) } else { Ok(()) }
}

/// Checks the tables, and the bytes of sections and segments.
pub fn check<Header: FileHeader<Endian = Endianness> + Pod>(view: View<'_>) -> Result<(), Malformed> {
    require(view, "ELF header", 0, size_of::<Header>() as u64)?;
    let Ok(header) = Header::parse(view.data()) else { return Ok(()) };
    let Ok(endian) = header.endian() else { return Ok(()) };
    let data = view.data();
    let sections_at: u64 = header.e_shoff(endian).into();
    let segments_at: u64 = header.e_phoff(endian).into();
    if sections_at != 0 {
        // A number that is too large for the header is in the first section header.
        let count = header.e_shnum(endian).max(1);
        require_table::<Header::SectionHeader>(view, "section headers", sections_at, count.into())?;
        let count = header.shnum(endian, data).unwrap_or_default();
        require_table::<Header::SectionHeader>(view, "section headers", sections_at, count.into())?;
    }
    if segments_at != 0 {
        let count = header.phnum(endian, data).unwrap_or_default();
        require_table::<Header::ProgramHeader>(view, "program headers", segments_at, count.into())?;
    }
    let sections = header.section_headers(endian, data).unwrap_or_default();
    for section in sections {
        if format::has_stored_bytes(header.e_machine(endian), section.sh_type(endian)) {
            require(view, "ELF section", section.sh_offset(endian).into(), section.sh_size(endian).into())?;
        }
    }
    if is_split_debug::<Header>(sections, endian) {
        return Ok(());
    }
    for segment in header.program_headers(endian, data).unwrap_or_default() {
        if segment.p_type(endian) != elf::PT_NULL {
            require(view, "ELF segment", segment.p_offset(endian).into(), segment.p_filesz(endian).into())?;
        }
    }
    Ok(())
}

/// Returns whether a file holds only debug information.
pub fn has_split_debug_sections<Header: FileHeader<Endian = Endianness> + Pod>(
    header: &Header,
    endian: Endianness,
    view: View<'_>,
) -> bool {
    is_split_debug::<Header>(header.section_headers(endian, view.data()).unwrap_or_default(), endian)
}

/// True if the sections are typical of a file that holds only debug information. `eu-strip -f` copies the program
/// headers of the library, but its segments are not in this file. Among the sections in memory, it keeps only notes.
fn is_split_debug<Header: FileHeader<Endian = Endianness>>(
    sections: &[Header::SectionHeader],
    endian: Endianness,
) -> bool {
    let is_in_memory = |section: &&Header::SectionHeader| section.sh_flags(endian).contains(elf::SHF_ALLOC);
    let mut types = sections.iter().filter(is_in_memory).map(|section| section.sh_type(endian)).peekable();
    types.peek().is_some() && types.all(|section_type| [elf::SHT_NOBITS, elf::SHT_NOTE].contains(&section_type))
}
