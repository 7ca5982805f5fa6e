//! An input file, mapped or read into memory, and open for copying.

use std::cell::Cell;
use std::fs::File;
use std::ops::{Deref, Range};
use std::path::{Path, PathBuf};
use std::{fmt, io};

use memmap2::{Mmap, MmapOptions};

use super::descriptor::Descriptor;
use super::file_state::FileState;
#[cfg(target_os = "linux")]
use super::holes::Holes;
use super::mapping::Mapping;
use super::spool::Spooled;
use super::standard_input::{self, STANDARD_INPUT};
use crate::base::activity::Work;
use crate::base::bytes::{Budget, Limits, View};
use crate::base::error::{Error, Result};

/// Number of bytes that `Input::blocks` holds in memory. Reading through a buffer of this size takes 0.8 of the time of
/// 256 KiB, and as much as reading the mapping. Unlike the mapping, it does not make the memory of the process grow with
/// the file.
const BLOCK: usize = 1 << 20;

/// Size of a page. A block is read to its position in a page of the file: on some AMD processors, Linux copies a fourth
/// as fast to a position that is up to 63 bytes higher.
const PAGE: usize = 4096;

thread_local! {
    /// Buffer of the last call of `Input::blocks`, which the next call in the thread need not clear.
    static BUFFER: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// Number of bytes in memory that `Input::blocks` visits at a time. Pages of a mapping are released in between.
const STEP: usize = 16 << 20;

/// Method of access to the bytes of input files. The program decides, because only it knows who else writes its inputs.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Access(AccessKind);

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
enum AccessKind {
    #[default]
    Read,
    Map,
}

impl Access {
    /// Reads every input into memory when it is opened. Changes of a file after that are not noticed.
    pub const fn read() -> Self {
        Access(AccessKind::Read)
    }

    /// Maps inputs into memory. Opening a file then reads nothing, and only the pages that are used count as memory.
    ///
    /// # Safety
    ///
    /// No input may be truncated or written while it is open, by any process. Rust requires that the bytes behind a
    /// `&[u8]` do not change, and nothing can keep another process from changing a mapped file. In practice, measured
    /// on Linux by the tests of this module:
    ///
    /// - Writing to the file changes the bytes that a [`View`] shows. A reader checks a value and uses the checked
    ///   copy, but a string that has been checked for UTF-8 is a reference to the mapping.
    /// - Truncating the file makes the next access beyond its end raise SIGBUS, which ends the process; the program
    ///   installs a handler that prints the path.
    ///
    /// A program that reads the outputs of a finished build, as the command line does, takes that risk, like linkers
    /// do. A service that is handed files by others should use [`Access::read`].
    pub const unsafe fn map() -> Self {
        Access(AccessKind::Map)
    }
}

// SAFETY: tests write to a mapped file only to show what happens then.
#[cfg(test)]
pub(crate) const MAPPED: Access = unsafe { Access::map() };

/// A regular file, opened for reading.
///
/// The bytes in memory are for headers and tables. Payloads are copied from the file to an output, see
/// [`Output::copy`](super::Output::copy); searches go through `Input::blocks`.
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    /// Absent if the bytes are read from memory only.
    file: Option<Descriptor>,
    bytes: Bytes,
    /// State of the file when it was opened; absent for temporary files, which nothing else writes.
    state: Option<FileState>,
    access: Access,
    budget: Budget,
    /// Place of the bytes in a spool, which does not change while this exists.
    spooled: Option<Spooled>,
    #[cfg(target_os = "linux")]
    holes: Holes,
}

#[derive(Debug)]
enum Bytes {
    Mapped(Mapping),
    Read(Vec<u8>),
    Given(Given),
}

/// Bytes of the caller, which do not change.
struct Given(Box<dyn AsRef<[u8]> + Send + Sync>);

impl fmt::Debug for Given {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} bytes", (*self.0).as_ref().len())
    }
}

impl Deref for Bytes {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        match self {
            Bytes::Mapped(map) => map,
            Bytes::Read(bytes) => bytes,
            Bytes::Given(given) => (*given.0).as_ref(),
        }
    }
}

