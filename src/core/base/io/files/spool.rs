//! A temporary file that holds many files, one after another: unpacked members of archives. None of them has a
//! descriptor or a lasting mapping, so that tens of thousands can be kept.

use std::env::temp_dir;
use std::fs::File;
use std::io::{self, Seek, SeekFrom, Write};
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use crate::base::error::{Error, Result};

/// Number of bytes that stay on disk when the space of dropped files is used again.
const KEPT: u64 = 64 << 20;

/// A temporary file without a name that other files are appended to. Once all of them are dropped, the next one takes
/// their space.
#[derive(Debug)]
pub struct Spool {
    directory: PathBuf,
    /// Absent until the first file is added.
    file: Option<Arc<File>>,
    end: u64,
}

/// A file in a spool.
#[derive(Debug, Clone)]
pub struct Spooled {
    file: Arc<File>,
    range: Range<u64>,
}

impl Spool {
    /// Creates an empty spool in a directory.
    pub fn in_directory(directory: PathBuf) -> Self {
        Spool { directory, file: None, end: 0 }
    }

    /// Appends the bytes that `write` writes; `path` is the name of the file in errors.
    pub fn add(&mut self, path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Spooled> {
        let file = self.file().map_err(Error::io(path, "create a temporary file"))?;
        let start = self.end;
        let append = |mut to: &File| {
            to.seek(SeekFrom::Start(start))?;
            write(&mut to)?;
            to.stream_position()
        };
        self.end = append(&file).map_err(Error::io(path, "write to a temporary file"))?;
        Ok(Spooled { file, range: start..self.end })
    }

    /// The file to append to.
    fn file(&mut self) -> io::Result<Arc<File>> {
        let file = match &mut self.file {
            Some(file) => file,
            None => self.file.insert(Arc::new(tempfile::tempfile_in(&self.directory)?)),
        };
        // Nothing else refers to the file, so no mapping of it is left.
        if let Some(unused) = Arc::get_mut(file) {
            if self.end > KEPT {
                unused.set_len(0)?;
            }
            self.end = 0;
        }
        Ok(Arc::clone(file))
    }

    /// Returns all files as one; `None` if none was added.
    pub fn finish(self) -> Option<Spooled> {
        Some(Spooled { file: self.file?, range: 0..self.end })
    }
}

impl Spooled {
    /// Reads the bytes.
    pub(super) fn read(&self) -> io::Result<Vec<u8>> {
        let Range { start, end } = self.range;
        let mut bytes = vec![0; (end - start) as usize];
        #[cfg(unix)]
        std::os::unix::fs::FileExt::read_exact_at(&*self.file, &mut bytes, start)?;
        #[cfg(windows)]
        {
            let mut at = 0;
            while at < bytes.len() {
                match std::os::windows::fs::FileExt::seek_read(&*self.file, &mut bytes[at..], start + at as u64)? {
                    0 => return Err(io::ErrorKind::UnexpectedEof.into()),
                    read => at += read,
                }
            }
        }
        Ok(bytes)
    }

    /// Returns some of the bytes, by their place in the spool.
    pub(super) fn part(&self, range: Range<u64>) -> Spooled {
        Spooled { file: Arc::clone(&self.file), range }
    }

    /// The temporary file.
    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Range of the bytes in the temporary file.
    pub fn range(&self) -> Range<u64> {
        self.range.clone()
    }
}

/// Spools with files that are still used. The next archive continues one of them, so the number of open spools is at
/// most the number that are written at the same time.
static IDLE: Mutex<Vec<Spool>> = Mutex::new(Vec::new());

/// A spool in the system's directory for temporary files, which later archives continue.
#[derive(Debug)]
pub struct SharedSpool(Spool);

impl SharedSpool {
    /// Takes an idle spool, or creates one.
    pub fn new() -> Self {
        let directory = temp_dir();
        let mut idle = IDLE.lock().unwrap_or_else(PoisonError::into_inner);
        let known = idle.iter().position(|spool| spool.directory == directory);
        SharedSpool(known.map_or_else(|| Spool::in_directory(directory), |index| idle.swap_remove(index)))
    }

    /// Like [`Spool::add`].
    pub fn add(&mut self, path: &Path, write: impl FnOnce(&mut dyn Write) -> io::Result<()>) -> Result<Spooled> {
        self.0.add(path, write)
    }
}

impl Drop for SharedSpool {
    fn drop(&mut self) {
        let is_used = self.0.file.as_mut().is_some_and(|file| Arc::get_mut(file).is_none());
        if is_used {
            let spool = std::mem::replace(&mut self.0, Spool::in_directory(PathBuf::new()));
            IDLE.lock().unwrap_or_else(PoisonError::into_inner).push(spool);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn add(spool: &mut Spool, byte: u8, size: usize) -> Spooled {
        spool.add(Path::new("member"), |to| to.write_all(&vec![byte; size])).unwrap()
    }

    #[test]
    fn files_stay_as_they_are_until_all_are_dropped() {
        let mut spool = Spool::in_directory(temp_dir());
        let sizes = [0, 10, 1 << 20, 3];
        let files: Vec<Spooled> = sizes.iter().zip(0..).map(|(&size, byte)| add(&mut spool, byte, size)).collect();
        let later = add(&mut spool, 9, 5);
        assert_eq!(later.range().start, sizes.iter().sum::<usize>() as u64);
        for ((file, &size), byte) in files.iter().zip(&sizes).zip(0..) {
            assert_eq!(file.read().unwrap(), vec![byte; size]);
        }
        drop(files);
        assert!(add(&mut spool, 9, 5).range().start > 0);
        drop(later);
        assert_eq!(add(&mut spool, 8, 5).range(), 0..5);
    }

    #[test]
    fn a_failed_file_is_overwritten() {
        let mut spool = Spool::in_directory(temp_dir());
        let first = add(&mut spool, 1, 3);
        let fail = |to: &mut dyn Write| to.write_all(&[7; 100]).and(Err(io::ErrorKind::InvalidData.into()));
        spool.add(Path::new("member"), fail).unwrap_err();
        let second = add(&mut spool, 2, 2);
        assert_eq!((first.read().unwrap(), second.read().unwrap()), (vec![1; 3], vec![2; 2]));
    }

    #[test]
    fn all_files_are_one() {
        let mut spool = Spool::in_directory(temp_dir());
        let one = add(&mut spool, 1, 3);
        let other = add(&mut spool, 2, 2);
        let whole = spool.finish().unwrap();
        assert_eq!((whole.read().unwrap(), one.range(), other.range()), (vec![1, 1, 1, 2, 2], 0..3, 3..5));
        assert!(Spool::in_directory(temp_dir()).finish().is_none());
    }
}
