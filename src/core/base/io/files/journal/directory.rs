//! A directory that is opened once. All its files are reached from there by their names, and no link is followed.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Metadata};
use std::io;
use std::os::unix::ffi::OsStringExt;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};

use rustix::fs::{AtFlags, Dir, Mode, OFlags, openat, renameat, unlinkat};

use crate::base::io::files::temporary::PREFIX;

/// An open directory.
#[derive(Debug)]
pub struct Directory {
    file: File,
    path: PathBuf,
    /// User who runs this program.
    pub user: u32,
}

impl Directory {
    /// Opens a directory. `path` may be a link to it.
    pub fn open(path: &Path) -> io::Result<Self> {
        let flags = OFlags::RDONLY | OFlags::DIRECTORY | OFlags::CLOEXEC;
        let file = File::from(rustix::fs::open(path, flags, Mode::empty())?);
        Ok(Directory { file, path: path.to_owned(), user: rustix::process::geteuid().as_raw() })
    }

    /// Returns whether a file is of the user who runs this program.
    pub fn is_own(&self, metadata: &Metadata) -> bool {
        metadata.uid() == self.user
    }

    /// Device and number.
    pub fn id(&self) -> io::Result<(u64, u64)> {
        let metadata = self.file.metadata()?;
        Ok((metadata.dev(), metadata.ino()))
    }

    /// Returns the path of a file for messages.
    pub fn path_of(&self, name: &OsStr) -> PathBuf {
        self.path.join(name)
    }

    /// Opens a regular file for reading. Nothing else is opened: opening a FIFO could wait for another process.
    pub fn open_file(&self, name: &OsStr) -> io::Result<File> {
        self.open_with(name, OFlags::RDONLY)
    }

    /// Opens a regular file for writing.
    pub fn open_for_writing(&self, name: &OsStr) -> io::Result<File> {
        self.open_with(name, OFlags::WRONLY)
    }

    fn open_with(&self, name: &OsStr, access: OFlags) -> io::Result<File> {
        let flags = access | OFlags::NOFOLLOW | OFlags::NONBLOCK | OFlags::NOCTTY | OFlags::CLOEXEC;
        let file = File::from(openat(&self.file, name, flags, Mode::empty())?);
        if file.metadata()?.is_file() { Ok(file) } else { Err(io::ErrorKind::InvalidInput.into()) }
    }

    /// Returns the metadata of a name, which may be a link; `None` if there is no such name.
    pub fn metadata(&self, name: &OsStr) -> io::Result<Option<Metadata>> {
        let flags = OFlags::PATH | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        match openat(&self.file, name, flags, Mode::empty()) {
            Ok(file) => File::from(file).metadata().map(Some),
            Err(rustix::io::Errno::NOENT) => Ok(None),
            Err(error) => Err(error.into()),
        }
    }

    /// Gives a file another name in the directory, in place of the file that has it.
    pub fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(renameat(&self.file, from, &self.file, to)?)
    }

    /// Removes a name.
    pub fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(unlinkat(&self.file, name, AtFlags::empty())?)
    }

    /// Returns the names of hidden files of this program, sorted.
    pub fn hidden_names(&self) -> io::Result<Vec<OsString>> {
        let mut names = Vec::new();
        for entry in Dir::read_from(&self.file)? {
            let name = entry?.file_name().to_bytes().to_vec();
            if name.starts_with(PREFIX.as_bytes()) {
                names.push(OsString::from_vec(name));
            }
        }
        names.sort();
        Ok(names)
    }
}
