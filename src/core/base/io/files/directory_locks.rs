//! Locks of directories, so that runs that write several outputs each give them their names one after the other.
//!
//! Only Linux has them. Some file systems cannot lock directories; then nothing is locked.

use std::fs::File;
use std::path::Path;

use crate::base::error::Result;

/// Locks, until they are dropped or the process ends.
#[derive(Debug)]
pub struct DirectoryLocks(#[allow(dead_code, reason = "closing a file unlocks it")] Vec<File>);

#[cfg(target_os = "linux")]
impl DirectoryLocks {
    /// Locks directories, each once. Waits while another process has locked one, but not forever: any user who may
    /// read a directory can lock it.
    pub fn acquire<'a>(directories: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        use std::collections::BTreeMap;
        use std::os::unix::fs::MetadataExt;

        let mut files = BTreeMap::new();
        for path in directories {
            if let Ok(file) = File::open(path)
                && let Ok(metadata) = file.metadata()
            {
                files.insert((metadata.dev(), metadata.ino()), (path, file));
            }
        }
        // All processes lock in one order, so none waits for another that waits for it.
        let mut locks = Vec::new();
        for (path, file) in files.into_values() {
            linux::lock(path, &file)?;
            locks.push(file);
        }
        Ok(DirectoryLocks(locks))
    }
}

#[cfg(not(target_os = "linux"))]
impl DirectoryLocks {
    /// Locks nothing.
    pub fn acquire<'a>(_directories: impl IntoIterator<Item = &'a Path>) -> Result<Self> {
        Ok(DirectoryLocks(Vec::new()))
    }
}

#[cfg(target_os = "linux")]
mod linux {
    use std::fs::File;
    use std::io;
    use std::path::Path;
    use std::time::{Duration, Instant};

    use rustix::fs::{FlockOperation, flock};
    use rustix::io::Errno;

    use crate::base::error::{Error, Result};

    /// Time to wait for another process, whose outputs may have to be written to the disk.
    const PATIENCE: Duration = Duration::from_secs(60);

    /// Time between two attempts.
    const PAUSE: Duration = Duration::from_millis(2);

    /// Locks a directory, if its file system supports that.
    pub fn lock(path: &Path, directory: &File) -> Result<()> {
        let start = Instant::now();
        loop {
            match flock(directory, FlockOperation::NonBlockingLockExclusive) {
                Err(Errno::WOULDBLOCK) if start.elapsed() < PATIENCE => std::thread::sleep(PAUSE),
                Err(Errno::WOULDBLOCK) => {
                    let why = "another process writes files here; run the command again when it has ended";
                    return Err(Error::io(path, "lock")(io::Error::new(io::ErrorKind::WouldBlock, why)));
                }
                Err(Errno::INTR) => {}
                _ => return Ok(()),
            }
        }
    }
}
