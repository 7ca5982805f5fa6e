//! An input file, mapped for looking and open for moving.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use memmap2::{Mmap, MmapOptions};

use crate::bytes::View;
use crate::error::{Error, Result};

/// How much of a file [`Input::blocks`] holds in memory. Reading a file through one buffer of this size that stays in
/// the cache beat searching the mapping (8.5 against 6.8 GB/s, two cores, page cache warm), and unlike the mapping it
/// does not make the memory of the process grow with the file.
const BLOCK: usize = 256 << 10;

/// What messages call it.
pub const STANDARD_INPUT: &str = "standard input";

/// A regular file, opened for reading.
///
/// The mapping is for headers and tables: looking at a page of it counts as memory of this process. Payloads go from
/// [`Input::file`] to an output without being looked at; searches go through [`Input::blocks`].
#[derive(Debug)]
pub struct Input {
    path: PathBuf,
    file: File,
    map: Mmap,
    is_on_disk: bool,
}

impl Input {
    /// Opens `path`, which must be a regular file; `-` is standard input, whatever it is.
    pub fn open(path: impl Into<PathBuf>) -> Result<Input> {
        let path = path.into();
        if path == Path::new("-") {
            return Input::standard_input();
        }
        Input::open_file(path)
    }

    /// Opens `path`, which must be a regular file whatever it is called: for names that stand in files.
    pub fn open_file(path: PathBuf) -> Result<Input> {
        let metadata = std::fs::metadata(&path).map_err(Error::io(&path, "open"))?;
        if !metadata.is_file() {
            let found = if metadata.is_dir() { "a directory" } else { "a device, pipe or socket" };
            return Err(Error::NotAFile { path, found });
        }
        let file = File::open(&path).map_err(Error::io(&path, "open"))?;
        Input::map(path, file, true)
    }

    /// Opens `path` whatever it is but a folder: what devices and pipes give goes through a temporary file.
    pub fn open_any(path: impl Into<PathBuf>) -> Result<Input> {
        let path = path.into();
        match std::fs::metadata(&path) {
            Ok(metadata) if !metadata.is_file() && !metadata.is_dir() => {
                let mut file = File::open(&path).map_err(Error::io(&path, "open"))?;
                Input::made(&path, &std::env::temp_dir(), |to| io::copy(&mut file, to).map(|_| ()))
            }
            _ => Input::open(path),
        }
    }

    /// Standard input. A pipe goes through a temporary file first: containers have their tables anywhere, and memory is
    /// not to grow with the file.
    fn standard_input() -> Result<Input> {
        let path = PathBuf::from(STANDARD_INPUT);
        Input::made(&path, &std::env::temp_dir(), |file| io::copy(&mut io::stdin().lock(), file).map(|_| ()))
    }

    /// Bytes that are made on the way, in a file without a name in `directory`; `path` is what errors call it.
    pub fn made(path: &Path, directory: &Path, make: impl FnOnce(&mut File) -> io::Result<()>) -> Result<Input> {
        let mut file = tempfile::tempfile_in(directory).map_err(Error::io(path, "create a temporary file for"))?;
        make(&mut file).map_err(Error::io(path, "write a temporary file for"))?;
        Input::map(path.to_owned(), file, false)
    }

    fn map(path: PathBuf, file: File, is_on_disk: bool) -> Result<Input> {
        // SAFETY: a mapping may only be used while nobody truncates or writes the file: a truncated file raises SIGBUS,
        // and bytes that change under a `&[u8]` are outside the language's rules. No program that maps files can
        // exclude either, linkers included; it would need a copy of every input. What can be done is done: readers
        // check each value once and use the checked copy, and payloads are moved through the file, not the mapping.
        let map = unsafe { Mmap::map(&file) }.map_err(Error::io(&path, "map"))?;
        Ok(Input { path, file, map, is_on_disk })
    }

    /// The path as the user gave it.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Whether the path leads to these bytes, and they have not been made on the way.
    pub fn is_on_disk(&self) -> bool {
        self.is_on_disk
    }

    /// The open file; its position is nobody's and changes with every use.
    pub fn file(&self) -> &File {
        &self.file
    }