impl Input {
    /// Opens `path`, which must be a regular file. `-` is standard input, which may be anything, and has the same bytes
    /// each time.
    pub fn open(path: impl Into<PathBuf>, access: Access) -> Result<Input> {
        let path = path.into();
        if path == Path::new("-") {
            return Input::standard_input(access);
        }
        if standard_input::is_pipe(&path) {
            let copy = standard_input::copy_of(&path).map_err(Error::io(&path, "read"))?;
            return Input::of_temp_file(&path, copy, access);
        }
        Input::open_file(path, access)
    }

    /// Creates an input from bytes in memory, which are not copied. `name` stands for the path in messages.
    pub fn from_bytes(name: impl Into<PathBuf>, bytes: impl AsRef<[u8]> + Send + Sync + 'static) -> Input {
        Input::new(name.into(), None, Bytes::Given(Given(Box::new(bytes))), None, Access::read())
    }

    /// Opens `path`, which must be a regular file; `-` has no special meaning. For names that are stored in files.
    #[doc(hidden)]
    pub fn open_file(path: PathBuf, access: Access) -> Result<Input> {
        let metadata = std::fs::metadata(&path).map_err(Error::io(&path, "open"))?;
        if !metadata.is_file() {
            let found = if metadata.is_dir() { "a directory" } else { "a device, pipe or socket" };
            return Err(Error::NotAFile { path, found });
        }
        let file = File::open(&path).map_err(Error::io(&path, "open"))?;
        let state = FileState::of(&file).map_err(Error::io(&path, "read"))?;
        let bytes = match access.0 {
            AccessKind::Read => Bytes::Read(read(&file, state.size()).map_err(Error::io(&path, "read"))?),
            AccessKind::Map => Bytes::Mapped(Mapping::of(&file, Some(&path)).map_err(Error::io(&path, "map"))?),
        };
        let has_all = bytes.len() as u64 == state.size();
        let input = Input::new(path, file, bytes, Some(state), access);
        // Bytes that were read do not change any more; mapped bytes are checked when they have been used.
        if !has_all || matches!(input.bytes, Bytes::Read(_)) && !input.has_state()? {
            return Err(Error::Changed { path: input.path });
        }
        Ok(input)
    }

