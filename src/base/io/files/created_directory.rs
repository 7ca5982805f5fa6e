//! Directories for outputs, which are removed again if no output is written to them.

use std::path::{Path, PathBuf};

use super::registry::Registration;
use super::scratch::SCRATCH_DIRECTORIES;
use super::temporary::register_in;
use crate::base::error::{Error, Result};

/// Directories that did not exist. Dropping them removes the empty ones; so does a signal that ends the program.
#[derive(Debug)]
pub struct CreatedDirectories {
    /// From the outermost to the innermost.
    paths: Vec<PathBuf>,
    _registrations: Vec<Registration<std::ffi::CString>>,
}

impl CreatedDirectories {
    /// Creates a directory and its parents, unless they exist.
    pub fn create(directory: &Path) -> Result<Self> {
        let missing = directory.ancestors().take_while(|path| !path.as_os_str().is_empty() && !path.exists());
        let mut paths: Vec<PathBuf> = missing.map(Path::to_owned).collect();
        paths.reverse();
        std::fs::create_dir_all(directory).map_err(Error::io(directory, "create"))?;
        Ok(CreatedDirectories {
            // Handlers take the last one first.
            _registrations: paths.iter().filter_map(|path| register_in(&SCRATCH_DIRECTORIES, path)).collect(),
            paths,
        })
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
