//! Inputs without the feature `files`: whole files, read into memory.

use std::ops::Range;
use std::path::{Path, PathBuf};

use super::offset_in;
use crate::base::bytes::{Budget, Limits, View};
use crate::base::error::{Error, Result};

/// Number of bytes that [`Input::blocks`] visits at a time.
const STEP: usize = 16 << 20;

/// Method of access to the bytes of input files.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Access(());

impl Access {
    /// Reads every input into memory when it is opened. Changes of a file after that are not noticed.
    pub const fn read() -> Self {
        Access(())
    }
}

/// A regular file in memory.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    bytes: Vec<u8>,
    budget: Budget,
}

impl Input {
    /// Reads `path`, which must be a regular file.
    pub fn open(path: impl Into<PathBuf>, _access: Access) -> Result<Input> {
        let path = path.into();
        let metadata = std::fs::metadata(&path).map_err(Error::io(&path, "open"))?;
        if !metadata.is_file() {
            let found = if metadata.is_dir() { "a directory" } else { "a device, pipe or socket" };
            return Err(Error::NotAFile { path, found });
        }
        let bytes = std::fs::read(&path).map_err(Error::io(&path, "read"))?;
        let budget = Budget::new(Limits::default(), bytes.len() as u64);
        Ok(Input { path, bytes, budget })
    }

    /// Creates an input from bytes in memory. `name` stands for the path in messages.
    pub fn from_bytes(name: impl Into<PathBuf>, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Input {
        let bytes = bytes.as_ref().to_vec();
        let budget = Budget::new(Limits::default(), bytes.len() as u64);
        Input { path: name.into(), bytes, budget }
    }

    /// Applies these limits to reading the input.
    pub(crate) fn with_limits(self, limits: Limits) -> Input {
        Input { budget: Budget::new(limits, self.size()), ..self }
    }

    /// Budget for reading the input.
    pub(crate) fn budget(&self) -> &Budget {
        &self.budget
    }

    /// The path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Method of access to the input.
    pub(crate) fn access(&self) -> Access {
        Access::read()
    }

    /// Does nothing: bytes in memory do not change.
    pub fn check_unchanged(&self) -> Result<()> {
        Ok(())
    }

    /// Returns whether the path leads to these bytes.
    pub(crate) fn is_on_disk(&self) -> bool {
        true
    }

    /// A view of all bytes.
    pub fn view(&self) -> View<'_> {
        View::with_budget(&self.bytes, &self.budget)
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns a part of the input.
    pub(crate) fn in_memory(&self, offset: u64, size: u64) -> Option<&[u8]> {
        self.bytes.get(usize::try_from(offset).ok()?..usize::try_from(offset.checked_add(size)?).ok()?)
    }

    /// Does nothing: no pages are mapped.
    pub(crate) fn release(&self) {}

    /// Does nothing: no pages are mapped.
    pub(crate) fn release_part(&self, _range: Range<u64>) {}

    /// Does nothing: no pages are mapped.
    pub(crate) fn count_read(&self, _bytes: u64) {}

    /// Returns the offset of `part` in this input if it is a slice of its bytes.
    pub(crate) fn offset_of(&self, part: &[u8]) -> Option<u64> {
        offset_in(&self.bytes, part)
    }

    /// Returns `offset`: nothing in memory is a hole.
    pub(crate) fn next_data(&self, offset: u64) -> u64 {
        offset
    }

    /// Returns the end of the file: nothing in memory is a hole.
    pub(crate) fn next_hole(&self, _offset: u64) -> u64 {
        self.size()
    }

    /// Calls `visit(offset, bytes)` for each block of `range` in order. Each block begins with the last `overlap` bytes
    /// of the block before, so that nothing shorter than that is cut in two.
    pub(crate) fn blocks(&self, range: Range<u64>, overlap: usize, mut visit: impl FnMut(u64, &[u8])) -> Result<()> {
        let Some(bytes) = self.in_memory(range.start, range.end - range.start) else {
            return Err(Error::Shrunk { path: self.path.clone(), missing: range.end - self.size() });
        };
        for start in (0..bytes.len()).step_by(STEP) {
            let from = start - overlap.min(start);
            let to = bytes.len().min(start + STEP);
            visit(range.start + from as u64, &bytes[from..to]);
        }
        Ok(())
    }
}
