//! Attributes of a file that the file which replaces it gets, as with `cp --preserve`.

use std::fs::{File, FileTimes, Metadata};
use std::io;
use std::path::Path;

use super::temporary::access_bits;
use crate::error::{Error, Result};

/// An attribute of a file besides its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    /// The owner and the group.
    Ownership,
    /// The times of the last access and of the last change.
    Timestamps,
}

/// Attributes of a file.
#[derive(Debug, Clone)]
pub struct Attributes(Metadata);

impl Attributes {
    /// Reads the attributes of the file that a path leads to.
    pub fn of(path: &Path) -> Result<Self> {
        std::fs::metadata(path).map(Attributes).map_err(Error::io(path, "read"))
    }

    /// Gives a file the mode, without the bits that give a program the rights of its owner, and these attributes. Returns those
    /// that it could not get.
    pub fn copy_to(&self, file: &File, attributes: &[Attribute]) -> io::Result<Vec<(Attribute, io::Error)>> {
        let mut failed = Vec::new();
        if attributes.contains(&Attribute::Ownership) {
            failed.extend(self.set_owner(file).err().map(|error| (Attribute::Ownership, error)));
        }
        // Another owner clears bits of the mode, and everything else changes the times.
        file.set_permissions(access_bits(self.0.permissions()))?;
        if attributes.contains(&Attribute::Timestamps) {
            failed.extend(self.set_times(file).err().map(|error| (Attribute::Timestamps, error)));
        }
        Ok(failed)
    }

    #[cfg(unix)]
    fn set_owner(&self, file: &File) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, fchown};
        let (new, old) = (file.metadata()?, &self.0);
        if (new.uid(), new.gid()) == (old.uid(), old.gid()) {
            return Ok(());
        }
        fchown(file, Some(old.uid()), Some(old.gid()))
    }

    /// Other systems have no owners in this sense.
    #[cfg(not(unix))]
    fn set_owner(&self, _file: &File) -> io::Result<()> {
        Ok(())
    }

    fn set_times(&self, file: &File) -> io::Result<()> {
        file.set_times(FileTimes::new().set_accessed(self.0.accessed()?).set_modified(self.0.modified()?))
    }
}

/// Returns the bytes that a file takes on disk; `None` if that is not known.
#[cfg(unix)]
pub fn disk_size(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;

    /// Size of a block, whatever the file system's own is (stat(2)).
    const BLOCK: u64 = 512;
    path.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.blocks() * BLOCK)
}

/// Other systems have no such figures.
#[cfg(not(unix))]
pub fn disk_size(_path: &Path) -> Option<u64> {
    None
}
