//! The second copy of the device code in an object for link-time optimization.
//!
//! `clang -flto -ffat-lto-objects` writes an ELF object that also holds the bitcode it was compiled from, in a section. A
//! link with the same options takes the bitcode, with the device code in it, and ignores the rest. Source: LLVM, FatLTO;
//! output of clang 22.1.8.

use std::ops::Range;

use object::read::elf::ElfFile64;
use object::read::{Object, ObjectSection};
use object::{Endianness, ObjectKind};

use super::is_container_section;
use crate::base::bytes::{Extent, ObjectBytes, View};
use crate::base::error::Malformed;
use crate::base::range::range_at;
use crate::format::bitcode::embedded;
use crate::format::is_host_bitcode;

/// Section with the bitcode.
pub const SECTION: &str = ".llvm.lto";

/// Offset and size of the bitcode in an object; `None` for any other file.
pub fn bitcode(view: View<'_>) -> Option<(u64, u64)> {
    if !view.starts_with(b"\x7fELF\x02") {
        return None;
    }
    let file = ElfFile64::<Endianness, _>::parse(ObjectBytes(view)).ok()?;
    let section = if file.kind() == ObjectKind::Relocatable { file.section_by_name(SECTION)? } else { return None };
    section.file_range()
}

/// Whether host bitcode has images.
pub fn has_images(view: View<'_>) -> Result<bool, Malformed> {
    Ok(is_host_bitcode(view) && !embedded::sections(view, &is_container_section)?.is_empty())
}

/// Whether an object also holds its images in bitcode.
pub fn holds_images_twice(view: View<'_>) -> Result<bool, Malformed> {
    match bitcode(view) {
        Some((offset, size)) => has_images(view.part("section", Extent { offset, size })?),
        None => Ok(false),
    }
}

/// Range of the section that holds the images of an object again; empty for any other file.
pub fn copy(view: View<'_>) -> Range<u64> {
    match bitcode(view) {
        Some((offset, size)) if holds_images_twice(view).unwrap_or(false) => range_at(offset, size),
        _ => 0..0,
    }
}
