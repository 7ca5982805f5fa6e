//! Exclusive use of the directories of trials, whose names are fixed.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Result};
use rustix::fs::{FlockOperation, flock};

/// Waits until no other run of these tests uses the directories. The lock ends with the process, and commands do not inherit it.
pub fn wait_for_other_runs(tests: &str) -> Result<File> {
    let path = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{tests}.lock"));
    let file = File::create(&path).with_context(|| path.display().to_string())?;
    if flock(&file, FlockOperation::NonBlockingLockExclusive).is_err() {
        eprintln!("{tests}: waiting for another run to end");
        flock(&file, FlockOperation::LockExclusive)?;
    }
    Ok(file)
}
