//! Symbol tables of `ar` archives: their names and order stay, and the offsets of the members follow the members.

use std::ops::Range;

use super::members::ArMember;
use crate::edit::patch::Patch;
use fatbin_core::base::bytes::{Extent, Resource, Table, View, size_of_range};
use fatbin_core::base::content::Content;
use fatbin_core::base::error::{Cause, Malformed};
use fatbin_core::base::range::offset_from;

/// Name of a symbol table in errors.
const FIELD: &str = "archive symbol table";

/// Position of the offsets in a symbol table.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Layout {
    /// A number of symbols, and an offset for each: big-endian, of 4 or 8 bytes (GNU; the first linker member of COFF).
    Gnu(Width),
    /// A number of members, and a little-endian offset for each (PE Format, second linker member).
    Coff,
    /// The size of a table, and pairs of a name and an offset, in the byte order of the machine (BSD `ranlib.h`).
    Bsd(Width),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Width {
    Four,
    Eight,
}

#[derive(Debug, Clone, Copy)]
enum Endian {
    Little,
    Big,
}

/// The offsets in a table.
struct Offsets {
    /// Range of the offsets, with the bytes between them.
    range: Range<u64>,
    /// Distance of one offset from the next.
    step: u64,
    /// Distance of the first offset from the start of the range.
    first: u64,
    width: Width,
    endian: Endian,
}

/// Returns whether a member is a table of the archive and not a file.
pub fn is_table(member: &ArMember<'_>) -> bool {
    member.name == b"//" || member.name.starts_with(b"/<") || layout(member, false).is_some()
}

/// Returns the patches of all symbol tables. `new_header` returns the offset of a member's header after the change, by
/// the offset before.
pub fn patches<'data>(
    archive: View<'data>,
    members: &[ArMember<'data>],
    new_header: &dyn Fn(u64) -> Option<u64>,
) -> Result<Vec<Patch<'data>>, Malformed> {
    let mut patches = Vec::new();
    let mut has_first = false;
    // Tables precede all files.
    for member in members.iter().take_while(|member| is_table(member)) {
        let Some(layout) = layout(member, has_first) else { continue };
        has_first |= layout == Layout::Gnu(Width::Four);
        if member.start < member.content.end {
            patches.push(patch(archive, offsets(archive, member, layout)?, new_header)?);
        }
    }
    Ok(patches)
}

fn layout(member: &ArMember<'_>, has_first: bool) -> Option<Layout> {
    match member.name {
        b"/" if has_first => Some(Layout::Coff),
        b"/" => Some(Layout::Gnu(Width::Four)),
        b"/SYM64/" => Some(Layout::Gnu(Width::Eight)),
        b"__.SYMDEF" | b"__.SYMDEF SORTED" => Some(Layout::Bsd(Width::Four)),
        b"__.SYMDEF_64" | b"__.SYMDEF_64 SORTED" => Some(Layout::Bsd(Width::Eight)),
        _ => None,
    }
}

/// Locates the offsets. They must be within the member.
fn offsets(archive: View<'_>, member: &ArMember<'_>, layout: Layout) -> Result<Offsets, Malformed> {
    let (Layout::Gnu(width) | Layout::Bsd(width)) = layout else {
        return located(
            archive,
            member,
            Offsets { range: 0..0, step: 4, first: 0, width: Width::Four, endian: Endian::Little },
        );
    };
    let empty = Offsets { range: 0..0, step: width.size(), first: 0, width, endian: Endian::Big };
    match layout {
        Layout::Bsd(_) => {
            let pair = width.size() << 1;
            let little = Offsets { step: pair, first: width.size(), endian: Endian::Little, ..empty };
            let count = number(archive, member.start, width, Endian::Little)?;
            let is_little = count.is_multiple_of(pair) && count < size_of_range(&member.content);
            located(archive, member, if is_little { little } else { Offsets { endian: Endian::Big, ..little } })
        }
        _ => located(archive, member, empty),
    }
}

/// Sets the range by the number at the start of the table: a number of offsets, or of bytes where names are between
/// them.
fn located(archive: View<'_>, member: &ArMember<'_>, offsets: Offsets) -> Result<Offsets, Malformed> {
    let count = number(archive, member.start, offsets.width, offsets.endian)?;
    let table = archive.between(FIELD, member.start..member.content.end)?;
    let entry_size = if offsets.first > 0 { 1 } else { offsets.step };
    let entries = Table { offset: offsets.width.size(), count, entry_size };
    let found = table.part(table.field(FIELD, 0), entries.extent())?;
    if !found.size().is_multiple_of(offsets.step) {
        return Err(table.malformed(FIELD, 0, Cause::EndsInside));
    }
    Ok(Offsets { range: found.range_in(archive), ..offsets })
}

fn patch<'data>(
    archive: View<'data>,
    offsets: Offsets,
    new_header: &dyn Fn(u64) -> Option<u64>,
) -> Result<Patch<'data>, Malformed> {
    let Offsets { range, step, first, width, endian } = offsets;
    let size = size_of_range(&range);
    archive.charge(FIELD, Resource::Memory, size)?;
    let mut bytes = archive.record(FIELD, Extent { offset: range.start, size })?.data().to_vec();
    let places = range.clone().step_by(step as usize).zip(bytes.chunks_mut(step as usize));
    for (entry, stored) in places {
        let at = offset_from(entry, first);
        let old = number(archive, at, width, endian)?;
        let new = new_header(old).ok_or_else(|| {
            archive.malformed(FIELD, at, Cause::Described(format!("offset {old:#x} is not that of a member")))
        })?;
        let encoded = encode(new, width, endian).ok_or_else(|| {
            let cause = format!("offset {new} of a member exceeds 32 bits; create the archive with 64-bit offsets");
            archive.malformed(FIELD, at, Cause::Described(cause))
        })?;
        let to = stored.get_mut(first as usize..).and_then(|rest| rest.get_mut(..encoded.len()));
        to.expect("a number that was read").copy_from_slice(&encoded);
    }
    Ok(Patch::resizing(range, Content::from(bytes)))
}

impl Width {
    fn size(self) -> u64 {
        match self {
            Width::Four => 4,
            Width::Eight => 8,
        }
    }
}

fn number(archive: View<'_>, at: u64, width: Width, endian: Endian) -> Result<u64, Malformed> {
    Ok(match (width, endian) {
        (Width::Four, Endian::Little) => archive.u32(FIELD, at)?.into(),
        (Width::Four, Endian::Big) => archive.u32(FIELD, at)?.swap_bytes().into(),
        (Width::Eight, Endian::Little) => archive.u64(FIELD, at)?,
        (Width::Eight, Endian::Big) => archive.u64(FIELD, at)?.swap_bytes(),
    })
}

fn encode(number: u64, width: Width, endian: Endian) -> Option<Vec<u8>> {
    let mut bytes = match width {
        Width::Four => u32::try_from(number).ok()?.to_le_bytes().to_vec(),
        Width::Eight => number.to_le_bytes().to_vec(),
    };
    if matches!(endian, Endian::Big) {
        bytes.reverse();
    }
    Some(bytes)
}
