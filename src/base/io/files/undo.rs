//! Restoration of a file that an output has replaced, until other outputs have replaced theirs.
//!
//! The previous file is kept under a hidden name. Signal handlers do not remove it: it may be the only one.

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use super::destination::directory;
use super::temporary::HiddenName;
use crate::base::error::{Error, Result};

/// The state of a path before an output.
#[derive(Debug)]
pub struct Undo {
    path: PathBuf,
    before: Before,
}

#[derive(Debug)]
enum Before {
    /// No file.
    Nothing,
    /// A file that will be replaced, under another name.
    Linked(HiddenName),
    /// A copy of a file that will be written in place, or that cannot be linked.
    Copied(HiddenName),
    /// Such a copy, in a directory that cannot be written.
    CopiedElsewhere(File),
}

impl Undo {
    /// Keeps the file at `path` for [`Undo::restore`].
    pub fn of(path: &Path, is_written_in_place: bool) -> io::Result<Self> {
        let directory = directory(path);
        let before = match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::Nothing,
            Err(error) => return Err(error),
            Ok(_) if is_written_in_place => copied(path, directory)?,
            Ok(_) => match HiddenName::make_lasting(directory, |hidden| std::fs::hard_link(path, hidden)) {
                Ok(((), name)) => Before::Linked(name),
                Err(_) => copied(path, directory)?,
            },
        };
        Ok(Undo { path: path.to_owned(), before })
    }

    /// Path of the previous file, if it has one.
    pub fn backup(&self) -> Option<&Path> {
        match &self.before {
            Before::Linked(name) | Before::Copied(name) => Some(name.path()),
            Before::Nothing | Before::CopiedElsewhere(_) => None,
        }
    }

    /// Restores the file, or its absence.
    pub fn restore(self) -> Result<()> {
        let restored = match self.before {
            Before::Nothing => match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
            Before::Linked(name) => name.rename(&self.path),
            Before::Copied(name) => File::open(name.path()).and_then(|copy| copy_back(copy, &self.path)),
            Before::CopiedElsewhere(copy) => copy_back(copy, &self.path),
        };
        restored.map_err(Error::io(&self.path, "restore"))
    }
}

fn copy_back(mut copy: File, path: &Path) -> io::Result<()> {
    copy.rewind()?;
    let mut file = File::options().write(true).truncate(true).open(path)?;
    io::copy(&mut copy, &mut file).map(drop)
}

fn copied(path: &Path, directory: &Path) -> io::Result<Before> {
    if let Ok((_, name)) = HiddenName::make_lasting(directory, |hidden| copy_new(path, hidden)) {
        return Ok(Before::Copied(name));
    }
    let mut copy = tempfile::tempfile()?;
    io::copy(&mut File::open(path)?, &mut copy)?;
    Ok(Before::CopiedElsewhere(copy))
}

/// Copies a file, for its owner only.
fn copy_new(path: &Path, hidden: &Path) -> io::Result<u64> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::copy(&mut File::open(path)?, &mut options.write(true).create_new(true).open(hidden)?)
}
