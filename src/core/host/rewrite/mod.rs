//! Rewriting of existing objects: adding and removing sections, the parts of objcopy that bundles need.
//!
//! Sections are appended: all bytes of the object keep their offsets, except the few in its header that refer to the
//! section table. So most of the object need not be parsed, and removing sections that this module added returns the
//! original byte for byte. For objects rewritten by other tools the result is equivalent to the original. The bytes of
//! sections and of the object are borrowed throughout.
//!
//! Sources: System V ABI, chapter 4; PE Format, COFF file header to string table; layout and flags of sections that
//! llvm-objcopy 22.1 adds (`--add-section`, `--set-section-flags=readonly,exclude`).

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod coff;
pub mod device_elf;
mod elf;
pub mod openmp_notes;

#[cfg(test)]
mod tests;

use std::ops::Range;

use elf::Rename;
use object::{FileKind, Object, ObjectSection};

use crate::base::bytes::{Extent, ObjectBytes, Resource, View};
use crate::base::content::Content;
use crate::base::elf_layout::{ELF32, ELF64};
use crate::base::error::{Cause, Malformed};

/// A section to add, which linkers exclude from their output.
#[derive(Debug, Clone, Copy)]
pub struct NewSection<'a, 'data> {
    /// Name of the section.
    pub name: &'a str,
    /// Bytes of the section.
    pub content: &'data [u8],
}

/// A section found in an object.
#[derive(Debug, Clone, Copy)]
pub struct FoundSection<'data> {
    /// Name of the section.
    pub name: &'data [u8],
    /// Bytes of the section.
    pub content: View<'data>,
}

/// Format of an object file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ObjectFormat {
    /// ELF with 32-bit offsets.
    Elf32,
    /// ELF with 64-bit offsets.
    Elf64,
    /// COFF with 16-bit section numbers.
    Coff,
    /// COFF with 32-bit section numbers (`/bigobj`).
    CoffBig,
    /// A format that cannot be rewritten, by name.
    Unsupported(&'static str),
}

/// Magics of object formats that cannot be rewritten here: Mach-O in both widths and byte orders, XCOFF in both
/// widths, WebAssembly.
const UNSUPPORTED: [(&[u8], &str); 7] = [
    (b"\xfe\xed\xfa\xce", "Mach-O"),
    (b"\xfe\xed\xfa\xcf", "Mach-O"),
    (b"\xce\xfa\xed\xfe", "Mach-O"),
    (b"\xcf\xfa\xed\xfe", "Mach-O"),
    (b"\x01\xdf\0", "XCOFF"),
    (b"\x01\xf7\0", "XCOFF"),
    (b"\0asm", "WebAssembly"),
];

/// Returns the format of an object file; `None` for any other file.
pub fn object_format(view: View) -> Option<ObjectFormat> {
    if let Some((_, name)) = UNSUPPORTED.iter().find(|(magic, _)| view.starts_with(magic)) {
        return Some(ObjectFormat::Unsupported(name));
    }
    match FileKind::parse(view.data()).ok()? {
        FileKind::Elf32 => Some(ObjectFormat::Elf32),
        FileKind::Elf64 => Some(ObjectFormat::Elf64),
        FileKind::Coff => Some(ObjectFormat::Coff),
        FileKind::CoffBig => Some(ObjectFormat::CoffBig),
        FileKind::Pe32 | FileKind::Pe64 => Some(ObjectFormat::Unsupported("PE")),
        _ => None,
    }
}

/// Returns the object with sections added after its own, in this order.
pub fn with_sections<'data>(
    object: View<'data>,
    sections: &[NewSection<'_, 'data>],
) -> Result<Content<'data>, Malformed> {
    match object_format(object) {
        Some(ObjectFormat::Elf32) => elf::with_sections(object, &ELF32, sections),
        Some(ObjectFormat::Elf64) => elf::with_sections(object, &ELF64, sections),
        Some(ObjectFormat::Coff) => coff::with_sections(object, &coff::SMALL, sections),
        Some(ObjectFormat::CoffBig) => coff::with_sections(object, &coff::BIG, sections),
        other => Err(unsupported(object, other)),
    }
}

