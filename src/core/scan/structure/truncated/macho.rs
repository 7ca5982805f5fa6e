//! Mach-O files: load commands, segments, the symbol table, and the slices of universal files.

use object::macho::{self, MachHeader32, MachHeader64};
use object::read::FileKind;
use object::read::macho::{FatArch, MachHeader, MachOFatFile, Segment};
use object::{Endianness, Pod};

use super::{require, require_table};
use crate::base::bytes::{Extent, View};
use crate::base::error::Malformed;

/// Checks the load commands and everything that they refer to.
pub fn check<Header: MachHeader<Endian = Endianness> + Pod>(view: View<'_>) -> Result<(), Malformed> {
    let size = size_of::<Header>() as u64;
    require(view, "Mach-O header", 0, size)?;
    let Ok(header) = Header::parse(view.data(), 0) else { return Ok(()) };
    let Ok(endian) = header.endian() else { return Ok(()) };
    require(view, "load commands", size, header.sizeofcmds(endian).into())?;
    let Ok(mut commands) = header.load_commands(endian, view.data(), 0) else { return Ok(()) };
    // The segments of a stub are in the library that it replaces.
    let has_segments = header.filetype(endian) != macho::MH_DYLIB_STUB;
    while let Ok(Some(command)) = commands.next() {
        if has_segments && let Ok(Some((segment, _))) = Header::Segment::from_command(command) {
            require(view, "segment", segment.fileoff(endian).into(), segment.filesize(endian).into())?;
        }
        if let Ok(Some(symbols)) = command.symtab() {
            let offset = symbols.symoff.get(endian);
            let count = symbols.nsyms.get(endian);
            require_table::<Header::Nlist>(view, "symbol table", offset.into(), count.into())?;
            require(view, "string table", symbols.stroff.get(endian).into(), symbols.strsize.get(endian).into())?;
        }
    }
    Ok(())
}

/// Maximum number of slices. Java class files have the same magic, and a version of at least 45 in place of the number.
const MAX_SLICES: u32 = 44;

/// Size of the header of a universal file, and offset of the number of slices in it (mach-o/fat.h).
const UNIVERSAL_SIZE: u64 = 8;
const SLICES: u64 = 4;

/// Checks the table of slices of a universal file, that each slice is in the file, and the slices.
pub fn check_universal<Arch: FatArch>(view: View<'_>) -> Result<(), Malformed> {
    let count = view.u32("universal file header", SLICES)?.swap_bytes();
    if count > MAX_SLICES {
        return Ok(());
    }
    require_table::<Arch>(view, "universal file header", UNIVERSAL_SIZE, count.into())?;
    let Ok(file) = MachOFatFile::<Arch>::parse(view.data()) else { return Ok(()) };
    for (offset, size) in file.arches().iter().map(FatArch::file_range) {
        require(view, "universal file slice", offset, size)?;
        let slice = view.record("universal file slice", Extent { offset, size })?;
        match FileKind::parse(slice.data()) {
            Ok(FileKind::MachO32) => check::<MachHeader32<Endianness>>(slice)?,
            Ok(FileKind::MachO64) => check::<MachHeader64<Endianness>>(slice)?,
            _ => {}
        }
    }
    Ok(())
}
