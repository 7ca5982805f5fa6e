//! Static libraries for several macOS machines, as written by lipo: a universal file whose slices are archives. A
//! universal file whose slices are programs is a host file and not handled here.

use object::macho;

use super::{Member, MemberContent, ar};
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};
use crate::base::universal::{Slice, slices};

/// Machines by lipo's names.
const MACHINES: [(macho::CpuType, &str); 4] = [
    (macho::CPU_TYPE_X86_64, "x86_64"),
    (macho::CPU_TYPE_ARM64, "arm64"),
    (macho::CPU_TYPE_X86, "i386"),
    (macho::CPU_TYPE_ARM, "arm"),
];

/// Returns whether any of its slices is an archive.
pub fn holds_archives(view: View<'_>) -> bool {
    let is_archive = |slice: &Slice| ar::MAGICS.iter().any(|magic| view.from(slice.extent.offset).starts_with(magic));
    slices(view).iter().any(is_archive)
}

/// Reads the slices in the order of the file, each with the name of its machine. Slices must not overlap: only a
/// hostile file has overlapping slices, and the same bytes would be searched once per slice.
pub fn members<'data>(view: View<'data>, take: &mut dyn FnMut(Member<'data>)) -> Result<(), Malformed> {
    let mut slices = slices(view);
    slices.sort_by_cached_key(|slice| slice.extent.offset);
    let mut end = 0;
    for Slice { machine, stated_at, extent } in slices {
        let offset = extent.offset;
        if offset < end {
            return Err(view.malformed("universal file offset", stated_at, Cause::Overlap { offset, end }));
        }
        let slice = view.part(view.field("universal file offset", stated_at), extent)?;
        end = slice.range_in(view).end;
        let known = MACHINES.iter().find(|(known, _)| *known == machine);
        let name = known.map_or_else(|| format!("machine {}", machine.0), |(_, name)| (*name).to_owned());
        take(Member::new(Some(name), MemberContent::Here(slice)));
    }
    Ok(())
}
