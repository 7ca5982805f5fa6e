//! The places of containers in linked files: the sections that hold them, and the padding after them.

use std::ops::Range;

use fatbin_core::base::bytes::{Extent, View, size_of_range};
use fatbin_core::base::range::range_at;
use fatbin_core::scan::inventory::File;

/// Ranges of sections, sorted by their starts.
#[derive(Debug, Default)]
pub struct SectionRanges(Vec<(Range<u64>, usize)>);

/// Number of sections that are looked at for one range. In an intact file, sections do not overlap.
const MAX_OVERLAPPING: usize = 16;

impl SectionRanges {
    /// Sorts ranges with the indices of their sections.
    pub fn new(mut ranges: Vec<(Range<u64>, usize)>) -> Self {
        ranges.sort_by_cached_key(|(range, index)| (range.start, *index));
        SectionRanges(ranges)
    }

    /// Returns the section around a range, with its own.
    pub fn around(&self, range: &Range<u64>) -> Option<(usize, Range<u64>)> {
        let count = self.0.partition_point(|(section, _)| section.start <= range.start);
        let before = self.0.get(..count)?.iter().rev().take(MAX_OVERLAPPING);
        let around = before.filter(|(section, _)| range.end <= section.end);
        around.map(|(section, index)| (*index, section.clone())).next()
    }
}

/// Places of the containers of a file.
#[derive(Debug)]
pub struct Rooms {
    sections: SectionRanges,
    /// Offsets of wrappers, sorted.
    wrappers: Vec<u64>,
}

impl Rooms {
    /// Sorts the sections and the wrappers of a file.
    pub fn new(file: &File) -> Self {
        let range = |(index, section): (usize, &fatbin_core::scan::inventory::Section)| {
            (range_at(section.offset, section.size), index)
        };
        let mut wrappers: Vec<u64> = file.wrappers.iter().map(|wrapper| wrapper.offset).collect();
        wrappers.sort_unstable();
        Rooms { sections: SectionRanges::new(file.sections.iter().enumerate().map(range).collect()), wrappers }
    }

    /// Returns the number of bytes that a container in a linked file may have: its own, and the padding after it in its
    /// section. The next container begins at `next`.
    pub fn of(&self, view: View<'_>, next: Option<u64>, span: &Range<u64>) -> u64 {
        let own = size_of_range(span);
        let Some((_, section)) = self.sections.around(span) else { return own };
        let wrapper = self.wrappers.get(self.wrappers.partition_point(|offset| *offset < span.end)).copied();
        let end = section.end.min(next.unwrap_or(section.end)).min(wrapper.unwrap_or(section.end)).min(view.size());
        let after = view.part("padding", Extent { offset: span.end, size: size_of_range(&(span.end..end)) });
        let padded = after.map_or(span.end, |after| after.skip_zeros().range_in(view).start);
        size_of_range(&(span.start..padded))
    }
}
