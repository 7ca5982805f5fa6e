//! Records of outputs that get their names together, in case SIGKILL ends the run in between.
//!
//! Each directory with such outputs has a record, from before the first output gets its name until after the last one
//! has it. The process locks its records, so a record without a lock is from a run that was killed. Only Linux has
//! records: they need files that are locked before they have a name.

#[cfg(target_os = "linux")]
mod linux;
#[cfg(not(target_os = "linux"))]
#[path = "none.rs"]
mod linux;

use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

pub use linux::Journal;
pub use linux::recover;

/// Directories whose records were found, each once.
static UNFINISHED: Mutex<Vec<PathBuf>> = Mutex::new(Vec::new());

/// Returns the directories where a run has left a record, and forgets them.
pub fn take_unfinished() -> Vec<PathBuf> {
    std::mem::take(&mut *UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner))
}

/// Looks for a record that a run has left in a directory.
pub fn find_unfinished(directory: &Path) {
    let mut found = UNFINISHED.lock().unwrap_or_else(PoisonError::into_inner);
    if !found.iter().any(|known| known == directory) && linux::has_unfinished(directory) {
        found.push(directory.to_owned());
    }
}

/// A file of a commit.
#[derive(Debug)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has records"))]
pub struct JournalEntry {
    /// The output.
    pub path: PathBuf,
    /// Link to the file that it replaces, or a copy of it.
    pub backup: Option<PathBuf>,
    /// Identity of the new file.
    pub new: String,
}

/// Result for a file of a record.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(target_os = "linux"), allow(dead_code, reason = "only Linux has records"))]
pub enum Recovered {
    /// The file is as it was before the run.
    Restored(PathBuf),
    /// The file did not exist before the run, and is removed.
    Removed(PathBuf),
    /// The file has been written again since.
    Newer(PathBuf),
}

impl JournalEntry {
    /// Identity of a file whose bytes are replaced.
    pub const IN_PLACE: &str = "=";
}

#[cfg(all(test, target_os = "linux"))]
mod tests;
