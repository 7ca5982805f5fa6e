//! Files to scan: a file on disk, a member of an archive, or a range of either.

mod ahead;
mod appended;
mod decompressed_address;
mod expand;
mod host_bitcode;
mod kpack;
mod left_behind;
mod paths;
mod scanned_files;
mod unopened;
mod unpacked;

use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use self::{
    appended::has_archive as has_appended_archive,
    expand::{Archives, expand_input},
    kpack::KpackSearch,
    paths::{InputPath, Outcome, expand_paths},
    unpacked::unpacked,
};
pub use self::{
    expand::{OpenOptions, each_input},
    paths::Scanner,
    scanned_files::ScannedFiles,
};
use super::Options;
use super::cache::{CacheBudget, DecompressedCache};
use super::images::Scan;
use super::source::{DecodedBitcode, InputRange, Source};
use crate::base::archive::RowComparison;
use crate::base::bytes::{Budget, Limits, Resource, View, size_of_range};
use crate::base::code::Coded;
use crate::base::error::{Cause, Error, Result};
use crate::base::file_path::FilePath;
use crate::base::io::{Access, FileState, Input, Spooled};
use crate::scan::inventory::{DiskLocation, File, NotOpened};

/// A file, or a part of a file that is a complete file: a member of an archive, or the bytes of a `file://` address.
#[derive(Debug, Clone)]
pub struct InputSlice {
    /// Name for reports and messages: the path, or `ARCHIVE!MEMBER` for a member.
    #[doc(hidden)]
    pub path: FilePath,
    /// Reason why files packed in this one are not among the inputs.
    pub(crate) not_opened: Option<NotOpened>,
    /// Path of the file on disk that this is, or that contains it; absent for standard input.
    outermost: Option<Arc<Path>>,
    /// Number of bytes that it takes in its archive, if the archive states it.
    packed_size: Option<u64>,
    /// Sections of the bitcode that the bytes were decoded from.
    decoded: Option<Arc<DecodedBitcode>>,
    input: Arc<Input>,
    range: Range<u64>,
}

impl InputSlice {
    /// Creates a slice of a whole file.
    #[doc(hidden)]
    pub fn whole(path: FilePath, input: Input) -> InputSlice {
        let range = 0..input.size();
        let outermost = if input.is_on_disk() { Some(Arc::from(input.path())) } else { None };
        let not_opened = None;
        let packed_size = None;
        let decoded = None;
        let input = Arc::new(input);
        InputSlice { path, not_opened, outermost, packed_size, decoded, input, range }
    }

    /// A slice of all of `input`, which was decoded from this one.
    pub(crate) fn with_decoded(self, input: Input, decoded: Arc<DecodedBitcode>) -> InputSlice {
        let range = 0..input.size();
        InputSlice { decoded: Some(decoded), input: Arc::new(input), range, ..self }
    }

    /// The file that holds the bytes.
    pub fn input(&self) -> &Input {
        &self.input
    }

    /// True for a whole file on disk, and false for a member of an archive or a range of a file.
    fn is_own_file(&self) -> bool {
        self.input.is_on_disk() && self.range == (0..self.input.size())
    }

    /// A slice of all of `input`, which was read from this one, with the name `path`.
    pub(crate) fn with_bytes(self, path: FilePath, input: Input) -> InputSlice {
        let range = 0..input.size();
        InputSlice { path, decoded: None, input: Arc::new(input), range, ..self }
    }

    /// The `size` bytes at `offset` as a slice with the name `path`.
    pub(crate) fn cut(self, path: FilePath, offset: u64, size: u64) -> Result<InputSlice> {
        let limit = size_of_range(&self.range);
        let Some(end) = offset.checked_add(size).filter(|end| *end <= limit) else {
            let why = Cause::OutOfBounds { offset, size, limit }.to_string();
            return Err(Error::Address { address: path.into(), why });
        };
        Ok(InputSlice { path, range: self.in_input().outer_range(&(offset..end)), ..self })
    }

    /// Compares the file with the record of a wheel.
    fn compare(&self, comparison: &mut RowComparison<'_>) -> Result<()> {
        let size = self.view().size();
        if !comparison.hashes() {
            comparison.add_size(size);
            return Ok(());
        }
        let charged = self.view().charge("archive member", Resource::Work, comparison.work(size));
        charged.map_err(|malformed| malformed.in_file(self.path.printed()))?;
        self.blocks(0..size, 0, &mut |_, bytes| comparison.add(bytes))
    }

    fn in_input(&self) -> InputRange<'_> {
        InputRange::new(&self.input, &self.range)
    }

    /// Closes the file if it can be opened again.
    fn close(self) -> ClosedInput {
        let InputSlice { path, not_opened: _, outermost, packed_size, decoded, input, range } = self;
        let path_in_errors = || (input.path().to_owned(), input.access(), input.budget().clone());
        let file = match (input.state(), input.spooled()) {
            (Some(state), _) => {
                let (path, access, budget) = path_in_errors();
                ClosedFile::OnDisk { path, state: state.clone(), access, budget }
            }
            (None, Some(spooled)) => {
                let (path, access, budget) = path_in_errors();
                ClosedFile::Spooled { path, spooled: spooled.clone(), access, budget }
            }
            (None, None) => ClosedFile::Mapped(input),
        };
        ClosedInput { path, outermost, packed_size, decoded, file, range }
    }
}

