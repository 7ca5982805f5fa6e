//! Spans of a file and their new bytes.

use std::io::{self, Read};
use std::ops::Range;

use fatbin_core::base::bytes::{View, size_of_range};
use fatbin_core::base::content::Content;
use fatbin_core::base::range::{moved, offset_from};

/// New bytes for a span of a file.
#[derive(Debug, Clone)]
pub struct Patch<'data> {
    /// The span, in bytes from the start of the file.
    pub span: Range<u64>,
    /// Its new bytes.
    pub content: Content<'data>,
    /// Treatment of the rest of a span whose new bytes are fewer than the old.
    pub rest: Rest,
}

/// Treatment of the bytes that are left of a span.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Rest {
    /// They become zeros: all bytes after the span keep their offsets.
    Zeros,
    /// They are removed: the bytes after the span move, and the file changes its size.
    Removed,
}

/// Patches of a file, sorted and disjoint.
#[derive(Debug, Clone, Default)]
pub struct Patches<'data>(Vec<Patch<'data>>);

/// Spans of patches, and their sizes before and after the change.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct PatchLayout(Vec<PlacedSpan>);

/// A span, and the number of bytes that all spans up to it have together.
#[derive(Debug, Clone, PartialEq, Eq)]
struct PlacedSpan {
    span: Range<u64>,
    before: u64,
    after: u64,
}

/// A part of a patched file.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'a, 'data> {
    /// Bytes of the file before the change.
    Kept(&'data [u8]),
    /// New bytes.
    New(&'a Content<'data>),
    /// Zeros.
    Zeros(u64),
}

impl<'data> Patch<'data> {
    /// Creates a patch that changes no offsets. `None` if the new bytes exceed the span.
    pub fn in_place(span: Range<u64>, content: Content<'data>) -> Option<Self> {
        (content.size() <= size_of_range(&span)).then_some(Patch { span, content, rest: Rest::Zeros })
    }

    /// Creates a patch that replaces the span by bytes of any number.
    pub fn resizing(span: Range<u64>, content: Content<'data>) -> Self {
        Patch { span, content, rest: Rest::Removed }
    }

    /// Number of bytes that are replaced.
    pub fn old_size(&self) -> u64 {
        size_of_range(&self.span)
    }

    /// Returns the patch for a file that contains this one at an offset.
    pub fn shifted(self, offset: u64) -> Self {
        let span = moved(&self.span, offset);
        Patch { span, ..self }
    }

    /// Returns the patch for a file that begins `offset` bytes later; `None` if that file does not have the span.
    pub fn moved_back(self, offset: u64) -> Option<Self> {
        let span = self.span.start.checked_sub(offset)?..self.span.end.checked_sub(offset)?;
        Some(Patch { span, ..self })
    }

    /// Number of zeros after the new bytes.
    fn zeros(&self) -> u64 {
        match self.rest {
            // A patch in place has no more new bytes than old ones.
            Rest::Zeros => size_of_range(&(self.content.size()..size_of_range(&self.span))),
            Rest::Removed => 0,
        }
    }

    /// Number of bytes that replace the span.
    pub fn new_size(&self) -> u64 {
        match self.rest {
            Rest::Zeros => self.content.size().max(size_of_range(&self.span)),
            Rest::Removed => self.content.size(),
        }
    }
}

impl<'data> Patches<'data> {
    /// Sorts patches. `None` if two spans overlap.
    pub fn new(mut patches: Vec<Patch<'data>>) -> Option<Self> {
        patches.sort_by_cached_key(|patch| (patch.span.start, patch.span.end));
        let is_disjoint = patches.windows(2).all(|pair| match pair {
            [one, next] => one.span.end <= next.span.start,
            _ => true,
        });
        is_disjoint.then_some(Patches(patches))
    }

