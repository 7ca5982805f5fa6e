//! A directory for files that other programs write and read, which is removed at the end.

use std::ffi::{CString, OsStr};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Mutex;

use tempfile::TempDir;

use super::registry::{Registration, Registry};
use super::temporary::register_in;
use crate::base::error::{Error, Result};

/// Directories of this process, which signal handlers remove after the files in them.
pub static SCRATCH_DIRECTORIES: Registry<CString> = Registry::new();

/// A directory that is removed on drop, and when a signal ends the program.
#[derive(Debug)]
pub struct ScratchDirectory {
    directory: TempDir,
    /// Registrations of the files, then of the directory.
    registrations: Mutex<Vec<Registration<CString>>>,
}

/// Removes other users' access to a directory, which is empty.
fn restrict(directory: &Path) -> io::Result<()> {
    #[cfg(unix)]
    std::fs::set_permissions(directory, std::os::unix::fs::PermissionsExt::from_mode(0o700))?;
    let _ = directory;
    Ok(())
}

impl ScratchDirectory {
    /// Creates a directory among the system's temporary files. Only this user has access, regardless of the umask:
    /// other programs create files in it that a linker reads.
    pub fn create() -> Result<Self> {
        let parent = std::env::temp_dir();
        let created = tempfile::Builder::new().prefix("fatbin-").tempdir_in(&parent);
        let directory = created.map_err(Error::io(&parent, "create a temporary directory"))?;
        restrict(directory.path()).map_err(Error::io(directory.path(), "set permissions"))?;
        let registration = register_in(&SCRATCH_DIRECTORIES, directory.path());
        Ok(ScratchDirectory { directory, registrations: Mutex::new(registration.into_iter().collect()) })
    }

    /// The path of the directory.
    pub fn path(&self) -> &Path {
        self.directory.path()
    }

    /// Returns the path for a file with this name, which any program may create.
    pub fn file(&self, name: impl AsRef<OsStr>) -> PathBuf {
        let path = self.directory.path().join(name.as_ref());
        if let Some(registration) = register_in(&super::temporary::HIDDEN_FILES, &path) {
            self.registrations.lock().expect("no thread panics with the lock").push(registration);
        }
        path
    }
}
