//! Attributes that a file passes on to its replacement, as with `cp --preserve`.

use std::fs::{File, FileTimes, Metadata};
use std::io;
use std::path::Path;

use super::extended_attributes::{ExtendedAttributes, LostAttribute};
use super::temporary::access_bits;
use crate::base::error::{Error, Result};

/// An attribute of a file other than its mode.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Attribute {
    /// The owner and the group.
    Ownership,
    /// The times of the last access and of the last change.
    Timestamps,
    /// The set-user-ID, set-group-ID and sticky bits, and extended attributes: capabilities, access control lists and
    /// others.
    Rights,
}

/// Attributes of a file.
#[derive(Debug, Clone)]
pub struct Attributes {
    metadata: Metadata,
    extended: ExtendedAttributes,
}

impl Attributes {
    /// Reads the attributes of the file that a path leads to.
    pub fn of(path: &Path) -> Result<Self> {
        let metadata = std::fs::metadata(path).map_err(Error::io(path, "read"))?;
        Ok(Attributes { metadata, extended: ExtendedAttributes::of(path) })
    }

    /// Gives a file the mode, without the set-ID and sticky bits, and these attributes. Returns the attributes that it
    /// could not get.
    pub fn copy_to(&self, file: &File, attributes: &[Attribute]) -> io::Result<Vec<LostAttribute>> {
        let mut lost = Vec::new();
        let has_rights = attributes.contains(&Attribute::Rights);
        let mut permissions = access_bits(self.metadata.permissions());
        let mut has_owner = true;
        if attributes.contains(&Attribute::Ownership)
            && let Err(cause) = self.set_owner(file)
        {
            has_owner = false;
            lost.push(LostAttribute { name: "ownership".to_owned(), cause });
        }
        if has_rights && has_owner {
            permissions = self.metadata.permissions();
        }
        if has_rights {
            lost.extend(self.extended.copy_to(file));
        }
        // Another owner clears bits of the mode, and everything else changes the times.
        file.set_permissions(permissions)?;
        if has_rights {
            lost.extend(self.lost_mode(file)?);
        }
        if attributes.contains(&Attribute::Timestamps)
            && let Err(cause) = self.set_times(file)
        {
            lost.push(LostAttribute { name: "timestamps".to_owned(), cause });
        }
        Ok(lost)
    }

    /// Returns the set-ID bits that a file lacks: they belong to another owner, or the system has cleared them.
    #[cfg(unix)]
    fn lost_mode(&self, file: &File) -> io::Result<Option<LostAttribute>> {
        use std::os::unix::fs::MetadataExt;

        /// All bits of a mode except the type.
        const BITS: u32 = 0o7777;
        let old = self.metadata.mode() & BITS;
        let new = file.metadata()?.mode() & BITS;
        let cause = io::Error::from(io::ErrorKind::PermissionDenied);
        Ok((old != new).then(|| LostAttribute { name: format!("mode {old:04o}"), cause }))
    }

    /// Other systems have no such bits.
    #[cfg(not(unix))]
    fn lost_mode(&self, _file: &File) -> io::Result<Option<LostAttribute>> {
        Ok(None)
    }

    #[cfg(unix)]
    fn set_owner(&self, file: &File) -> io::Result<()> {
        use std::os::unix::fs::{MetadataExt, fchown};
        let new = file.metadata()?;
        let old = &self.metadata;
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
        let accessed = self.metadata.accessed()?;
        let modified = self.metadata.modified()?;
        file.set_times(FileTimes::new().set_accessed(accessed).set_modified(modified))
    }
}

/// Returns the number of bytes that a file takes on disk; `None` if it is unknown.
#[cfg(unix)]
pub fn disk_size(path: &Path) -> Option<u64> {
    use std::os::unix::fs::MetadataExt;

    /// Unit of `st_blocks`, regardless of the block size of the file system (stat(2)).
    const BLOCK: u64 = 512;
    path.metadata().ok().filter(Metadata::is_file).map(|metadata| metadata.blocks() * BLOCK)
}

/// Other systems have no such figures.
#[cfg(not(unix))]
pub fn disk_size(_path: &Path) -> Option<u64> {
    None
}