    /// Returns whether the file is unchanged.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The patches in the order of the file.
    pub fn iter(&self) -> impl Iterator<Item = &Patch<'data>> {
        self.0.iter()
    }

    /// Returns the patches for a file that contains this one at an offset.
    pub fn shifted(self, offset: u64) -> impl Iterator<Item = Patch<'data>> {
        self.0.into_iter().map(move |patch| patch.shifted(offset))
    }

    /// Returns the spans and their sizes.
    pub fn layout(&self) -> PatchLayout {
        PatchLayout::of(&self.0)
    }

    /// Returns the size of a file of `size` bytes after the change.
    pub fn new_size(&self, size: u64) -> u64 {
        self.layout().new_size(size)
    }

    /// Returns the offset after the change of a byte that is in no span.
    pub fn new_offset(&self, offset: u64) -> u64 {
        self.layout().new_offset(offset)
    }

    /// Writes the patched file to a writer that is not a file.
    pub fn copy_to(&self, file: View<'data>, to: &mut dyn io::Write) -> io::Result<()> {
        for part in self.parts(file) {
            match part {
                Part::Kept(bytes) => to.write_all(bytes)?,
                Part::New(content) => content.runs().try_for_each(|run| to.write_all(run))?,
                Part::Zeros(size) => drop(io::copy(&mut io::repeat(0).take(size), to)?),
            }
        }
        Ok(())
    }

    /// Returns the patched file, for tests and for small files.
    pub fn to_vec(&self, file: View<'data>) -> Vec<u8> {
        let mut bytes = Vec::new();
        self.copy_to(file, &mut bytes).expect("memory can be written");
        bytes
    }

    /// Returns the parts of the patched file.
    pub(super) fn parts<'a>(&'a self, file: View<'data>) -> Vec<Part<'a, 'data>> {
        let mut parts = Vec::new();
        let mut end = 0;
        let kept = |range: Range<u64>| {
            let part = file.between("span of an edit", range);
            Part::Kept(part.map(|view| view.data()).unwrap_or_default())
        };
        for patch in &self.0 {
            parts.push(kept(end..patch.span.start));
            parts.push(Part::New(&patch.content));
            parts.push(Part::Zeros(patch.zeros()));
            end = patch.span.end;
        }
        parts.push(kept(end..file.size()));
        parts.retain(|part| part.size() > 0);
        parts
    }
}

impl<'data> IntoIterator for Patches<'data> {
    type Item = Patch<'data>;
    type IntoIter = std::vec::IntoIter<Patch<'data>>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl PatchLayout {
    /// Returns the layout of patches in any order. Their spans must be disjoint.
    pub fn of(patches: &[Patch<'_>]) -> Self {
        let mut placed: Vec<PlacedSpan> = patches
            .iter()
            .map(|patch| PlacedSpan {
                span: patch.span.clone(),
                before: size_of_range(&patch.span),
                after: patch.new_size(),
            })
            .collect();
        placed.sort_by_cached_key(|placed| (placed.span.start, placed.span.end));
        let mut before = 0_u64;
        let mut after = 0_u64;
        for placed in &mut placed {
            before = offset_from(before, placed.before);
            after = offset_from(after, placed.after);
            placed.before = before;
            placed.after = after;
        }
        PatchLayout(placed)
    }

    /// The spans in the order of the file.
    pub fn spans(&self) -> impl Iterator<Item = Range<u64>> {
        self.0.iter().map(|placed| placed.span.clone())
    }

    /// Returns the size of a file of `size` bytes after the change.
    pub fn new_size(&self, size: u64) -> u64 {
        shifted(size, self.0.last())
    }

    /// Returns the offset after the change of a byte that is in no span, or the first of one.
    pub fn new_offset(&self, offset: u64) -> u64 {
        let count = self.0.partition_point(|placed| placed.span.end <= offset);
        shifted(offset, count.checked_sub(1).and_then(|last| self.0.get(last)))
    }

    /// Returns the offset after the change of a byte; `None` if a span contains it.
    pub fn new_offset_outside(&self, offset: u64) -> Option<u64> {
        let next = self.0.get(self.0.partition_point(|placed| placed.span.end <= offset));
        let is_inside = next.is_some_and(|placed| placed.span.start <= offset);
        (!is_inside).then(|| self.new_offset(offset))
    }
}

/// Returns the new offset of a byte after `last`, or of a byte that no span precedes.
fn shifted(offset: u64, last: Option<&PlacedSpan>) -> u64 {
    // Disjoint spans have no more bytes than precede the offset.
    last.map_or(offset, |last| offset_from(offset, last.after).saturating_sub(last.before))
}

impl Part<'_, '_> {
    fn size(&self) -> u64 {
        match self {
            Part::Kept(bytes) => bytes.len() as u64,
            Part::New(content) => content.size(),
            Part::Zeros(size) => *size,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn content(bytes: &[u8]) -> Content<'_> {
        Content::from(bytes)
    }

    #[test]
    fn bytes_outside_of_spans_are_kept() {
        let file = View::new(b"0123456789");
        let patches = Patches::new(vec![
            Patch::resizing(8..9, content(b"xyz")),
            Patch::in_place(2..5, content(b"a")).unwrap(),
            Patch::resizing(5..7, content(b"")),
        ])
        .unwrap();
        assert_eq!(patches.to_vec(file), b"01a\0\x007xyz9");
        assert_eq!(patches.new_size(10), 10);
        assert_eq!([0, 7, 9].map(|offset| patches.new_offset(offset)), [0, 5, 9]);
    }

    #[test]
    fn overlapping_spans_and_too_many_bytes_are_refused() {
        assert!(Patch::in_place(2..4, content(b"abc")).is_none());
        let [one, two] = [2..4, 3..5].map(|span| Patch::resizing(span, content(b"")));
        assert!(Patches::new(vec![one, two]).is_none());
    }
}
