//! Standard input, which is copied to a temporary file: containers have their tables anywhere, and a pipe cannot be
//! read twice.

use std::collections::BTreeMap;
use std::fs::File;
use std::io::{self, Read, Write};
use std::path::{Path, PathBuf};
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
    copy.insert(copied(&mut io::stdin().lock())?).try_clone()
}

/// Temporary files with the contents of pipes.
static PIPES: Mutex<BTreeMap<PathBuf, File>> = Mutex::new(BTreeMap::new());

/// Returns whether a path names a pipe that this process has open, as process substitution of a shell passes it. Other
/// pipes are refused: they may have no writer.
pub fn is_pipe(path: &Path) -> bool {
    #[cfg(unix)]
    let is_fifo = |it: std::fs::Metadata| std::os::unix::fs::FileTypeExt::is_fifo(&it.file_type());
    #[cfg(not(unix))]
    let is_fifo = |_| false;
    ["/dev/fd", "/dev/stdin", "/proc/self/fd"].iter().any(|open| path.starts_with(open))
        && std::fs::metadata(path).is_ok_and(is_fifo)
}

/// Returns a temporary file with everything that a pipe holds. Like [`copy`], it reads the pipe once.
pub fn copy_of(path: &Path) -> io::Result<File> {
    let mut pipes = PIPES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(file) = pipes.get(path) {
        return file.try_clone();
    }
    let file = copied(&mut File::open(path)?)?;
    let copy = file.try_clone();
    pipes.insert(path.to_owned(), file);
    copy
}

fn copied(from: &mut dyn Read) -> io::Result<File> {
    let mut file = tempfile::tempfile()?;
    let mut block = vec![0; BLOCK];
    loop {
        let read = match from.read(&mut block) {
            Ok(0) => break,
            Err(error) if error.kind() == io::ErrorKind::Interrupted => continue,
            read => read?,
        };
        file.write_all(&block[..read])?;
        Work::Read.record(read as u64);
    }
    Ok(file)
}
