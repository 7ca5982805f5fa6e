//! Universal files of macOS: a Mach-O file or an archive for each of several machines, as lipo writes them.
//!
//! Class files of Java begin with the magic of the 32-bit format. Their slices begin with nothing that is known.
//!
//! Source: Apple, `mach-o/fat.h`.

use object::macho;
use object::read::macho::{FatArch, MachOFatFile32, MachOFatFile64};

use crate::base::bytes::{Extent, View};

/// Magic of the format with 32-bit offsets.
pub const MAGIC_32: &[u8] = b"\xca\xfe\xba\xbe";

/// Magic of the format with 64-bit offsets.
pub const MAGIC_64: &[u8] = b"\xca\xfe\xba\xbf";

/// Offset of the first machine's entry, and offset of the field in an entry that states the offset of its slice.
const ENTRIES: u64 = 8;
const OFFSET: u64 = 8;

/// A slice as the header states it. It may be beyond the end of the file.
#[derive(Debug)]
pub struct Slice {
    /// Its machine.
    pub machine: macho::CpuType,
    /// Offset of the field with the slice's offset.
    pub stated_at: u64,
    /// Its place.
    pub extent: Extent,
}

/// Returns the slices in the order of the header; none for any other file.
pub fn slices(view: View<'_>) -> Vec<Slice> {
    let slices = if view.starts_with(MAGIC_64) {
        MachOFatFile64::parse(view.data()).map(|file| of(file.arches()))
    } else {
        MachOFatFile32::parse(view.data()).map(|file| of(file.arches()))
    };
    slices.unwrap_or_default()
}

fn of<Arch: FatArch>(arches: &[Arch]) -> Vec<Slice> {
    let slice = |(stated_at, arch): (u64, &Arch)| {
        let (offset, size) = arch.file_range();
        Slice { machine: arch.cputype(), stated_at, extent: Extent { offset, size } }
    };
    (ENTRIES + OFFSET..).step_by(size_of::<Arch>()).zip(arches).map(slice).collect()
}