    /// A view of all bytes.
    pub fn view(&self) -> View<'_> {
        View::new(&self.map)
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.map.len() as u64
    }

    /// A part of the file, mapped for this once and with its pages at hand: for writing it somewhere else. Looking at so
    /// much through the lasting mapping would count as memory of this process from then on.
    pub fn window(&self, offset: u64, size: u64) -> Result<Mmap> {
        let there = self.file.metadata().map_err(Error::io(&self.path, "read"))?.len();
        let missing = (offset + size).saturating_sub(there);
        if missing > 0 {
            return Err(Error::Shrunk { path: self.path.clone(), missing });
        }
        let mut options = MmapOptions::new();
        options.offset(offset).len(size as usize).populate();
        // SAFETY: as in `map`. If the file is truncated before these bytes are written, the kernel meets the missing
        // pages and not this program, and the write fails.
        unsafe { options.map(&self.file) }.map_err(Error::io(&self.path, "map"))
    }

    /// Gives back the pages that were looked at through the lasting mapping; whatever is looked at again comes back. They
    /// stay in the system's cache, but as long as they are mapped they count as memory of this process, and the kernel maps
    /// sixteen for each that is looked at.
    pub fn release(&self) {
        #[cfg(unix)]
        if !self.map.is_empty() {
            // SAFETY: nothing is ever written to this mapping, so each page comes back from the file with the same bytes.
            // That it cannot be given back is no failure.
            let _ = unsafe { self.map.unchecked_advise(memmap2::UncheckedAdvice::DontNeed) };
        }
    }

    /// Where `part` lies in this file, if it is a slice of its mapping.
    pub fn offset_of(&self, part: &[u8]) -> Option<u64> {
        let file = self.map.as_ptr_range();
        let part = part.as_ptr_range();
        let inside = file.start <= part.start && part.end <= file.end && part.start < part.end;
        inside.then(|| part.start as u64 - file.start as u64)
    }

    /// Calls `look(offset, bytes)` for one block after another of `range`. Each block begins with the last `overlap`
    /// bytes of the one before, so that nothing shorter than that is cut in two.
    pub fn blocks(&self, range: Range<u64>, overlap: usize, mut look: impl FnMut(u64, &[u8])) -> Result<()> {
        let mut buffer = vec![0; BLOCK.min(usize::try_from(range.end - range.start).unwrap_or(BLOCK)) + overlap];
        let mut kept = 0;
        let mut offset = range.start;
        while offset < range.end {
            let wanted = (buffer.len() - kept).min(usize::try_from(range.end - offset).unwrap_or(usize::MAX));
            let read = self.read_at(offset, &mut buffer[kept..kept + wanted])?;
            if read == 0 {
                return Err(Error::Shrunk { path: self.path.clone(), missing: range.end - offset });
            }
            let filled = kept + read;
            look(offset - kept as u64, &buffer[..filled]);
            offset += read as u64;
            kept = overlap.min(filled);
            buffer.copy_within(filled - kept..filled, 0);
        }
        Ok(())
    }

    fn read_at(&self, offset: u64, buffer: &mut [u8]) -> Result<usize> {
        #[cfg(unix)]
        let read = std::os::unix::fs::FileExt::read_at(&self.file, buffer, offset);
        #[cfg(windows)]
        let read = std::os::windows::fs::FileExt::seek_read(&self.file, buffer, offset);
        read.map_err(Error::io(&self.path, "read"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn input(bytes: &[u8]) -> (tempfile::NamedTempFile, Input) {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), bytes).unwrap();
        let input = Input::open(file.path()).unwrap();
        (file, input)
    }

    #[test]
    fn blocks_show_every_byte_and_cut_nothing_shorter_than_the_overlap() {
        let bytes: Vec<u8> = (0..3 * BLOCK + 77).map(|i| (i % 251) as u8).collect();
        let (_file, input) = input(&bytes);
        let mut end = 5;
        input
            .blocks(5..bytes.len() as u64, 23, |offset, block| {
                assert!(offset == 5 || offset == end - 23);
                assert_eq!(block, &bytes[offset as usize..offset as usize + block.len()]);
                end = offset + block.len() as u64;
            })
            .unwrap();
        assert_eq!(end, bytes.len() as u64);
    }

    #[test]
    fn an_empty_file_is_an_input_with_no_bytes() {
        let (_file, input) = input(b"");
        assert_eq!(input.size(), 0);
        assert_eq!(input.offset_of(input.view().data()), None);
    }

    #[test]
    fn a_slice_of_the_mapping_is_found_and_a_copy_of_it_is_not() {
        let (_file, input) = input(b"0123456789");
        assert_eq!(input.offset_of(&input.view().data()[3..7]), Some(3));
        assert_eq!(input.offset_of(b"3456"), None);
    }

    #[cfg(unix)]
    #[test]
    fn a_device_is_an_input_where_any_will_do() {
        assert!(Input::open("/dev/null").is_err());
        assert_eq!(Input::open_any("/dev/null").unwrap().size(), 0);
        assert!(Input::open_any(std::env::temp_dir()).is_err());
    }

    #[test]
    fn a_directory_is_refused_by_name() {
        let error = Input::open(std::env::temp_dir()).err().unwrap().to_string();
        assert!(error.ends_with("is a directory, not a regular file"), "{error}");
    }
}
