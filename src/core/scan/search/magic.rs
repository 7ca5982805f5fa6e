//! The search for containers and for images without a container. It takes one pass for all formats, in bytes that no
//! structure explains.

use std::ops::Range;
use std::sync::atomic::{AtomicBool, Ordering};

use super::findings::Findings;
use super::frames;
use super::hints::{LONGEST, Pattern};
use crate::base::bytes::{Budget, Resource, View, size_of_range};
use crate::base::error::{Malformed, Result};
use crate::base::parallel::map_parallel;
use crate::base::range::offset_from;
use crate::scan::source::Source;
use crate::scan::structure::Structure;

/// Number of bytes that one thread searches at a time. Starting a smaller part costs more than searching it. In larger
/// parts, pages that were read for false magics stay in memory longer.
const PART_SIZE: u64 = 4 << 20;

/// Adds every container in `range` of the source. A magic without a valid container is not an error, because any large
/// file has some. The exception is a truncated file: there, a container that would extend beyond the end is an error.
pub fn search(
    source: &dyn Source,
    view: View<'_>,
    range: Range<u64>,
    structure: &Structure,
    findings: &mut Findings,
) -> Result<()> {
    let starts: Vec<u64> = range.clone().step_by(PART_SIZE as usize).collect();
    let budget = view.budget();
    if view.charge("file", Resource::Work, size_of_range(&range) / BYTES_PER_STEP).is_err() {
        return Ok(());
    }
    let mut outcome = Ok(());
    let is_exhausted = AtomicBool::new(false);
    let is_cut = structure.defect.is_some();
    // End of the last container.
    let mut next = range.start;
    let search_part = |&start: &u64| {
        if is_exhausted.load(Ordering::Relaxed) {
            return Ok(Hits::default());
        }
        hits(source, view, start, &range, structure)
    };
    map_parallel(&starts, usize::MAX, search_part, &mut |hits: Result<Hits>| {
        let Hits { containers, rejected, used } = match hits {
            Ok(hits) => hits,
            Err(error) => return outcome = Err(error),
        };
        if let (Some(budget), Some(used)) = (budget, used)
            && budget.charge_part(&used).is_err()
        {
            // For deterministic results, parts are charged in order, and later ones are not used.
            is_exhausted.store(true, Ordering::Relaxed);
        }
        if is_exhausted.load(Ordering::Relaxed) {
            return;
        }
        findings.count_reads(rejected);
        for (pattern, offset) in containers {
            if offset < next || outcome.is_err() {
                continue;
            }
            if let Pattern::ZstdFrame = pattern {
                next = next.max(search_frame(view, offset, structure, findings));
                continue;
            }
            match pattern.read(view, offset, structure, &(next..range.end)) {
                Ok(container) => {
                    findings.add(&container, structure.section_at(offset).as_ref());
                    next = container.view.range().end;
                }
                Err(error) if is_cut && error.cause.is_truncation() => {
                    if view.charge("container", Resource::Memory, size_of::<Malformed>() as u64).is_ok() {
                        findings.errors.push(error);
                    }
                }
                Err(_) => {}
            }
        }
    });
    outcome
}

/// Searches the zstd frame at `offset`, unless it belongs to compressed debug information. Returns its end, or `offset`
/// if it cannot be decompressed.
fn search_frame(view: View<'_>, offset: u64, structure: &Structure<'_>, findings: &mut Findings) -> u64 {
    let frame = view.from(offset);
    let is_debug = structure.section_at(offset).is_some_and(|section| section.name.starts_with(DEBUG_SECTIONS));
    if is_debug {
        return offset;
    }
    let Some(frame) = frames::size(frame).and_then(|size| frame.prefix("zstd frame", size).ok()) else {
        return offset;
    };
    match frames::find_device_code(frame) {
        Ok(found) => findings.errors.extend(found),
        Err(_) => return offset,
    }
    frame.range().end
}

/// Prefix of the names of sections with debug information.
const DEBUG_SECTIONS: &str = ".debug_";

/// Number of bytes searched per step of work.
const BYTES_PER_STEP: u64 = 64;

/// Containers in a part of a file.
#[derive(Default)]
struct Hits {
    /// Patterns of containers and images with their offsets, including truncated ones.
    containers: Vec<(Pattern, u64)>,
    /// Number of patterns without a container or image.
    rejected: u64,
    /// Budget of the part.
    used: Option<Budget>,
}

/// Returns the containers and images with a pattern in the part of `range` that begins at `start`, including those
/// inside others. In a truncated file, truncated containers are included.
fn hits(
    source: &dyn Source,
    view: View<'_>,
    start: u64,
    range: &Range<u64>,
    structure: &Structure<'_>,
) -> Result<Hits> {
    let overlap = LONGEST.saturating_sub(1);
    let end = offset_from(start, PART_SIZE).min(range.end);
    let is_cut = structure.defect.is_some();
    // A pattern may begin in this part and end in the next.
    let searched = start..offset_from(end, overlap as u64).min(range.end);
    let used = view.budget().map(Budget::part);
    let part = used.as_ref().map_or(view, |budget| view.charging(budget));
    let mut containers = Vec::new();
    let mut rejected = 0_u64;
    let mut next = start;
    source.blocks(searched, overlap, &mut |block_offset, block| {
        while let Some((pattern, at)) = Pattern::find(block, size_of_range(&(block_offset..next)) as usize) {
            let offset = offset_from(block_offset, at as u64);
            if offset >= end {
                break;
            }
            // Advances by only one byte, because patterns can overlap: the magic of a bundle ends with its first bytes.
            next = offset_from(offset, 1);
            // In a truncated file, a container that extends beyond the end is reported.
            let rest = if is_cut { u64::MAX } else { view.from(offset).size() };
            if pattern.is_refuted_by(block.get(at..).unwrap_or_default(), rest) {
                continue;
            }
            let is_found = match pattern.read(part, offset, structure, range) {
                _ if matches!(pattern, Pattern::ZstdFrame) => frames::size(part.from(offset)).is_some(),
                Ok(_) => true,
                Err(error) => is_cut && error.cause.is_truncation(),
            };
            if is_found {
                containers.push((pattern, offset));
            } else {
                rejected = rejected.saturating_add(1);
            }
        }
    })?;
    Ok(Hits { containers, rejected, used })
}
