//! The search by magic, for all formats in one pass, in bytes that no structure explains.

use std::ops::Range;
use std::sync::LazyLock;
use std::sync::atomic::{AtomicBool, Ordering};

use aho_corasick::packed::Searcher;
use aho_corasick::{AhoCorasick, Input, Span};

use super::findings::Findings;
use super::source::Source;
use super::structure::Structure;
use crate::bytes::{Budget, Resource, View, size_of_range};
use crate::error::{Malformed, Result};
use crate::format::{FORMATS, Format};
use crate::parallel::{map_parallel, processors};

/// Searcher for the magics of all formats. The vectorized one runs at 17 GB/s, where a pass of `memmem` for each magic
/// reaches 4.5 and the automaton 0.7; it needs vector instructions that not every machine has.
enum MagicSearcher {
    Vectorized(Searcher),
    Automaton(AhoCorasick),
}

static SEARCHER: LazyLock<MagicSearcher> = LazyLock::new(|| {
    let magics = FORMATS.map(|format| format.magic);
    match Searcher::new(magics) {
        Some(searcher) => MagicSearcher::Vectorized(searcher),
        None => MagicSearcher::Automaton(AhoCorasick::new(magics).expect("a handful of short patterns")),
    }
});

impl MagicSearcher {
    /// Returns the first occurrence at or after `at`: format and offset.
    fn find(&self, block: &[u8], at: usize) -> Option<(&'static Format, usize)> {
        let span = Span { start: at, end: block.len() };
        let found = match self {
            MagicSearcher::Vectorized(searcher) => searcher.find_in(block, span)?,
            MagicSearcher::Automaton(automaton) => automaton.find(Input::new(block).span(span))?,
        };
        Some((FORMATS.get(found.pattern().as_usize())?, found.start()))
    }
}

/// Number of bytes that one thread searches at a time. Starting a smaller part costs more than searching it; in larger
/// parts, pages that were read for false magics stay in memory for longer.
const PART_SIZE: u64 = 4 << 20;

/// Adds every container in `range` of the source. A magic without a valid container is not an error: any large file has
/// some. In a file that ends too early, one whose container would extend beyond the end is.
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
    let (mut outcome, is_exhausted) = (Ok(()), AtomicBool::new(false));
    let is_cut = structure.defect.is_some();
    // End of the last container.
    let mut next = range.start;
    let search_part = |&start: &u64| {
        if is_exhausted.load(Ordering::Relaxed) {
            return Ok(Hits::default());
        }
        hits(source, view, start..range.end, is_cut)
    };
    map_parallel(&starts, processors(), search_part, &mut |hits: Result<Hits>| {
        let Hits { containers, rejected, used } = match hits {
            Ok(hits) => hits,
            Err(error) => return outcome = Err(error),
        };
        if let (Some(budget), Some(used)) = (budget, used)
            && budget.charge_part(&used).is_err()
        {
            // Deterministic: parts are charged in their order, and later ones are not used.
            is_exhausted.store(true, Ordering::Relaxed);
        }
        if is_exhausted.load(Ordering::Relaxed) {
            return;
        }
        findings.count_reads(rejected);
        for (format, offset) in containers {
            if offset < next || outcome.is_err() {
                continue;
            }
            match (format.read)(view.from(offset)) {
                Ok(container) => {
                    findings.add(&container, structure.section_at(offset).as_ref());
                    next = offset.saturating_add(container.view.size());
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

/// Number of bytes that are searched in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// Containers in a part of a file.
#[derive(Default)]
struct Hits {
    /// Formats and offsets of containers, truncated ones included.
    containers: Vec<(&'static Format, u64)>,
    /// Number of magics without a container.
    rejected: u64,
    /// Budget of the part.
    used: Option<Budget>,
}

/// Returns the containers that start in the part at the start of `rest`, including those inside others; in a file that is
/// cut, truncated ones as well.
fn hits(source: &dyn Source, view: View<'_>, rest: Range<u64>, is_cut: bool) -> Result<Hits> {
    let Range { start, end: end_of_range } = rest;
    let longest = FORMATS.iter().map(|format| format.magic.len()).max().unwrap_or_default();
    let overlap = longest.saturating_sub(1);
    let end = start.saturating_add(PART_SIZE).min(end_of_range);
    // A magic may begin in this part and end in the next.
    let range = start..end.saturating_add(overlap as u64).min(end_of_range);
    let used = view.budget().map(Budget::part);
    let part = used.as_ref().map_or(view, |budget| view.charging(budget));
    let (mut containers, mut rejected, mut next) = (Vec::new(), 0_u64, start);
    source.blocks(range, overlap, &mut |block_offset, block| {
        while let Some((format, at)) = SEARCHER.find(block, next.saturating_sub(block_offset) as usize) {
            let offset = block_offset.saturating_add(at as u64);
            if offset >= end {
                break;
            }
            match (format.read)(part.from(offset)) {
                Ok(_) => containers.push((format, offset)),
                Err(error) if is_cut && error.cause.is_truncation() => containers.push((format, offset)),
                Err(_) => rejected = rejected.saturating_add(1),
            }
            // Only one byte further, because magics can overlap: the bundle's ends with the bytes that it begins with.
            next = offset.saturating_add(1);
        }
    })?;
    Ok(Hits { containers, rejected, used })
}
