//! An existing file that gets the bytes of a complete output, but keeps its mode, owner and hard links.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;

use super::temporary::Temporary;

/// A file that is open for writing and unchanged until [`Existing::replace`].
#[derive(Debug)]
pub struct Existing {
    file: File,
    metadata: Metadata,
}

impl Existing {
    /// Opens a file. Fails if the user may not write to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let file = File::options().write(true).open(path)?;
        let metadata = file.metadata()?;
        Ok(Existing { file, metadata })
    }

    /// Returns whether the bytes of a temporary file must be copied to this file, because a new file would lose hard
    /// links or the owner, or is in another directory.
    pub fn is_written_in_place(&self, temporary: &Temporary, path: &Path) -> io::Result<bool> {
        let new = temporary.file().metadata()?;
        Ok(path.parent() != Some(temporary.directory()) || !may_be_renamed(&self.metadata, &new))
    }

    /// Replaces the contents with the bytes of a temporary file. The temporary file gets the mode and the name, which
    /// is atomic. If this file must be written in place instead, space is reserved first.
    pub fn replace(mut self, mut temporary: Temporary, path: &Path) -> io::Result<()> {
        if !self.is_written_in_place(&temporary, path)? {
            // Windows cannot replace an open file.
            drop(self);
            return temporary.persist(path);
        }
        let size = temporary.file().metadata()?.len();
        reserve(&self.file, size)?;
        temporary.copy_to(&mut self.file)?;
        self.file.set_len(size)
    }
}

#[cfg(unix)]
fn may_be_renamed(old: &Metadata, new: &Metadata) -> bool {
    use std::os::unix::fs::MetadataExt;
    old.nlink() == 1 && (old.uid(), old.gid()) == (new.uid(), new.gid())
}

#[cfg(not(unix))]
fn may_be_renamed(_old: &Metadata, _new: &Metadata) -> bool {
    true
}

/// Reserves disk space for a file of `size` bytes, without changing its size.
#[cfg(target_os = "linux")]
pub fn reserve(file: &File, size: u64) -> io::Result<()> {
    use rustix::fs::{FallocateFlags, fallocate};
    use rustix::io::Errno;
    if size == 0 {
        return Ok(());
    }
    match fallocate(file, FallocateFlags::KEEP_SIZE, 0, size) {
        // Any other error only means that the file system does not support the call.
        Err(error @ (Errno::NOSPC | Errno::DQUOT | Errno::FBIG)) => Err(error.into()),
        _ => Ok(()),
    }
}

/// Other systems have no such call.
#[cfg(not(target_os = "linux"))]
pub fn reserve(_file: &File, _size: u64) -> io::Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::io::Write;

    use super::*;

    #[test]
    fn a_file_is_replaced_more_than_once() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("out");
        std::fs::write(&path, "old").unwrap();
        for bytes in ["new", "newer"] {
            let mut temporary = Temporary::create(directory.path()).unwrap();
            temporary.file_mut().write_all(bytes.as_bytes()).unwrap();
            Existing::open(&path).unwrap().replace(temporary, &path).unwrap();
            assert_eq!(std::fs::read_to_string(&path).unwrap(), bytes);
        }
    }
}
