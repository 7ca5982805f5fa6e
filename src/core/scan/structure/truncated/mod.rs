//! Host files that end before something that their headers refer to: the remains of a download or of a full disk.
//!
//! Without an error, such a file would look like one with less device code. Every format stores offsets and sizes of
//! its tables and contents in headers at the start. A part beyond the end of the file is the defect. Bytes that no
//! header refers to, such as padding at the end, can be missing unnoticed.

mod coff;
mod elf;
mod macho;
mod pe;

pub use elf::has_split_debug_sections;
use object::Endianness;
use object::elf::{FileHeader32, FileHeader64};
use object::macho::{FatArch32, FatArch64, MachHeader32, MachHeader64};
use object::pe::{AnonObjectHeaderBigobj, ImageFileHeader, ImageNtHeaders32, ImageNtHeaders64};
use object::read::FileKind;

use crate::base::bytes::{View, entries_size};
use crate::base::error::{Cause, Malformed};
use crate::format::{bitcode, is_host_bitcode};

/// Defect of a file that ends before something that its headers refer to; `None` for an intact file, and for bytes that
/// are not a host file.
pub fn defect(kind: Option<FileKind>, view: View<'_>) -> Option<Malformed> {
    let checked = match kind {
        Some(FileKind::Elf32) => elf::check::<FileHeader32<Endianness>>(view),
        Some(FileKind::Elf64) => elf::check::<FileHeader64<Endianness>>(view),
        Some(FileKind::Pe32) => pe::check::<ImageNtHeaders32>(view),
        Some(FileKind::Pe64) => pe::check::<ImageNtHeaders64>(view),
        Some(FileKind::Coff) => coff::check::<ImageFileHeader>(view),
        Some(FileKind::CoffBig) => coff::check::<AnonObjectHeaderBigobj>(view),
        Some(FileKind::MachO32) => macho::check::<MachHeader32<Endianness>>(view),
        Some(FileKind::MachO64) => macho::check::<MachHeader64<Endianness>>(view),
        Some(FileKind::MachOFat32) => macho::check_universal::<FatArch32>(view),
        Some(FileKind::MachOFat64) => macho::check_universal::<FatArch64>(view),
        Some(_) => Ok(()),
        None if is_host_bitcode(view) => bitcode::check(view),
        None => elf::check_magic(view).and_then(|()| pe::check_stub(view)),
    };
    checked.err()
}

/// Checks that the `needed` bytes of a part at `offset` are in the file.
fn require(view: View<'_>, field: &'static str, offset: u64, needed: u64) -> Result<(), Malformed> {
    let available = view.from(offset).size();
    if available < needed { Err(view.malformed(field, offset, Cause::Truncated { needed, available })) } else { Ok(()) }
}

/// Checks that a table of `count` entries at `offset` is in the file.
fn require_table<Entry>(view: View<'_>, field: &'static str, offset: u64, count: u64) -> Result<(), Malformed> {
    require(view, field, offset, table_size::<Entry>(count))
}

/// Size of a table in bytes. A count that no file can have gives a size that no file has.
fn table_size<Entry>(count: u64) -> u64 {
    entries_size(count, size_of::<Entry>() as u64)
}

#[cfg(test)]
mod tests;
