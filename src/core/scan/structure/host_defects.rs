//! Defects that make loaders and runtimes reject a host file, although all of it can be read: segments that cannot be
//! mapped, and rows of image tables that lead to no image. Tools that move sections, such as patchelf and strip, cause
//! both.

use std::ops::Range;

use object::elf::{self, FileHeader32, FileHeader64};
use object::read::FileKind;
use object::read::elf::{FileHeader, ProgramHeader};
use object::{Endianness, Pod};

use super::image_table::ImageRow;
use super::{Structure, truncated};
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};
use crate::format::{self, bundle_section};

/// Returns the defects, sorted by offset.
pub fn find(structure: &Structure<'_>) -> Vec<Malformed> {
    let mut defects: Vec<Malformed> = structure.hosts.iter().flat_map(|&host| segment_defects(host)).collect();
    defects.extend(row_defects(structure));
    defects.sort_by_cached_key(|defect| defect.offset);
    defects
}

fn segment_defects(host: View<'_>) -> Vec<Malformed> {
    match FileKind::parse(host.data()) {
        Ok(FileKind::Elf32) => unmappable_segments::<FileHeader32<Endianness>>(host),
        Ok(FileKind::Elf64) => unmappable_segments::<FileHeader64<Endianness>>(host),
        _ => Vec::new(),
    }
}

/// Returns the loaded segments whose address and offset differ modulo their alignment, so that no page of the file fits
/// the address. Source: the ELF specification, program header, `p_align`; glibc, elf/dl-load.c.
fn unmappable_segments<Header: FileHeader<Endian = Endianness> + Pod>(host: View<'_>) -> Vec<Malformed> {
    let Ok(header) = Header::parse(host.data()) else { return Vec::new() };
    let Ok(endian) = header.endian() else { return Vec::new() };
    if format::is_device_machine(header.e_machine(endian)) || truncated::has_split_debug_sections(header, endian, host)
    {
        return Vec::new();
    }
    let mut defects = Vec::new();
    let segments = header.program_headers(endian, host.data()).unwrap_or_default();
    for (number, segment) in segments.iter().enumerate() {
        if segment.p_type(endian) != elf::PT_LOAD {
            continue;
        }
        let offset: u64 = segment.p_offset(endian).into();
        let address: u64 = segment.p_vaddr(endian).into();
        let alignment: u64 = segment.p_align(endian).into();
        // Loaders accept other alignments.
        if alignment.is_power_of_two() && offset.abs_diff(address) & alignment.wrapping_sub(1) != 0 {
            let problem = format!(
                "segment {number}: address {address:#x} and offset {offset:#x} are not page-aligned: \
                 they differ modulo the alignment {alignment:#x}"
            );
            defects.push(host.malformed("ELF load segment", offset, Cause::Described(problem)));
        }
    }
    defects
}

/// Returns the rows of image tables that lead to no section for images, if the file has such sections.
fn row_defects(structure: &Structure<'_>) -> Vec<Malformed> {
    let is_for_images = |name: &str| bundle_section::entry_id(name).is_some();
    let sections: Vec<Range<u64>> = structure.sections_named(is_for_images).collect();
    if sections.is_empty() {
        return Vec::new();
    }
    let defect = |row: &ImageRow| {
        let cause = match row.image {
            Some(image) if sections.iter().any(|section| section.contains(&image)) => return None,
            Some(image) => format!("registers {image:#x}, where no image begins"),
            None => "registers nothing".to_owned(),
        };
        Some(Malformed { field: "image table row", offset: row.offset, cause: Cause::Described(cause) })
    };
    structure.image_rows.iter().filter_map(defect).collect()
}
