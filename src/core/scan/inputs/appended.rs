//! Archives behind something else: zip files behind a script or a program (zipapp, PEX, self-extracting programs), and
//! data after a shell script (makeself) or after the last structure of a program (AppImage).

use object::elf::ELFMAG;

use super::unopened;
use crate::base::archive::ArchiveFormat;
use crate::base::bytes::{Resource, Table, View};
use crate::base::pe_layout;
use crate::base::range::range_at;
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
    if let Some((format, start)) = ArchiveFormat::of_appended_zip(view, [SCRIPT, &ELFMAG, pe_layout::DOS_MAGIC]) {
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

/// First bytes of a script.
const SCRIPT: &[u8] = b"#!";

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

/// End of the last section of a PE file.
fn pe_end(view: View<'_>) -> Option<u64> {
    let header = pe_layout::pe_header(view)?;
    let count = header.u16("PE section count", pe_layout::SECTION_COUNT).ok()?;
    let optional = header.u16("PE optional header size", pe_layout::OPTIONAL_HEADER_SIZE).ok()?;
    let sections = header.from(pe_layout::OPTIONAL_HEADER).from(optional.into());
    let table = Table { offset: 0, count: count.into(), entry_size: pe_layout::SECTION_HEADER_SIZE };
    let mut end = 0;
    for section in sections.table(sections.field("PE section", 0), table).ok()? {
        let size = section.u32("PE section size", pe_layout::RAW_SIZE).ok()?;
        let start = section.u32("PE section offset", pe_layout::RAW_START).ok()?;
        end = end.max(range_at(start.into(), size.into()).end);
    }
    Some(end)
}
