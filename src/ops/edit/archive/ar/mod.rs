//! `ar` archives: members change their sizes, and everything else stays as it is.
//!
//! An archive has three kinds of bytes that depend on the size of a member: the size in its header, the padding to an
//! even offset, and the offsets in the symbol tables. Names of symbols do not change, because edits keep the symbols of
//! objects. So the dates, owners and modes of members, their order and the table of long names need not be written
//! again.

mod members;
mod symbol_table;

#[cfg(test)]
mod tests;

use members::ArMember;

use super::super::Result;
use super::super::patch::{Patch, PatchLayout, Patches};
use fatbin_core::base::bytes::{View, size_of_range};
use fatbin_core::base::content::Content;
use fatbin_core::base::error::{Cause, Malformed};

/// Alignment of members in archives of macOS, whose linker reads them where they are (LLVM 22, `ArchiveWriter.cpp`).
const DARWIN_ALIGNMENT: u64 = 8;

/// Magic of thin archives.
const THIN: &[u8] = b"!<thin>\n";

/// Returns patches of an archive by patches of its members. Adds the patches of headers, padding and symbol tables. All
/// spans are relative to the archive, and each of the given spans must be within one member.
pub fn with_members<'data>(archive: View<'data>, changes: Patches<'data>) -> Result<Patches<'data>> {
    if changes.is_empty() {
        return Ok(changes);
    }
    if archive.starts_with(THIN) {
        let cause = "a thin archive only lists its members, which are files of their own; change these files";
        return Err(archive.malformed("archive", 0, Cause::Described(cause.to_owned())).into());
    }
    let members = members::read(archive)?;
    let alignment = alignment(&members);
    let mut all = Vec::new();
    let mut changes = changes.into_iter().peekable();
    for member in &members {
        let mut patches = Vec::new();
        while let Some(patch) = changes.next_if(|patch| patch.span.end <= member.content.end) {
            check_place(archive, member, &patch)?;
            patches.push(patch);
        }
        if !patches.is_empty() {
            resize(archive, member, alignment, &mut patches)?;
        }
        all.append(&mut patches);
    }
    if let Some(patch) = changes.next() {
        return Err(outside(archive, &patch).into());
    }
    let layout = PatchLayout::of(&all);
    if members.iter().any(|member| layout.new_offset(member.header) != member.header) {
        let new_header = |old: u64| {
            let is_header = members.binary_search_by_key(&old, |member| member.header).is_ok();
            is_header.then(|| layout.new_offset(old))
        };
        all.extend(symbol_table::patches(archive, &members, &new_header)?);
    }
    Patches::new(all).ok_or_else(|| archive.malformed("archive", 0, Cause::Described("members overlap".into())).into())
}

/// Checks that a patch is in the bytes of a file in the archive.
fn check_place(archive: View<'_>, member: &ArMember<'_>, patch: &Patch<'_>) -> Result<(), Malformed> {
    if patch.span.start < member.start || symbol_table::is_table(member) {
        return Err(outside(archive, patch));
    }
    Ok(())
}

fn outside(archive: View<'_>, patch: &Patch<'_>) -> Malformed {
    let cause = format!("span {:#x}..{:#x} of an edit is not in one member", patch.span.start, patch.span.end);
    archive.malformed("archive", patch.span.start, Cause::Described(cause))
}

/// Adds patches for the header of a member and for the padding after it.
fn resize<'data>(
    archive: View<'data>,
    member: &ArMember<'_>,
    alignment: Option<u64>,
    patches: &mut Vec<Patch<'data>>,
) -> Result<(), Malformed> {
    let old = size_of_range(&member.content);
    let mut size = PatchLayout::of(patches).new_size(old);
    let insertion = |at: u64, bytes: Vec<u8>| Patch::resizing(at..at, Content::from(bytes));
    let end = member.content.end;
    if let Some(alignment) = alignment {
        let padding = old.wrapping_sub(size) & alignment.wrapping_sub(1);
        patches.push(insertion(end, vec![b'\n'; padding as usize]));
        size = [size, padding].iter().sum();
    }
    match (size_of_range(&(end..member.end)), size & 1) {
        (0, 1) => patches.push(insertion(end, b"\n".to_vec())),
        (1, 0) => patches.push(Patch::resizing(end..member.end, Content::new())),
        _ => {}
    }
    let digits = format!("{size:<width$}", width = size_of_range(&member.digits) as usize);
    let at = member.digits.start;
    let field = Patch::in_place(member.digits.clone(), Content::from(digits.into_bytes()));
    let cause = || Cause::Described(format!("{size} bytes exceed the ten digits of the header"));
    patches.push(field.ok_or_else(|| archive.malformed("archive member size", at, cause()))?);
    Ok(())
}

/// Returns the alignment that all members have in an archive for macOS.
fn alignment(members: &[ArMember<'_>]) -> Option<u64> {
    let files = || members.iter().filter(|member| !symbol_table::is_table(member));
    let is_aligned = |member: &ArMember<'_>| member.start.is_multiple_of(DARWIN_ALIGNMENT);
    (files().all(is_aligned) && files().any(ArMember::has_bsd_name)).then_some(DARWIN_ALIGNMENT)
}
