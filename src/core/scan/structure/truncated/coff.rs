//! COFF objects: headers, sections, relocations and the symbol table. PE files contain the same.

use object::LittleEndian as LE;
use object::pe::{self, ImageRelocation, ImageSectionHeader};
use object::read::coff::CoffHeader;

use super::{require, require_table, table_size};
use crate::base::bytes::View;
use crate::base::error::Malformed;
use crate::base::range::offset_from;

/// Sizes of a section header and of the size of the string table, in bytes (PE format, COFF).
const HEADER_SIZE: u64 = size_of::<ImageSectionHeader>() as u64;
const STRINGS_SIZE: u64 = 4;

/// Checks an object. The magic has only two bytes, so a file is not checked if its section headers are not plausible.
pub fn check<Coff: CoffHeader>(view: View<'_>) -> Result<(), Malformed> {
    let mut sections_at = 0;
    match Coff::parse(view.data(), &mut sections_at) {
        Ok(header) if is_object(view, header, sections_at) => check_parts(view, header, sections_at),
        _ => Ok(()),
    }
}

/// Only the section headers that are inside the file.
fn available_sections<'data>(view: View<'data>, count: u32, at: u64) -> &'data [ImageSectionHeader] {
    let available = view.from(at);
    let count = u64::from(count).min(available.size() / HEADER_SIZE) as usize;
    object::slice_from_bytes(available.data(), count).map_or(&[], |(sections, _)| sections)
}

fn is_object<Coff: CoffHeader>(view: View<'_>, header: &Coff, sections_at: u64) -> bool {
    let headers_size = table_size::<ImageSectionHeader>(header.number_of_sections().into());
    let headers_end = offset_from(sections_at, headers_size);
    let is_after_headers = |offset: u32| offset == 0 || u64::from(offset) >= headers_end;
    let is_section = |section: &ImageSectionHeader| {
        let name = section.name.split(|&byte| byte == 0).next().unwrap_or_default();
        let offsets = [section.pointer_to_raw_data.get(LE), section.pointer_to_relocations.get(LE)];
        !name.is_empty() && name.iter().all(u8::is_ascii_graphic) && offsets.into_iter().all(is_after_headers)
    };
    let sections = available_sections(view, header.number_of_sections(), sections_at);
    is_after_headers(header.pointer_to_symbol_table()) && !sections.is_empty() && sections.iter().all(is_section)
}

/// Checks the section headers at `sections_at`, and everything that they and the file header refer to.
pub fn check_parts<Coff: CoffHeader>(view: View<'_>, header: &Coff, sections_at: u64) -> Result<(), Malformed> {
    let count = header.number_of_sections();
    require_table::<ImageSectionHeader>(view, "section headers", sections_at, count.into())?;
    for section in available_sections(view, count, sections_at) {
        let flags = section.characteristics.get(LE);
        let offset = section.pointer_to_raw_data.get(LE);
        if offset != 0 && !flags.contains(pe::IMAGE_SCN_CNT_UNINITIALIZED_DATA) {
            require(view, "section", offset.into(), section.size_of_raw_data.get(LE).into())?;
        }
        let relocations = section.pointer_to_relocations.get(LE);
        let number = section.number_of_relocations.get(LE);
        if relocations != 0 {
            require_table::<ImageRelocation>(view, "relocations", relocations.into(), number.into())?;
        }
    }
    let offset = header.pointer_to_symbol_table();
    let count = header.number_of_symbols();
    if offset == 0 || count == 0 {
        return Ok(());
    }
    require_table::<Coff::SymbolBytes>(view, "symbol table", offset.into(), count.into())?;
    let strings_at = offset_from(offset.into(), table_size::<Coff::SymbolBytes>(count.into()));
    require(view, "string table", strings_at, STRINGS_SIZE)?;
    require(view, "string table", strings_at, view.u32("string table", strings_at)?.into())
}
