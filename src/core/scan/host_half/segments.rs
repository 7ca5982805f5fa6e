//! Segments of a host file that the loader does not map as the linker intended, although all of the file can be read.
//! Tools that move or enlarge sections leave them: patchelf, strip after patchelf, and objcopy.

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::FileKind;
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};
use object::{Endianness, Pod};

use crate::base::bytes::{Extent, Resource, View, text_work};
use crate::base::error::{Cause, Malformed};
use crate::base::range::range_at;
use crate::format;
use crate::scan::structure::truncated;

/// Returns the defects of the segments of a host file.
pub fn defects(host: View<'_>) -> Vec<Malformed> {
    match FileKind::parse(host.data()) {
        Ok(FileKind::Elf32) => elf_defects::<FileHeader32<Endianness>>(host),
        Ok(FileKind::Elf64) => elf_defects::<FileHeader64<Endianness>>(host),
        _ => Vec::new(),
    }
}

/// A loaded segment.
struct Segment {
    /// Number in the program headers.
    number: usize,
    offset: u64,
    address: u64,
    /// Sizes in memory and in the file.
    size: u64,
    file_size: u64,
    alignment: u64,
}

fn elf_defects<Header: FileHeader<Endian = Endianness> + Pod>(host: View<'_>) -> Vec<Malformed> {
    let Ok(header) = Header::parse(host.data()) else { return Vec::new() };
    let Ok(endian) = header.endian() else { return Vec::new() };
    if format::is_device_machine(header.e_machine(endian)) || truncated::has_split_debug_sections(header, endian, host)
    {
        return Vec::new();
    }
    let segments = header.program_headers(endian, host.data()).unwrap_or_default();
    let is_program = header.e_type(endian) == elf::ET_EXEC
        || segments.iter().any(|segment| segment.p_type(endian) == elf::PT_INTERP);
    let loaded: Vec<Segment> = segments
        .iter()
        .enumerate()
        .filter(|(_, segment)| segment.p_type(endian) == elf::PT_LOAD)
        .map(|(number, segment)| Segment {
            number,
            offset: segment.p_offset(endian).into(),
            address: segment.p_vaddr(endian).into(),
            size: segment.p_memsz(endian).into(),
            file_size: segment.p_filesz(endian).into(),
            alignment: segment.p_align(endian).into(),
        })
        // Linux maps no empty segment of a program; the loader checks all of a library. patchelf leaves them.
        .filter(|segment| segment.size > 0 || !is_program)
        .collect();
    let mut defects: Vec<Malformed> = loaded.iter().filter_map(|segment| misaligned(segment, host)).collect();
    defects.extend(loaded.windows(2).filter_map(|pair| overlap(pair, host)));
    if let (false, Ok(sections)) = (loaded.is_empty(), header.sections(endian, host.data())) {
        for section in sections.iter() {
            let name = sections.section_name(endian, section).unwrap_or_default();
            defects.extend(not_zeroed::<Header>(section, name, endian, &loaded, host));
        }
    }
    defects
}

/// Returns the defect of a segment whose address and offset differ modulo its alignment, so that no page of the file
/// fits the address. Source: the ELF specification, program header, `p_align`; glibc, elf/dl-load.c.
fn misaligned(segment: &Segment, host: View<'_>) -> Option<Malformed> {
    let Segment { number, offset, address, alignment, .. } = *segment;
    // Loaders accept other alignments.
    if !alignment.is_power_of_two() || offset.abs_diff(address) & alignment.wrapping_sub(1) == 0 {
        return None;
    }
    let problem = format!(
        "segment {number}: address {address:#x} and offset {offset:#x} are not page-aligned: \
         they differ modulo the alignment {alignment:#x}"
    );
    Some(host.malformed("ELF load segment", offset, Cause::Described(problem)))
}

/// Returns the defect of a segment that begins before the end of the one before it. One of them replaces a part of the
/// other, or the loader refuses the file. Source: the ELF specification, `PT_LOAD`: sorted by address; measured with
/// glibc 2.36.
fn overlap(pair: &[Segment], host: View<'_>) -> Option<Malformed> {
    let [before, after] = pair else { return None };
    let end = range_at(before.address, before.size).end;
    if after.address >= end {
        return None;
    }
    let problem = format!(
        "segment {} at address {:#x} overlaps segment {}, which ends at {end:#x}",
        after.number, after.address, before.number
    );
    Some(host.malformed("ELF load segment", after.offset, Cause::Described(problem)))
}

/// Padding that lld adds after relocated data. Nothing uses it.
const PADDING: &[u8] = b".relro_padding";

/// Returns the defect of a section for zeroed memory that no segment maps, or that a segment maps from other bytes of
/// the file. Code that uses it ends the program, or finds other values than zero: patchelf moves the start of `.bss`
/// into the headers, and `strip` keeps it there.
fn not_zeroed<Header: FileHeader<Endian = Endianness>>(
    section: &Header::SectionHeader,
    name: &[u8],
    endian: Endianness,
    loaded: &[Segment],
    host: View<'_>,
) -> Option<Malformed> {
    let flags = section.sh_flags(endian);
    // Memory of threads is allocated by size, not by address.
    let is_memory = section.sh_type(endian) == elf::SHT_NOBITS
        && flags.contains(elf::SHF_ALLOC)
        && !flags.contains(elf::SHF_TLS)
        && name != PADDING;
    let range = range_at(section.sh_addr(endian).into(), section.sh_size(endian).into());
    if !is_memory || range.is_empty() || range.start == 0 {
        return None;
    }
    let holds = |segment: &&Segment| {
        let own = range_at(segment.address, segment.size);
        own.start <= range.start && range.end <= own.end
    };
    let problem = match loaded.iter().find(holds) {
        None => format!("zeroed memory at address {:#x} is in no load segment", range.start),
        Some(segment) => {
            let stored_end = range_at(segment.address, segment.file_size).end.min(range.end);
            let offset = segment.offset.checked_add(range.start.checked_sub(segment.address)?)?;
            let size = stored_end.checked_sub(range.start)?;
            let stored = host.part("section", Extent { offset, size }).ok()?;
            host.charge("section", Resource::Work, text_work(stored.data().len())).ok()?;
            // patchelf moves the header of a library's section, and code uses the memory at the old address.
            let needed = range.end.checked_sub(range.start)?;
            let has_zeroed = |it: &Segment| it.size.checked_sub(it.file_size).is_some_and(|zeroed| zeroed >= needed);
            // patchelf moves it next to the headers of a program, where no linker places it.
            let is_moved = segment.offset == 0 && size > 0;
            let is_zero = !is_moved && stored.data().iter().all(|byte| *byte == 0);
            if is_zero || loaded.iter().any(has_zeroed) {
                return None;
            }
            format!("zeroed memory at address {:#x} is mapped from other bytes of the file", range.start)
        }
    };
    Some(host.malformed("ELF section", section.sh_offset(endian).into(), Cause::Described(problem)))
}
