//! Static libraries for several macOS machines, as written by lipo: a universal file whose slices are archives. A
//! universal file whose slices are programs is a host file and not handled here.

use object::macho;
use object::read::macho::{FatArch, MachOFatFile32, MachOFatFile64};

use super::{Member, MemberContent, ar};
use crate::base::bytes::{Extent, View};
use crate::base::error::{Cause, Malformed};

/// Magics of the two formats, which differ in the size of offsets (mach-o/fat.h).
pub const MAGIC_32: &[u8] = b"\xca\xfe\xba\xbe";
pub const MAGIC_64: &[u8] = b"\xca\xfe\xba\xbf";

/// Machines by lipo's names.
const MACHINES: [(macho::CpuType, &str); 4] = [
    (macho::CPU_TYPE_X86_64, "x86_64"),
    (macho::CPU_TYPE_ARM64, "arm64"),
    (macho::CPU_TYPE_X86, "i386"),
    (macho::CPU_TYPE_ARM, "arm"),
];

/// Offset of the first machine's entry, and offset of the field in an entry that states the offset of its slice.
const ENTRIES: u64 = 8;
const OFFSET: u64 = 8;

/// Returns whether any of its slices is an archive. Class files of Java begin with the same four bytes.
pub fn holds_archives(view: View<'_>) -> bool {
    let is_archive = |place: &Place| ar::MAGICS.iter().any(|magic| view.from(place.offset).starts_with(magic));
    places(view).iter().any(is_archive)
}

/// Reads the slices in the order of the file, each with the name of its machine. Slices must not overlap: only a
/// hostile file has overlapping slices, and the same bytes would be searched once per slice.
pub fn members<'data>(view: View<'data>, take: &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed> {
    let mut places = places(view);
    places.sort_by_cached_key(|place| place.offset);
    let mut end = 0;
    for Place { machine, stated_at, offset, size } in places {
        if offset < end {
            return Err(view.malformed("universal file offset", stated_at, Cause::Overlap { offset, end }));
        }
        let slice = view.part(view.field("universal file offset", stated_at), Extent { offset, size })?;
        end = slice.range_in(view).end;
        let known = MACHINES.iter().find(|(known, _)| *known == machine);
        let name = known.map_or_else(|| format!("machine {}", machine.0), |(_, name)| (*name).to_owned());
        take(Member { name: Some(name), packed_size: None, size: None, content: MemberContent::Here(slice) });
    }
    Ok(())
}

/// A slice as the header states it.
struct Place {
    machine: macho::CpuType,
    stated_at: u64,
    offset: u64,
    size: u64,
}

fn places(view: View<'_>) -> Vec<Place> {
    fn of<Arch: FatArch>(arches: &[Arch]) -> Vec<Place> {
        let place = |(stated_at, arch): (u64, &Arch)| {
            let (offset, size) = arch.file_range();
            Place { machine: arch.cputype(), stated_at, offset, size }
        };
        (ENTRIES + OFFSET..).step_by(size_of::<Arch>()).zip(arches).map(place).collect()
    }
    let places = if view.starts_with(MAGIC_64) {
        MachOFatFile64::parse(view.data()).map(|file| of(file.arches()))
    } else {
        MachOFatFile32::parse(view.data()).map(|file| of(file.arches()))
    };
    places.unwrap_or_default()
}
