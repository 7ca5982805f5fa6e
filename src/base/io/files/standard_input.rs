//! Standard input, which is copied to a temporary file: containers have their tables anywhere, and a pipe cannot be
//! read twice.

use std::fs::File;
use std::io;
use std::sync::{Mutex, PoisonError};

/// Name of standard input in messages.
pub const STANDARD_INPUT: &str = "standard input";

/// The temporary file, since the first call of [`copy`].
static COPY: Mutex<Option<File>> = Mutex::new(None);

/// Returns the temporary file with everything that standard input holds. It is read once: a command may open an input
/// several times, for example to find out whether it is a lock.
pub fn copy() -> io::Result<File> {
    let mut copy = COPY.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = &*copy {
        return file.try_clone();
    }
    let mut file = tempfile::tempfile()?;
    io::copy(&mut io::stdin().lock(), &mut file)?;
    copy.insert(file).try_clone()
}
