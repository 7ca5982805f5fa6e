//! Archives behind something else: zip files behind a script or a program (zipapp, PEX, self-extracting programs), and
//! data after a shell script (makeself) or after the last structure of a program (AppImage).

use object::elf::ELFMAG;

use super::unopened;
use crate::base::archive::ArchiveFormat;
use crate::base::bytes::{Resource, View};
use crate::base::range::offset_from;
use crate::format;
use crate::scan::inventory::NotOpened;

/// Something that follows the first part of a file.
#[derive(Debug)]
pub enum Appended {
    /// A zip file, which may state offsets from the start of the whole file.
    Zip {
        /// Its format.
        format: &'static ArchiveFormat,
        /// Offset of its first member.
        start: u64,
    },
    /// A separate file.
    File {
        /// Its offset.
        start: u64,
    },
    /// A file in a format that is not opened.
    NotOpened(NotOpened),
}

/// Finds the archive that follows the first part of a file; `None` for a file without one.
pub fn find(view: View<'_>) -> Option<Appended> {
    if let Some((format, start)) = ArchiveFormat::of_appended_zip(view, [SCRIPT, &ELFMAG, PE]) {
        return Some(Appended::Zip { format, start });
    }
    if view.starts_with(SCRIPT) {
        return in_script(view);
    }
    let start = elf_end(view).or_else(|| pe_end(view)).filter(|&start| start < view.size())?;
    packed_at(view, start)
}

/// True if an archive follows the first part of a file, regardless of whether it is opened.
pub fn has_archive(view: View<'_>) -> bool {
    find(view).is_some()
}

/// First bytes of a script, and of programs.
const SCRIPT: &[u8] = b"#!";
const PE: &[u8] = b"MZ";

/// Number of bytes of a script searched per step of work.
const BYTES_PER_STEP: u64 = 64;

/// Finds what follows the lines of a script. Text has no NUL.
fn in_script(view: View<'_>) -> Option<Appended> {
    let end = view.data().iter().position(|&byte| byte == 0).unwrap_or(view.data().len());
    view.charge("script", Resource::Work, end as u64 / BYTES_PER_STEP).ok()?;
    let offsets_after_breaks = (1..).zip(view.data().get(..end)?).filter(|(_, byte)| **byte == b'\n');
    offsets_after_breaks.map(|(after, _)| after).find_map(|after| packed_at(view, after))
}

/// Returns the archive or the compressed file at an offset. Static libraries are excluded, because a script may hold
/// text that begins like one.
fn packed_at(view: View<'_>, start: u64) -> Option<Appended> {
    let rest = view.from(start);
    if ArchiveFormat::of(rest).is_some_and(|format| !format.is_library()) {
        return Some(Appended::File { start });
    }
    unopened::format(rest).map(Appended::NotOpened)
}

/// End of the last structure of an ELF program.
fn elf_end(view: View<'_>) -> Option<u64> {
    if !view.starts_with(&ELFMAG) {
        return None;
    }
    format::read_elf(view).ok().map(|elf| elf.size)
}

/// Offsets and sizes in the headers of a PE file. Source: Microsoft, PE Format.
const PE_HEADER_AT: u64 = 0x3c;
const PE_MAGIC: &[u8] = b"PE\0\0";
const SECTION_COUNT: u64 = 6;
const OPTIONAL_HEADER_SIZE: u64 = 20;
const OPTIONAL_HEADER: u64 = 24;
const SECTION_HEADER_SIZE: u64 = 40;
const RAW_SIZE: u64 = 16;
const RAW_START: u64 = 20;

/// End of the last section of a PE file.
fn pe_end(view: View<'_>) -> Option<u64> {
    if !view.starts_with(PE) {
        return None;
    }
    let header = view.from(view.u32("PE header offset", PE_HEADER_AT).ok()?.into());
    if !header.starts_with(PE_MAGIC) {
        return None;
    }
    let count = header.u16("PE section count", SECTION_COUNT).ok()?;
    let optional = header.u16("PE optional header size", OPTIONAL_HEADER_SIZE).ok()?;
    let mut sections = header.from(OPTIONAL_HEADER).from(optional.into());
    let mut end = 0;
    for _ in 0..count {
        view.charge("PE section", Resource::Work, 1).ok()?;
        let size = sections.u32("PE section size", RAW_SIZE).ok()?;
        let start = sections.u32("PE section offset", RAW_START).ok()?;
        end = end.max(offset_from(start.into(), size.into()));
        sections = sections.from(SECTION_HEADER_SIZE);
    }
    Some(end)
}
