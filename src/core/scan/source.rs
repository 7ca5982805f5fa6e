//! Bytes that can be scanned.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::base::bytes::{View, size_of_range};
use crate::base::error::Result;
use crate::base::file_path::FilePath;
use crate::base::io::Input;
use crate::base::range::offset_from;
use crate::scan::inventory::{DiskLocation, NotOpened};

/// Number of bytes that are read before their pages are released. Releasing them more often would map the same pages
/// repeatedly.
pub const RELEASE_INTERVAL: u64 = 1 << 20;

/// Estimated number of bytes that were read since pages were released, by any number of threads.
#[derive(Debug, Default)]
pub struct Unreleased(AtomicU64);

impl Unreleased {
    /// Counts bytes. True if the pages are to be released now.
    pub fn add(&self, bytes: u64) -> bool {
        let is_enough = self.0.fetch_add(bytes, Ordering::Relaxed).saturating_add(bytes) >= RELEASE_INTERVAL;
        if is_enough {
            self.0.store(0, Ordering::Relaxed);
        }
        is_enough
    }
}

/// Host bitcode whose sections with device images were decoded.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DecodedBitcode {
    /// Size of the bitcode, in bytes.
    pub size: u64,
    /// Name and range of each section in the decoded bytes.
    pub sections: Vec<(String, Range<u64>)>,
}

/// Bytes to scan. Headers are read through the view, everything else block by block.
pub trait Source: Sync {
    /// Path for reports and messages.
    fn path(&self) -> FilePath;

    /// All bytes.
    fn view(&self) -> View<'_>;

    /// Calls `visit(offset, bytes)` for each block of `range` in order. Each block begins with the last `overlap` bytes
    /// of the previous block.
    fn blocks(&self, range: Range<u64>, overlap: usize, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()>;

    /// Releases memory that was used to read a range through the view.
    #[doc(hidden)]
    fn release(&self, _range: Range<u64>) {}

    /// Offset of the next byte at or after `offset` that may not be zero: the end of a hole.
    #[doc(hidden)]
    fn next_data(&self, offset: u64) -> u64 {
        offset
    }

    /// Offset of the next hole at or after `offset`, or the end.
    #[doc(hidden)]
    fn next_hole(&self, _offset: u64) -> u64 {
        self.view().size()
    }

    /// Reason why files packed in the bytes are not scanned; `None` if there are no such files.
    #[doc(hidden)]
    fn not_opened(&self) -> Option<NotOpened> {
        None
    }

    /// Place of the bytes in a file on disk; `None` if the file does not store them unchanged.
    #[doc(hidden)]
    fn on_disk(&self) -> Option<DiskLocation> {
        None
    }

    /// The bitcode that the bytes were decoded from; `None` if the bytes are a file without decoding.
    #[doc(hidden)]
    fn decoded_from(&self) -> Option<&DecodedBitcode> {
        None
    }
}

impl Source for Input {
    fn path(&self) -> FilePath {
        FilePath::new(Input::path(self))
    }

    fn view(&self) -> View<'_> {
        Input::view(self)
    }

    fn blocks(&self, range: Range<u64>, overlap: usize, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        Input::blocks(self, range, overlap, visit)
    }

    fn release(&self, range: Range<u64>) {
        self.release_part(range);
    }

    fn next_data(&self, offset: u64) -> u64 {
        Input::next_data(self, offset)
    }

    fn next_hole(&self, offset: u64) -> u64 {
        Input::next_hole(self, offset)
    }

    fn on_disk(&self) -> Option<DiskLocation> {
        self.is_on_disk().then(|| DiskLocation { path: self.path().to_owned(), offset: 0 })
    }
}

/// A range of an input as a file. Its offsets start at 0.
#[derive(Debug, Clone, Copy)]
pub struct InputRange<'a> {
    input: &'a Input,
    start: u64,
    end: u64,
}

impl<'a> InputRange<'a> {
    pub fn new(input: &'a Input, range: &Range<u64>) -> Self {
        InputRange { input, start: range.start, end: range.end }
    }