/// An input whose file is closed. No system lets a program keep thousands of files open.
#[derive(Debug)]
struct ClosedInput {
    path: FilePath,
    outermost: Option<Arc<Path>>,
    packed_size: Option<u64>,
    decoded: Option<Arc<DecodedBitcode>>,
    file: ClosedFile,
    range: Range<u64>,
}

#[derive(Debug)]
enum ClosedFile {
    OnDisk {
        path: PathBuf,
        state: FileState,
        access: Access,
        budget: Budget,
    },
    /// A file in a spool.
    Spooled {
        path: PathBuf,
        spooled: Spooled,
        access: Access,
        budget: Budget,
    },
    /// A file without a name. Its mapping stays.
    Mapped(Arc<Input>),
}

impl ClosedInput {
    fn open(&self) -> Result<InputSlice> {
        let input = match &self.file {
            ClosedFile::OnDisk { path, state, access, budget } => {
                let input = Input::open_file(path.clone(), *access)?.with_budget(budget.clone());
                if !input.state().is_some_and(|now| now.has_contents_of(state)) {
                    return Err(Error::Changed { path: path.clone() });
                }
                Arc::new(input)
            }
            ClosedFile::Spooled { path, spooled, access, budget } => {
                Arc::new(Input::of_spool(path, spooled.clone(), *access)?.with_budget(budget.clone()))
            }
            ClosedFile::Mapped(input) => Arc::clone(input),
        };
        let path = self.path.clone();
        let range = self.range.clone();
        let outermost = self.outermost.clone();
        let packed_size = self.packed_size;
        let decoded = self.decoded.clone();
        Ok(InputSlice { path, not_opened: None, outermost, packed_size, decoded, input, range })
    }
}

/// A scanned file that is closed. It is opened again to read its images.
#[derive(Debug)]
pub struct ScannedFile {
    file: Arc<File>,
    input: ClosedInput,
    cache: Arc<DecompressedCache>,
    limits: Limits,
}

impl ScannedFile {
    /// Scans an input and closes it. Containers that the scan decompresses are kept, up to `budget`.
    pub(crate) fn scan(input: InputSlice, options: Options, budget: Option<&CacheBudget>) -> Result<Self> {
        let (input, mut file, cache) = Scan::with_options(input, options, budget)?.into_parts();
        if input.is_own_file() && left_behind::is_left_behind(input.input.path()) {
            left_behind::record(Arc::make_mut(&mut file));
        }
        input.input.check_unchanged()?;
        // The decoded bitcode of thousands of objects stays mapped.
        input.release(0..u64::MAX);
        let limits = input.input.budget().limits();
        Ok(ScannedFile { file, input: input.close(), cache, limits })
    }

    /// Finds the kpack archives that the file refers to.
    pub(crate) fn find_archives(&mut self, search: &KpackSearch) {
        if self.file.kpack.is_empty() {
            return;
        }
        let mut file = File::clone(&self.file);
        match self.input.open() {
            Ok(slice) => {
                let path = if slice.is_own_file() { Some(slice.input.path()) } else { None };
                search.run(&mut file, path, slice.view());
                self.file = Arc::new(file);
            }
            Err(error) => {
                let remedy = error.class().remedy;
                self.file = Arc::new(File { failure: Some(error.to_string()), remedy, ..file });
            }
        }
    }

    /// The inventory.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// The limits that applied when the file was read.
    #[doc(hidden)]
    pub fn limits(&self) -> Limits {
        self.limits
    }

    /// Returns the inventory.
    #[doc(hidden)]
    pub fn into_file(self) -> File {
        Arc::unwrap_or_clone(self.file)
    }

    /// Name of the member, if the file is a member of an archive.
    #[doc(hidden)]
    pub fn member(&self) -> Option<&str> {
        self.input.path.member()
    }

    /// Path of the file on disk that this is, or that contains it as a member; absent for standard input.
    #[doc(hidden)]
    pub fn outermost(&self) -> Option<&Arc<Path>> {
        self.input.outermost.as_ref()
    }

    /// Number of bytes that the file takes in its archive, if the archive states it.
    #[doc(hidden)]
    pub fn packed_size(&self) -> Option<u64> {
        self.input.packed_size
    }

    /// Opens the file again. Fails if the file has changed since it was scanned.
    pub fn open(&self) -> Result<Scan<InputSlice>> {
        Ok(Scan::from_parts(self.input.open()?, Arc::clone(&self.file), Arc::clone(&self.cache)))
    }
}

impl Source for InputSlice {
    fn path(&self) -> FilePath {
        self.path.clone()
    }

    fn view(&self) -> View<'_> {
        self.in_input().view()
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

    fn not_opened(&self) -> Option<NotOpened> {
        self.not_opened
    }

    fn on_disk(&self) -> Option<DiskLocation> {
        self.input.on_disk().map(|it| DiskLocation { offset: self.range.start, ..it })
    }

    fn decoded_from(&self) -> Option<&DecodedBitcode> {
        self.decoded.as_deref()
    }
}
