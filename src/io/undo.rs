//! The way back from an output that has replaced a file, until other outputs have replaced theirs.

use std::fs::File;
use std::io::{self, Seek};
use std::path::{Path, PathBuf};

use super::destination::directory;
use super::temporary::HiddenName;
use crate::error::{Error, Result};

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
    Copied(File),
}

impl Undo {
    /// Keeps the file at `path` for [`Undo::restore`].
    pub fn of(path: &Path, is_written_in_place: bool) -> io::Result<Self> {
        let directory = directory(path);
        let before = match std::fs::symlink_metadata(path) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Before::Nothing,
            Err(error) => return Err(error),
            Ok(_) if is_written_in_place => copied(path, directory)?,
            Ok(_) => match HiddenName::make(directory, |hidden| std::fs::hard_link(path, hidden)) {
                Ok(((), name)) => Before::Linked(name),
                Err(_) => copied(path, directory)?,
            },
        };
        Ok(Undo { path: path.to_owned(), before })
    }

    /// Restores the file, or its absence.
    pub fn restore(self) -> Result<()> {
        let restored = match self.before {
            Before::Nothing => std::fs::remove_file(&self.path),
            Before::Linked(name) => name.rename(&self.path),
            Before::Copied(copy) => copy_back(copy, &self.path),
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
    let mut copy = tempfile::tempfile_in(directory).or_else(|_| tempfile::tempfile())?;
    io::copy(&mut File::open(path)?, &mut copy)?;
    Ok(Before::Copied(copy))
}