    /// Opens `path`, which may be anything but a directory: the contents of devices and pipes go through a temporary
    /// file.
    #[doc(hidden)]
    pub fn open_any(path: impl Into<PathBuf>, access: Access) -> Result<Input> {
        let path = path.into();
        match std::fs::metadata(&path) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                let mut file = File::open(&path).map_err(Error::io(&path, "open"))?;
                let copy = |to: &mut File| io::copy(&mut file, to).map(drop);
                Input::from_temp_file(&path, &std::env::temp_dir(), access, copy)
            }
            _ => Input::open(path, access),
        }
    }

    fn standard_input(access: Access) -> Result<Input> {
        let path = Path::new(STANDARD_INPUT);
        let copy = standard_input::copy().map_err(Error::io(path, "write to a temporary file"))?;
        Input::of_temp_file(path, copy, access)
    }

    /// Creates an input from bytes that `write` writes to a temporary file in `directory`; `path` is its name in
    /// errors.
    ///
    /// The file has no name, so no other process writes it, and it is always mapped. Inputs that are opened because of
    /// this one, such as the members of a thin archive, use `access`.
    #[doc(hidden)]
    pub fn from_temp_file(
        path: &Path,
        directory: &Path,
        access: Access,
        write: impl FnOnce(&mut File) -> io::Result<()>,
    ) -> Result<Input> {
        let mut file = tempfile::tempfile_in(directory).map_err(Error::io(path, "create a temporary file"))?;
        write(&mut file).map_err(Error::io(path, "write to a temporary file"))?;
        Input::of_temp_file(path, file, access)
    }

    /// Creates an input from a temporary file that no other process writes.
    pub(super) fn of_temp_file(path: &Path, file: File, access: Access) -> Result<Input> {
        let bytes = Bytes::Mapped(Mapping::of(&file, None).map_err(Error::io(path, "map"))?);
        Ok(Input::new(path.to_owned(), file, bytes, None, access))
    }

    fn new(
        path: PathBuf,
        file: impl Into<Option<File>>,
        bytes: Bytes,
        state: Option<FileState>,
        access: Access,
    ) -> Input {
        let budget = Budget::new(Limits::default(), bytes.len() as u64);
        Input {
            path,
            file: file.into().and_then(|file| Descriptor::keep(file, bytes.len() as u64)),
            bytes,
            state,
            access,
            budget,
            spooled: None,
            #[cfg(target_os = "linux")]
            holes: Holes::default(),
        }
    }

    /// Applies these limits to reading the input.
    #[doc(hidden)]
    pub fn with_limits(self, limits: Limits) -> Input {
        Input { budget: Budget::new(limits, self.size()), ..self }
    }

    /// Charges reading the input to the budget of the input that contains it.
    #[doc(hidden)]
    pub fn with_budget(self, budget: Budget) -> Input {
        Input { budget, ..self }
    }

    /// Budget for reading the input.
    #[doc(hidden)]
    pub fn budget(&self) -> &Budget {
        &self.budget
    }

    /// Closes the descriptor of a temporary file. The bytes remain in the mapping, so thousands of them can be kept.
    pub(crate) fn without_descriptor(self) -> Self {
        let file = if self.state.is_some() { self.file } else { None };
        Input { file, ..self }
    }

    /// Closes the descriptor of the file, as for an input after the first hundred.
    #[cfg(test)]
    pub(crate) fn closed(self) -> Self {
        Input { file: None, ..self }
    }

    /// Returns whether the bytes are in a mapping without an open file.
    pub(in crate::base::io) fn is_closed(&self) -> bool {
        self.file.is_none() && matches!(self.bytes, Bytes::Mapped(_))
    }

    /// The path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Method of access to the input.
    #[doc(hidden)]
    pub fn access(&self) -> Access {
        self.access
    }

    /// Returns whether the bytes are at the path, and not in a temporary file.
    #[doc(hidden)]
    pub fn is_on_disk(&self) -> bool {
        self.state.is_some()
    }

    /// State of the file when it was opened; absent for temporary files.
    pub(crate) fn state(&self) -> Option<&FileState> {
        self.state.as_ref()
    }

    /// Checks that the mapped file has not changed since it was opened. Callers do so after using its bytes, and before
    /// an output that depends on them gets its name. See [`Access::map`] for changes that are not noticed.
    pub fn check_unchanged(&self) -> Result<()> {
        if matches!(self.bytes, Bytes::Read(_)) || self.has_state()? {
            Ok(())
        } else {
            Err(Error::Changed { path: self.path.clone() })
        }
    }

    fn has_state(&self) -> Result<bool> {
        let Some(before) = &self.state else { return Ok(true) };
        let metadata = match &self.file {
            Some(file) => file.metadata(),
            None => std::fs::metadata(&self.path),
        };
        Ok(FileState::of_metadata(&metadata.map_err(Error::io(&self.path, "read"))?).has_contents_of(before))
    }

    /// The open file, if the kernel can copy its bytes. Its position is arbitrary and is not used.
    #[cfg(target_os = "linux")]
    pub(in crate::base::io) fn file(&self) -> Option<&File> {
        self.file.as_deref()
    }

    /// A view of all bytes.
    pub fn view(&self) -> View<'_> {
        View::with_budget(&self.bytes, &self.budget)
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Returns a part of the input if no file has to be read for it.
    pub(crate) fn in_memory(&self, offset: u64, size: u64) -> Option<&[u8]> {
        let has_file = !matches!(self.bytes, Bytes::Read(_)) && self.file.is_some();
        if has_file { None } else { self.bytes.get(offset as usize..(offset + size) as usize) }
    }

    /// Maps a part of the file for writing it to an output. Pages of the lasting mapping would count as memory of the
    /// process from then on.
    pub(in crate::base::io) fn window(&self, offset: u64, size: u64) -> Result<Mmap> {
        let Some(file) = self.file.as_deref() else { unreachable!("bytes without a file are in memory") };
        let available = file.metadata().map_err(Error::io(&self.path, "read"))?.len();
        let end = offset + size;
        if end > available {
            return Err(Error::Shrunk { path: self.path.clone(), missing: end - available });
        }
        let mut options = MmapOptions::new();
        options.offset(offset).len(size as usize).populate();
        // SAFETY: the contract of `Access::map`. If the file is truncated before these bytes are written, the kernel
        // accesses the missing pages, not this program, and the write fails.
        unsafe { options.map(file) }.map_err(Error::io(&self.path, "map"))
    }

    /// Returns the offset of the next stored byte at or after `offset`: the end of a hole, whose bytes are zeros.
    /// Reading a hole through a mapping takes a page of memory for each page of the hole. Systems other than Linux have
    /// no such call.
    pub(crate) fn next_data(&self, offset: u64) -> u64 {
        #[cfg(target_os = "linux")]
        if let (Some(file), Bytes::Mapped(_)) = (&self.file, &self.bytes) {
            return self.holes.next_data(file, self.size(), offset);
        }
        offset
    }

    /// Returns the offset of the next hole at or after `offset`, or the end of the file.
    pub(crate) fn next_hole(&self, offset: u64) -> u64 {
        #[cfg(target_os = "linux")]
        if let (Some(file), Bytes::Mapped(_)) = (&self.file, &self.bytes) {
            return self.holes.next_hole(file, self.size(), offset);
        }
        self.size().max(offset)
    }

    /// Calls `visit(offset, bytes)` for each block of `range` in order. Each block begins with the last `overlap` bytes
    /// of the block before, so that nothing shorter than that is cut in two.
    #[doc(hidden)]
    pub fn blocks(&self, range: Range<u64>, overlap: usize, mut visit: impl FnMut(u64, &[u8])) -> Result<()> {
        if let Some(bytes) = self.in_memory(range.start, range.end - range.start) {
            for start in (0..bytes.len()).step_by(STEP) {
                let from = start - overlap.min(start);
                let to = bytes.len().min(start + STEP);
                visit(range.start + from as u64, &bytes[from..to]);
                Work::Read.record((to - start) as u64);
                self.release();
            }
            return Ok(());
        }
        let mut buffer = BUFFER.take();
        let block = BLOCK.min(usize::try_from(range.end - range.start).unwrap_or(BLOCK));
        buffer.resize(overlap + 2 * PAGE + block, 0);
        let page = overlap + buffer[overlap..].as_ptr().align_offset(PAGE);
        // Bytes that the next block begins with.
        let mut kept = 0..0;
        let mut offset = range.start;
        while offset < range.end {
            let position = (offset % PAGE as u64) as usize;
            let start = page + position;
            let wanted = (range.end - offset).min((BLOCK - position) as u64) as usize;
            let first = start - kept.len();
            buffer.copy_within(kept, first);
            let into = &mut buffer[start..start + wanted];
            let read = self.read_at(offset, into).map_err(Error::io(&self.path, "read"))?;
            if read == 0 {
                return Err(Error::Shrunk { path: self.path.clone(), missing: range.end - offset });
            }
            let end = start + read;
            visit(offset - (start - first) as u64, &buffer[first..end]);
            Work::Read.record(read as u64);
            offset += read as u64;
            kept = end - overlap.min(end - first)..end;
        }
        BUFFER.set(buffer);
        Ok(())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> io::Result<usize> {
        let Some(file) = self.file.as_deref() else { unreachable!("bytes without a file are in memory") };
        #[cfg(unix)]
        return std::os::unix::fs::FileExt::read_at(file, buffer, offset);
        #[cfg(windows)]
        return std::os::windows::fs::FileExt::seek_read(file, buffer, offset);
    }
}

fn read(mut file: &File, size: u64) -> io::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    let size = usize::try_from(size).map_err(|_| io::ErrorKind::FileTooLarge)?;
    bytes.try_reserve_exact(size).map_err(|_| io::ErrorKind::OutOfMemory)?;
    io::Read::read_to_end(&mut file, &mut bytes)?;
    Ok(bytes)
}

mod of_spool;
mod pages;
#[cfg(test)]
mod tests;
