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
    /// A file that has no other name yet.
    Planned(HiddenName),
    /// A file that will be replaced, under another name.
    Linked(HiddenName),
    /// A copy of a file that will be written in place, or that cannot be linked.
    Copied(HiddenName),
    /// Such a copy, in a directory that cannot be written.
    CopiedElsewhere(File),
}

impl Undo {
    /// Chooses a hidden name for the file at `path`. The record of the commit has the name before the file gets it.
    pub fn plan(path: &Path) -> io::Result<Self> {
        let before = match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::Nothing,
            Err(error) => return Err(error),
            Ok(_) => Before::Planned(HiddenName::of_backup(directory(path))?),
        };
        Ok(Undo { path: path.to_owned(), before })
    }

    /// Hidden name of the previous file, if there is such a file.
    pub fn backup(&self) -> Option<&Path> {
        match &self.before {
            Before::Planned(name) | Before::Linked(name) | Before::Copied(name) => Some(name.path()),
            Before::Nothing | Before::CopiedElsewhere(_) => None,
        }
    }

    /// Keeps the previous file for [`Undo::restore`]. Returns whether its hidden name is of a copy.
    pub fn keep(&mut self, is_written_in_place: bool) -> io::Result<bool> {
        let Before::Planned(name) = std::mem::replace(&mut self.before, Before::Nothing) else { return Ok(false) };
        let is_linked = !is_written_in_place && std::fs::hard_link(&self.path, name.path()).is_ok();
        let is_copied = !is_linked && copy_new(&self.path, name.path()).is_ok();
        self.before = if is_linked {
            Before::Linked(name)
        } else if is_copied {
            Before::Copied(name)
        } else {
            let mut copy = tempfile::tempfile()?;
            io::copy(&mut File::open(&self.path)?, &mut copy)?;
            Before::CopiedElsewhere(copy)
        };
        Ok(is_copied)
    }

    /// Restores the file, or its absence.
    pub fn restore(self) -> Result<()> {
        let restored = match self.before {
            Before::Nothing => match std::fs::remove_file(&self.path) {
                Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
                removed => removed,
            },
            Before::Planned(_) => Ok(()),
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

/// Copies a file, for its owner only.
fn copy_new(path: &Path, hidden: &Path) -> io::Result<u64> {
    let mut options = File::options();
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    io::copy(&mut File::open(path)?, &mut options.write(true).create_new(true).open(hidden)?)
}
