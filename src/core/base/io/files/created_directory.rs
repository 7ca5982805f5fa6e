//! Directories for outputs, which are removed again if no output is written to them.

use std::ffi::OsStr;
use std::io;
use std::path::{Path, PathBuf};

use super::output_name::OutputName;
use super::registry::Registration;
use super::scratch::SCRATCH_DIRECTORIES;
use super::temporary::register_in;
use crate::base::error::{Error, Result};

/// Directories that did not exist. Dropping them removes the empty ones; so does a signal that ends the program.
#[derive(Debug, Default)]
pub struct CreatedDirectories {
    /// Each directory follows the directory that it is in.
    paths: Vec<PathBuf>,
    registrations: Vec<Registration<std::ffi::CString>>,
}

impl CreatedDirectories {
    /// Creates a directory that the user specified and its parents, unless they exist. Symbolic links are followed.
    pub fn create(&mut self, directory: &Path) -> Result<()> {
        let missing = directory.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let mut missing: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        missing.reverse();
        std::fs::create_dir_all(directory).map_err(Error::io(directory, "create"))?;
        for path in missing {
            self.add(path);
        }
        Ok(())
    }

    /// Creates the directories of a name below `directory`, unless they exist. A symbolic link in place of one of them
    /// is an error.
    pub fn create_below(&mut self, directory: &Path, name: &OutputName) -> Result<()> {
        let mut directories = name.directories().peekable();
        if directories.peek().is_none() {
            return Ok(());
        }
        let mut place = Place::open(directory).map_err(Error::io(directory, "open"))?;
        for component in directories {
            match place.enter(component) {
                Ok(true) => self.add(place.path.clone()),
                Ok(false) => {}
                Err(_) if place.path.is_symlink() => return Err(Error::SymbolicLink { path: place.path.clone() }),
                Err(error) => return Err(Error::io(&place.path, "create")(error)),
            }
        }
        Ok(())
    }

    fn add(&mut self, path: PathBuf) {
        // Handlers take the last one first.
        self.registrations.extend(register_in(&SCRATCH_DIRECTORIES, &path));
        self.paths.push(path);
    }
}

impl Drop for CreatedDirectories {
    fn drop(&mut self) {
        for path in self.paths.iter().rev() {
            // A directory with outputs is not removed.
            let _ = std::fs::remove_dir(path);
        }
    }
}

/// A directory, open on Linux: nothing is created elsewhere, even if a link takes the place of its name.
struct Place {
    path: PathBuf,
    #[cfg(target_os = "linux")]
    descriptor: std::os::fd::OwnedFd,
}

impl Place {
    #[cfg(target_os = "linux")]
    fn open(path: &Path) -> io::Result<Self> {
        use rustix::fs::{Mode, OFlags, open};
        let path = path.to_owned();
        let current = if path.as_os_str().is_empty() { Path::new(".") } else { &path };
        let descriptor = open(current, OFlags::PATH | OFlags::DIRECTORY | OFlags::CLOEXEC, Mode::empty())?;
        Ok(Place { path, descriptor })
    }

    /// Enters a directory, which is created if it does not exist. Returns whether it was created. On an error, the path
    /// is the directory's.
    #[cfg(target_os = "linux")]
    fn enter(&mut self, name: &OsStr) -> io::Result<bool> {
        use rustix::fs::{Mode, OFlags, mkdirat, openat};
        use rustix::io::Errno;
        self.path.push(name);
        let is_new = match mkdirat(&self.descriptor, name, Mode::from_raw_mode(0o777)) {
            Ok(()) => true,
            Err(Errno::EXIST) => false,
            Err(error) => return Err(error.into()),
        };
        let flags = OFlags::PATH | OFlags::DIRECTORY | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        self.descriptor = openat(&self.descriptor, name, flags, Mode::empty())?;
        Ok(is_new)
    }

    #[cfg(not(target_os = "linux"))]
    fn open(path: &Path) -> io::Result<Self> {
        Ok(Place { path: path.to_owned() })
    }

    /// Enters a directory, which is created if it does not exist. Returns whether it was created. On an error, the path
    /// is the directory's.
    #[cfg(not(target_os = "linux"))]
    fn enter(&mut self, name: &OsStr) -> io::Result<bool> {
        self.path.push(name);
        match std::fs::create_dir(&self.path) {
            Ok(()) => Ok(true),
            Err(error) if error.kind() != io::ErrorKind::AlreadyExists => Err(error),
            Err(_) if std::fs::symlink_metadata(&self.path)?.is_dir() => Ok(false),
            Err(_) => Err(io::ErrorKind::NotADirectory.into()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn directories_without_outputs_are_removed() {
        let root = tempfile::tempdir().unwrap();
        let mut created = CreatedDirectories::default();
        created.create(&root.path().join("a/b")).unwrap();
        for name in ["c/d/file", "c/e/file", "file"] {
            created.create_below(&root.path().join("a/b"), &OutputName::parse_path(name).unwrap()).unwrap();
        }
        assert!(root.path().join("a/b/c/d").is_dir() && root.path().join("a/b/c/e").is_dir());
        std::fs::write(root.path().join("a/b/c/e/file"), "").unwrap();
        drop(created);
        assert!(root.path().join("a/b/c/e/file").is_file() && !root.path().join("a/b/c/d").exists());
    }

    #[cfg(unix)]
    #[test]
    fn a_link_in_place_of_a_directory_is_an_error() {
        let root = tempfile::tempdir().unwrap();
        let path = |name: &str| root.path().join(name);
        for directory in ["outside", "out", "out/real"] {
            std::fs::create_dir(path(directory)).unwrap();
        }
        std::fs::write(path("out/real/file"), "").unwrap();
        for (target, link) in
            [("../outside", "out/a"), ("../../outside", "out/real/b"), ("missing", "out/c"), ("out", "d")]
        {
            std::os::unix::fs::symlink(target, path(link)).unwrap();
        }
        let mut created = CreatedDirectories::default();
        let mut create = |directory: &str, name: &str| {
            created.create_below(&path(directory), &OutputName::parse_path(name).unwrap())
        };
        for (name, link) in [("a/x/file", "out/a"), ("real/b/file", "out/real/b"), ("c/file", "out/c")] {
            let error = create("out", name).unwrap_err();
            assert!(matches!(&error, Error::SymbolicLink { path: found } if *found == path(link)), "{error}");
        }
        let error = create("out", "real/file/x").unwrap_err();
        assert!(matches!(&error, Error::Io { path: found, .. } if *found == path("out/real/file")), "{error}");
        // The user's directory may be a link.
        create("d", "real/new/file").unwrap();
        assert!(path("out/real/new").is_dir());
        assert_eq!(std::fs::read_dir(path("outside")).unwrap().count(), 0);
    }
}
