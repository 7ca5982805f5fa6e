//! Sizes of sections: free bytes at the end of a section are cut out, and everything after them moves.
//!
//! In an object nothing has an address, so this is always possible, and the last container of a section may get larger.
//! In a linked file, the bytes must be at the end of the loaded bytes of a segment, or not be loaded. Later segments
//! move by multiples of their alignment.

use std::ops::Range;

use super::KeepsSize;
use super::elf_headers::ElfHeaders;
use super::patch::{Patch, Rest};
use fatbin_core::base::bytes::{View, size_of_range};
use fatbin_core::base::content::Content;
use fatbin_core::base::range::offset_from;

/// Cuts free bytes at the ends of sections out of the file. Returns why other free bytes stay, if there are any.
pub fn shrink<'data>(
    view: View<'data>,
    headers: &mut ElfHeaders<'data>,
    patches: &mut Vec<Patch<'data>>,
) -> Option<KeepsSize> {
    let sections: Vec<_> = headers.sections().filter(|(_, range)| size_of_range(range) > 0).collect();
    patches.sort_by_cached_key(|patch| (patch.span.start, patch.span.end));
    let mut kept = None;
    let mut cuts = Vec::new();
    for (index, range) in sections {
        let Some(last) = last_in(patches, &range) else { continue };
        let free = offset_from(last.span.start, last.content.size())..range.end;
        let has_zeros = last.rest == Rest::Zeros && size_of_range(&last.span) > last.content.size();
        if !has_zeros || !is_zero(view, last.span.end..range.end) {
            continue;
        }
        match headers.cut(index, free) {
            Ok(cut) => {
                last.span.end = cut.start;
                cuts.push(Patch::resizing(cut, Content::new()));
            }
            Err(reason) => kept = Some(reason),
        }
    }
    patches.append(&mut cuts);
    kept
}

/// Returns the last of sorted patches in a range.
fn last_in<'a, 'data>(patches: &'a mut [Patch<'data>], range: &Range<u64>) -> Option<&'a mut Patch<'data>> {
    let count = patches.partition_point(|patch| patch.span.start <= range.end);
    let mut before = patches.get_mut(..count)?.iter_mut().rev().take_while(|patch| patch.span.start >= range.start);
    before.find(|patch| patch.span.end <= range.end)
}

/// Returns the patch of a container that grows together with its section of an object. Returns `None` if the container
/// is not the last in the section.
pub fn grow<'data>(
    view: View<'data>,
    headers: &mut ElfHeaders<'data>,
    span: Range<u64>,
    mut content: Content<'data>,
) -> Option<Patch<'data>> {
    let (section, range) = headers.section_around(&span)?;
    if !headers.is_relocatable() || !is_zero(view, span.end..range.end) {
        return None;
    }
    let new_end = span.start.checked_add(content.size())?;
    let next = headers.next_used(range.end);
    let inserted = headers.grow(section, new_end)?;
    let padding = next.checked_add(inserted)?.checked_sub(new_end)?;
    content.push(vec![0; usize::try_from(padding).ok()?]);
    Some(Patch::resizing(span.start..next, content))
}

/// Returns whether there are only zeros in a range.
pub fn is_zero(view: View<'_>, range: Range<u64>) -> bool {
    let part = view.between("padding", range);
    part.is_ok_and(|padding| padding.skip_zeros().size() == 0)
}