    /// All bytes.
    pub fn view(self) -> View<'a> {
        let whole = self.input.view();
        let bytes = whole.data().get(self.start as usize..self.end as usize);
        whole.derived(bytes.expect("a range of the input"))
    }

    /// Offset in the input; the end of the range for offsets beyond it.
    fn outer(self, offset: u64) -> u64 {
        offset_from(self.start, offset).min(self.end)
    }

    /// Offset in the range of a byte of the input; 0 for what precedes it.
    fn inner(self, offset: u64) -> u64 {
        size_of_range(&(self.start..offset))
    }

    /// Range in the input.
    pub fn outer_range(self, range: &Range<u64>) -> Range<u64> {
        self.outer(range.start)..self.outer(range.end)
    }

    /// Like [`Source::blocks`].
    pub fn blocks(self, range: &Range<u64>, overlap: usize, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        self.input.blocks(self.outer_range(range), overlap, |offset, bytes| visit(self.inner(offset), bytes))
    }

    /// Like [`Source::release`].
    pub fn release(self, range: &Range<u64>) {
        self.input.release_part(self.outer_range(range));
    }

    /// Like [`Source::next_data`].
    pub fn next_data(self, offset: u64) -> u64 {
        self.inner(self.input.next_data(self.outer(offset)))
    }

    /// Like [`Source::next_hole`].
    pub fn next_hole(self, offset: u64) -> u64 {
        self.inner(self.input.next_hole(self.outer(offset)))
    }
}

/// Bytes in memory are one block.
impl Source for View<'_> {
    fn path(&self) -> FilePath {
        FilePath::new("memory")
    }

    fn view(&self) -> View<'_> {
        *self
    }

    fn blocks(&self, range: Range<u64>, _overlap: usize, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        let block = self.data().get(range.start as usize..range.end as usize);
        visit(range.start, block.expect("a range of the view"));
        Ok(())
    }
}

impl<S: Source + ?Sized> Source for &S {
    fn path(&self) -> FilePath {
        S::path(self)
    }

    fn view(&self) -> View<'_> {
        S::view(self)
    }

    fn blocks(&self, range: Range<u64>, overlap: usize, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        S::blocks(self, range, overlap, visit)
    }

    fn release(&self, range: Range<u64>) {
        S::release(self, range);
    }

    fn next_data(&self, offset: u64) -> u64 {
        S::next_data(self, offset)
    }

    fn next_hole(&self, offset: u64) -> u64 {
        S::next_hole(self, offset)
    }

    fn not_opened(&self) -> Option<NotOpened> {
        S::not_opened(self)
    }

    fn on_disk(&self) -> Option<DiskLocation> {
        S::on_disk(self)
    }

    fn decoded_from(&self) -> Option<&DecodedBitcode> {
        S::decoded_from(self)
    }
}

/// Stored parts of a range. All other bytes are zeros.
pub(super) fn stored(source: &dyn Source, range: Range<u64>) -> impl Iterator<Item = Range<u64>> {
    let mut rest = range;
    std::iter::from_fn(move || {
        let start = source.next_data(rest.start).max(rest.start).min(rest.end);
        let end = source.next_hole(start).min(rest.end);
        rest.start = end.max(start);
        (start < end).then_some(start..end)
    })
}

#[cfg(all(test, target_os = "linux"))]
mod tests {
    use std::io::{Seek, SeekFrom, Write};

    use super::*;
    use crate::base::io::MAPPED;

    #[test]
    fn holes_are_left_out() {
        let mut file = tempfile::NamedTempFile::new().unwrap();
        let hole = 1 << 20;
        file.write_all(b"data").unwrap();
        file.seek(SeekFrom::Start(hole)).unwrap();
        file.write_all(b"data").unwrap();
        file.as_file().set_len(2 * hole).unwrap();
        let input = Input::open(file.path(), MAPPED).unwrap();
        let parts: Vec<_> = stored(&input, 0..2 * hole).collect();
        let sizes: u64 = parts.iter().map(|part| part.end - part.start).sum();
        assert!(parts.len() == 2 && sizes < hole, "{parts:?}");
        assert!(parts[0].start == 0 && parts[1].contains(&hole), "{parts:?}");
        let view: View<'_> = input.view();
        assert!(stored(&view, 3..10).eq(std::iter::once(3..10)));
    }
}
