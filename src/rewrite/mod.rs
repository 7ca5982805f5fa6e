//! An existing object with sections added, or with sections taken out again: what bundles need of objcopy.
//!
//! What is added is appended: all bytes of the object stay where they are, but for the few in its header that lead to the
//! section table. So nothing of the object has to be understood, and an object that was rewritten here is restored to the
//! byte. Objects that other tools have rewritten are restored to what means the same. The bytes of sections are borrowed
//! throughout, like those of the object.
//!
//! Sources: System V ABI, chapter 4; PE Format, COFF file header to string table; how llvm-objcopy 22.1 lays out and flags
//! what it adds (`--add-section`, `--set-section-flags=readonly,exclude`).

mod coff;
mod elf;
pub mod openmp_notes;

#[cfg(test)]
mod tests;

use object::{FileKind, Object, ObjectSection};

use crate::bytes::View;
use crate::content::Content;
use crate::error::{Cause, Malformed};

/// A section that is to be added, which linkers leave out of what they make.
#[derive(Debug, Clone, Copy)]
pub struct NewSection<'a, 'data> {
    pub name: &'a str,
    pub content: &'data [u8],
}

/// A section that an object has.
#[derive(Debug, Clone, Copy)]
pub struct Section<'data> {
    pub name: &'data [u8],
    pub content: View<'data>,
}

/// What kind of file it is, as far as sections can be added to it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Host {
    Elf32,
    Elf64,
    Coff,
    CoffBig,
    /// An object file all the same, by the name of its format.
    Unsupported(&'static str),
}

/// The first bytes of object formats that cannot be rewritten here: Mach-O in both widths and byte orders, XCOFF in both
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

/// What kind of object file the view holds; `None` for any other file.
pub fn host(view: View) -> Option<Host> {
    if let Some((_, name)) = UNSUPPORTED.iter().find(|(magic, _)| view.starts_with(magic)) {
        return Some(Host::Unsupported(name));
    }
    match FileKind::parse(view.data()).ok()? {
        FileKind::Elf32 => Some(Host::Elf32),
        FileKind::Elf64 => Some(Host::Elf64),
        FileKind::Coff => Some(Host::Coff),
        FileKind::CoffBig => Some(Host::CoffBig),
        FileKind::Pe32 | FileKind::Pe64 => Some(Host::Unsupported("PE")),
        _ => None,
    }
}

/// The object with sections added behind its own, in this order.
pub fn with_sections<'data>(
    object: View<'data>,
    sections: &[NewSection<'_, 'data>],
) -> Result<Content<'data>, Malformed> {
    match host(object) {
        Some(Host::Elf32) => elf::with_sections(object, &elf::ELF32, sections),
        Some(Host::Elf64) => elf::with_sections(object, &elf::ELF64, sections),
        Some(Host::Coff) => coff::with_sections(object, &coff::SMALL, sections),
        Some(Host::CoffBig) => coff::with_sections(object, &coff::BIG, sections),
        other => Err(unsupported(object, other)),
    }
}

/// The object without the sections whose names begin with `prefix`.
pub fn without_sections<'data>(object: View<'data>, prefix: &[u8]) -> Result<Content<'data>, Malformed> {
    match host(object) {
        Some(Host::Elf32) => elf::without_sections(object, &elf::ELF32, prefix),
        Some(Host::Elf64) => elf::without_sections(object, &elf::ELF64, prefix),
        Some(Host::Coff) => coff::without_sections(object, &coff::SMALL, prefix),
        Some(Host::CoffBig) => coff::without_sections(object, &coff::BIG, prefix),
        other => Err(unsupported(object, other)),
    }
}

/// The sections whose names begin with `prefix`, in the order of the section table.
pub fn sections_named<'data>(object: View<'data>, prefix: &[u8]) -> Result<Vec<Section<'data>>, Malformed> {
    if let Some(Host::Unsupported(_)) = host(object) {
        return Err(unsupported(object, host(object)));
    }
    let file = object::File::parse(object.data()).map_err(|error| broken(object, error))?;
    let mut sections = Vec::new();
    for section in file.sections() {
        let Ok(name) = section.name_bytes() else { continue };
        if !name.starts_with(prefix) {
            continue;
        }
        // Where nothing stands is of no matter: in COFF, llvm-objcopy writes 0xffffffff there.
        let (offset, size) = section.file_range().filter(|(_, size)| *size > 0).unwrap_or_default();
        sections.push(Section { name, content: object.part("section offset", 0, offset, size)? });
    }
    Ok(sections)
}

fn unsupported(object: View, host: Option<Host>) -> Malformed {
    let format = match host {
        Some(Host::Unsupported(name)) => name,
        _ => "no known format",
    };
    broken(object, format!("is {format}; only ELF and COFF objects can be rewritten"))
}

fn broken(object: View, cause: impl std::fmt::Display) -> Malformed {
    object.malformed("object file", 0, Cause::HostFile(cause.to_string()))
}