/// Returns the object without the sections whose names begin with `prefix`.
pub fn without_sections<'data>(object: View<'data>, prefix: &[u8]) -> Result<Content<'data>, Malformed> {
    match object_format(object) {
        Some(ObjectFormat::Elf32) => elf::without_sections(object, &ELF32, &|name| name.starts_with(prefix)),
        Some(ObjectFormat::Elf64) => elf::without_sections(object, &ELF64, &|name| name.starts_with(prefix)),
        Some(ObjectFormat::Coff) => coff::without_sections(object, &coff::SMALL, prefix),
        Some(ObjectFormat::CoffBig) => coff::without_sections(object, &coff::BIG, prefix),
        other => Err(unsupported(object, other)),
    }
}

/// Returns an ELF object without the sections of this name.
pub fn without_section<'data>(object: View<'data>, unwanted: &[u8]) -> Result<Content<'data>, Malformed> {
    match object_format(object) {
        Some(ObjectFormat::Elf32) => elf::without_sections(object, &ELF32, &|name| name == unwanted),
        Some(ObjectFormat::Elf64) => elf::without_sections(object, &ELF64, &|name| name == unwanted),
        other => Err(unsupported(object, other)),
    }
}

/// Returns an ELF object with other names of sections and symbols.
pub fn renamed<'data>(object: View<'data>, rename: Rename<'_>) -> Result<Content<'data>, Malformed> {
    match object_format(object) {
        Some(ObjectFormat::Elf32) => elf::renamed(object, &ELF32, rename),
        Some(ObjectFormat::Elf64) => elf::renamed(object, &ELF64, rename),
        other => Err(unsupported(object, other)),
    }
}

/// Returns the sections whose names begin with `prefix`, in the order of the section table.
pub fn sections_named<'data>(object: View<'data>, prefix: &[u8]) -> Result<Vec<FoundSection<'data>>, Malformed> {
    if let Some(ObjectFormat::Unsupported(_)) = object_format(object) {
        return Err(unsupported(object, object_format(object)));
    }
    let file = object::File::parse(ObjectBytes(object)).map_err(|error| broken(object, error))?;
    let mut sections = Vec::new();
    for section in file.sections() {
        let name = section.name_bytes();
        object.charge("section", Resource::Work, 1)?;
        let Ok(name) = name else { continue };
        if !name.starts_with(prefix) {
            continue;
        }
        // The offset of an empty section does not matter: in COFF, llvm-objcopy writes 0xffffffff.
        let (offset, size) = section.file_range().filter(|(_, size)| *size > 0).unwrap_or_default();
        sections.push(FoundSection { name, content: object.part("section offset", Extent { offset, size })? });
    }
    Ok(sections)
}

fn unsupported(object: View, format: Option<ObjectFormat>) -> Malformed {
    let format = match format {
        Some(ObjectFormat::Unsupported(name)) => name,
        _ => "of unknown format",
    };
    broken(object, format!("is {format}; only ELF and COFF objects can be rewritten"))
}

/// Returns the bytes of a range that is known to be in the object.
fn bytes_in<'data>(object: View<'data>, range: Range<u64>) -> &'data [u8] {
    object.data().get(range.start as usize..range.end as usize).expect("a range of the object")
}

/// Sets a little-endian field in a copy of a header, and returns the field.
fn set(header: &mut [u8], at: u64, width: u64, value: u64) -> &mut [u8] {
    let rest = header.get_mut(at as usize..).unwrap_or_default();
    let field = rest.get_mut(..width as usize).expect("a field of the header");
    for (to, byte) in field.iter_mut().zip(value.to_le_bytes()) {
        *to = byte;
    }
    field
}

fn broken(object: View, cause: impl std::fmt::Display) -> Malformed {
    object.malformed("object file", 0, Cause::Described(cause.to_string()))
}
