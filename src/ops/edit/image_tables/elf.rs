//! Pointers of linked ELF files: stored, or the addends of relocations.

use std::ops::Range;

use object::elf::{DT_REL, DT_RELA, DT_RELASZ, DT_RELSZ, ET_REL, PF_X, PT_DYNAMIC, PT_LOAD};
use object::read::elf::{Dyn, FileHeader, ProgramHeader, Rel};
use object::{Endianness, Pod};

use super::super::Result;
use super::Host;
use super::loaded::{Fixups, LoadedFile, Pointer, outside};
use fatbin_core::base::bytes::{Extent, View, size_of_range};
use fatbin_core::base::elf_layout::ELF64;
use fatbin_core::base::range::range_at;

/// Reads the headers.
pub fn read<'data, Header>(view: View<'data>, containers: &[Range<u64>]) -> Result<Host<'data>>
where
    Header: FileHeader<Endian = Endianness> + Pod,
{
    let Ok(header) = Header::parse(view.data()) else { return Ok(Host::Unknown) };
    let Ok(endian) = header.endian() else { return Ok(Host::Unknown) };
    if header.e_type(endian) == ET_REL {
        return Ok(Host::Object);
    }
    let programs = header.program_headers(endian, view.data()).unwrap_or_default();
    let loaded: Vec<_> = programs.iter().filter(|program| program.p_type(endian) == PT_LOAD).collect();
    let range = |program: &Header::ProgramHeader| {
        let (offset, size) = program.file_range(endian);
        range_at(offset, size)
    };
    let segments = loaded.iter().map(|program| (range(program), program.p_vaddr(endian).into())).collect();
    let pointer = if header.is_class_64() { 8 } else { 4 };
    let fixups = Fixups::Listed(Vec::new());
    let mut file = LoadedFile { view, endian, pointer, segments, data: Vec::new(), fixups };
    let mut others = containers.to_vec();
    for program in programs.iter().filter(|program| program.p_type(endian) == PT_DYNAMIC) {
        let entries = program.dynamic(endian, view.data()).ok().flatten().unwrap_or_default();
        let entry =
            |tag| entries.iter().find(|entry| entry.d_tag(endian) == tag).map(|entry| entry.d_val(endian).into());
        let table = |start, size| {
            let start = entry(start).and_then(|at| file.offset(at))?;
            Some(range_at(start, entry(size)?))
        };
        match (table(DT_RELA, DT_RELASZ), table(DT_REL, DT_RELSZ)) {
            (Some(table), _) if header.is_class_64() => {
                let size = size_of_range(&table);
                let table = range_at(table.start, size.wrapping_sub(size % ELF64.rela_size));
                // The addends of relocations are not pointers.
                others.push(table.clone());
                file.fixups = Fixups::Relocations(table);
            }
            (None, Some(table)) if !header.is_class_64() => {
                file.fixups = Fixups::Listed(moved::<Header>(&file, &table)?);
                others.push(table);
            }
            (None, None) => {}
            _ => return Ok(Host::Unknown),
        }
    }
    others.sort_by_cached_key(|range| range.start);
    let data = loaded.iter().filter(|program| program.p_flags(endian).0 & PF_X.0 == 0);
    file.data = outside(data.map(|program| range(program)), &others);
    Ok(Host::Loaded(file))
}

/// Returns the pointers that relocations without addends move.
fn moved<Header>(file: &LoadedFile<'_>, table: &Range<u64>) -> Result<Vec<(u64, Pointer)>>
where
    Header: FileHeader<Endian = Endianness>,
{
    let table = file.view.part("relocations", Extent { offset: table.start, size: size_of_range(table) })?;
    let relocations: &[Header::Rel] = object::slice_from_all_bytes(table.data()).unwrap_or_default();
    let mut listed = Vec::new();
    for relocation in relocations {
        let address = relocation.r_offset(file.endian).into();
        let kind = relocation.r_info(file.endian).into();
        listed.extend(file.moved(address, kind)?);
    }
    Ok(listed)
}
