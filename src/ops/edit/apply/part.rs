//! A file in an input: all of it, or a member of a static library in it.

use std::ops::Range;
use std::path::Path;

use fatbin_core::base::bytes::{Extent, View};
use fatbin_core::base::error::{Malformed, Result};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::Input;
use fatbin_core::base::range::range_at;
use fatbin_core::scan::inventory::DiskLocation;
use fatbin_core::scan::{InputRange, Source};

/// A range of an input that is a file.
#[derive(Debug, Clone)]
pub struct Part<'a> {
    path: FilePath,
    input: &'a Input,
    range: Range<u64>,
}

impl<'a> Part<'a> {
    /// Returns all of an input, with a name for messages.
    pub fn whole(path: FilePath, input: &'a Input) -> Self {
        Part { path, input, range: 0..input.size() }
    }

    /// Returns the `size` bytes at `offset` as a file.
    pub fn cut(&self, path: FilePath, offset: u64, size: u64) -> Result<Self, Malformed> {
        self.bytes().record("archive member", Extent { offset, size })?;
        Ok(Part { path, input: self.input, range: self.in_input().outer_range(&range_at(offset, size)) })
    }

    /// Path of the file, unless it is a member of an archive or was read from standard input.
    pub fn path_on_disk(&self) -> Option<&'a Path> {
        let is_whole = self.range == (0..self.input.size());
        if is_whole && self.input.is_on_disk() { Some(self.input.path()) } else { None }
    }

    /// Range in the input.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }

    /// The file, or the temporary file, that holds it.
    pub fn input(&self) -> &'a Input {
        self.input
    }

    /// All bytes, with offsets from the start of the file.
    pub fn bytes(&self) -> View<'a> {
        self.in_input().view()
    }

    fn in_input(&self) -> InputRange<'a> {
        InputRange::new(self.input, &self.range)
    }
}

impl Source for Part<'_> {
    fn path(&self) -> FilePath {
        self.path.clone()
    }

    fn view(&self) -> View<'_> {
        self.bytes()
    }

    fn blocks(&self, range: Range<u64>, overlap: usize, visit: &mut dyn FnMut(u64, &[u8])) -> Result<()> {
        self.in_input().blocks(&range, overlap, visit)
    }

    fn release(&self, range: Range<u64>) {
        self.in_input().release(&range);
    }

    fn next_data(&self, offset: u64) -> u64 {
        self.in_input().next_data(offset)
    }

    fn next_hole(&self, offset: u64) -> u64 {
        self.in_input().next_hole(offset)
    }

    fn on_disk(&self) -> Option<DiskLocation> {
        let path = self.input.is_on_disk().then(|| self.input.path().to_owned())?;
        Some(DiskLocation { path, offset: self.range.start })
    }
}
