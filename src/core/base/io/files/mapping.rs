//! Files mapped into memory, and the list of those that other processes can truncate.

use std::fs::File;
use std::io;
use std::ops::{Deref, Range};
use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};

use memmap2::Mmap;

use super::registry::{Registration, Registry};
use crate::base::escape::escape;

/// Mapped files that have a path.
pub static MAPPED_FILES: Registry<MappedFile> = Registry::new();

/// Addresses of a mapped file, and the message for an access beyond its end.
#[derive(Debug)]
#[cfg_attr(not(unix), expect(dead_code, reason = "other systems do not truncate mapped files"))]
pub struct MappedFile {
    /// Addresses of the mapping.
    pub addresses: Range<usize>,
    /// A line, which a signal handler prints as it is.
    pub message: String,
}

/// Maximum number of bytes that Linux maps when one of them is read: a folio of its page cache.
const MAPPED_AROUND: usize = 2 << 20;

/// Number of bytes of archive members that are read between releases of the pages of an archive.
const READ_UNTIL_RELEASE: u64 = 2 << 20;

/// A file, or a range of a spool, mapped into memory.
#[derive(Debug)]
pub struct Mapping {
    map: Mmap,
    /// Number of bytes of archive members that were read since pages were released.
    read: AtomicU64,
    _registration: Option<Registration<MappedFile>>,
}

impl Mapping {
    /// Maps a file. `path` is known for files that other processes may truncate.
    pub fn of(file: &File, path: Option<&Path>) -> io::Result<Self> {
        // SAFETY: for a file that others can write, the contract of `Access::map`; a temporary file without a name is
        // written by this process only, and not after it is mapped. Beyond the contract, readers check each value once
        // and use the checked copy, payloads are copied through the file, and a change is an error when the file has
        // been read.
        let map = unsafe { Mmap::map(file) }?;
        Ok(Mapping::new(map, path))
    }

    /// Maps a range of a spool.
    pub fn of_range(file: &File, range: Range<u64>) -> io::Result<Self> {
        let mut options = memmap2::MmapOptions::new();
        options.offset(range.start).len((range.end - range.start) as usize);
        // SAFETY: the file has no name, so only this process writes it. It appends to the file after all ranges that
        // were written, and writes to them again only after everything that refers to one is gone.
        let map = unsafe { options.map(file) }?;
        Ok(Mapping::new(map, None))
    }

    fn new(map: Mmap, path: Option<&Path>) -> Self {
        let _registration = path.map(|path| {
            let start = map.as_ptr() as usize;
            MAPPED_FILES.add(MappedFile { addresses: start..start + map.len(), message: message(path) })
        });
        Mapping { map, read: AtomicU64::new(0), _registration }
    }

    /// Counts bytes of archive members that were read, and releases all pages from time to time.
    pub fn count_read(&self, bytes: u64) {
        if self.read.fetch_add(bytes, Ordering::Relaxed) >= READ_UNTIL_RELEASE {
            self.read.store(0, Ordering::Relaxed);
            self.release(0..self.map.len());
        }
    }

    /// Releases the pages of a range that were read, and the pages around them that the kernel has mapped with them.
    pub fn release(&self, range: Range<usize>) {
        let start = range.start / MAPPED_AROUND * MAPPED_AROUND;
        let end = range.end.next_multiple_of(MAPPED_AROUND).min(self.map.len());
        if end <= start {
            return;
        }
        // SAFETY: nothing is ever written to this mapping, so each page comes back from the file with the same bytes.
        // Failing to release pages is not an error.
        #[cfg(unix)]
        let _ = unsafe { self.map.unchecked_advise_range(memmap2::UncheckedAdvice::DontNeed, start, end - start) };
    }
}

impl Deref for Mapping {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}

fn message(path: &Path) -> String {
    let path = path.to_string_lossy();
    format!("fatbin: {}: truncated while it was being read\n", escape(&path))
}
