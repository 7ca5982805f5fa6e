//! Records of outputs that get their names together, in case SIGKILL ends the run in between.
//!
//! A commit has one record: a file with a link in each directory with outputs, from before the first output gets its
//! name until after the last one has it. Because it is one file, one byte decides in all directories whether the commit
//! is complete. The process locks the record, so a record without a lock is from a run that was killed. A commit has no
//! record where a directory cannot have a link to it: if its outputs are on several file systems, and on other systems
//! than Linux, which cannot lock a file before it has a name.

#[cfg(target_os = "linux")]
mod directory;
#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "none.rs"]
mod linux;
#[cfg(target_os = "linux")]
mod record;
#[cfg(target_os = "linux")]
mod recovery;
#[cfg(target_os = "linux")]
mod state;

use std::fs::File;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use linux::Journal;
#[cfg(not(target_os = "linux"))]
pub use linux::recover;
#[cfg(target_os = "linux")]
pub use recovery::recover;

/// Directories whose records were found, each once.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Returns the directories where a run has left a record, and forgets them.
pub fn take_unfinished() -> Vec<PathBuf> {
    std::mem::take(&mut *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Looks for a record that a run of this user has left in a directory.
pub fn find_unfinished(directory: &Path) {
    let mut found = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    if !found.iter().any(|known| known == directory) && linux::has_unfinished(directory) {
        found.push(directory.to_owned());
    }
}

/// A file of a commit.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has records"))]
pub struct JournalEntry<'a> {
    /// The output.
    pub path: &'a Path,
    /// Name for the file that it replaces. Nothing has it yet.
    pub backup: Option<&'a Path>,
    /// The complete output, without its name.
    pub new: &'a File,
    /// Its bytes are copied into the existing file.
    pub is_in_place: bool,
}

/// Result for a file of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has records"))]
pub enum Recovered {
    /// The file is as it was before the run.
    Restored(PathBuf),
    /// The file did not exist before the run, or was a hidden one of it, and is removed.
    Removed(PathBuf),
    /// The file differs from what the run wrote and from what was there before.
    Newer {
        /// The file.
        path: PathBuf,
        /// The file that was there before the run.
        old: Option<PathBuf>,
    },
    /// A hidden file that is not touched.
    Left {
        /// The file.
        path: PathBuf,
        /// The reason.
        why: &'static str,
    },
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
