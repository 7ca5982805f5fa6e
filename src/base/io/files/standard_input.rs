//! Standard input, which is copied to a temporary file: containers have their tables anywhere, and a pipe cannot be
//! read twice.

use std::fs::File;
use std::io::{self, Read, Write};
use std::sync::{Mutex, PoisonError};

use crate::base::activity::Work;

/// Number of bytes read at a time: the size of a pipe under Linux.
const BLOCK: usize = 64 << 10;

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
    let (mut from, mut block) = (io::stdin().lock(), vec![0; BLOCK]);
    loop {
        let read = match from.read(&mut block) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        file.write_all(&block[..read])?;
        Work::Read.record(read as u64);
    }
    copy.insert(file).try_clone()
}
