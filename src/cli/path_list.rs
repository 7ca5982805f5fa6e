//! Lists of paths (`--files-from`). They are read line by line, because the writer of a pipe may wait for the result of
//! one path before it writes the next.

use std::fs::File;
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};

use fatbin_core::base::error::{Error, Result};
use fatbin_core::base::io::STANDARD_INPUT;

/// Name of standard input on the command line.
const STANDARD: &str = "-";

/// Paths in a list, one per line, in any encoding. Empty lines are skipped.
pub struct PathList {
    name: PathBuf,
    reader: BufReader<Box<dyn Read + Send>>,
    has_failed: bool,
}

impl PathList {
    /// Opens a list; `-` is standard input.
    pub fn open(path: &Path) -> Result<PathList> {
        let (name, source): (&Path, Box<dyn Read + Send>) = if path == Path::new(STANDARD) {
            (Path::new(STANDARD_INPUT), Box::new(io::stdin()))
        } else {
            (path, Box::new(File::open(path).map_err(Error::io(path, "open"))?))
        };
        Ok(PathList { name: name.to_owned(), reader: BufReader::new(source), has_failed: false })
    }

    /// The line has no terminator. Returns `None` at the end of the list.
    fn next_line(&mut self) -> io::Result<Option<Vec<u8>>> {
        let mut line = Vec::new();
        if self.reader.read_until(b'\n', &mut line)? == 0 {
            return Ok(None);
        }
        for end in [b'\n', b'\r'] {
            line.pop_if(|last| *last == end);
        }
        Ok(Some(line))
    }
}

impl Iterator for PathList {
    type Item = Result<PathBuf>;

    /// An error is the last item.
    fn next(&mut self) -> Option<Result<PathBuf>> {
        while !self.has_failed {
            match self.next_line() {
                Ok(Some(line)) if line.is_empty() => {}
                Ok(line) => return Some(Ok(line_to_path(line?))),
                Err(cause) => {
                    self.has_failed = true;
                    return Some(Err(Error::io(&self.name, "read")(cause)));
                }
            }
        }
        None
    }
}

/// Returns whether a list may still be written while it is read. The number of its paths is unknown until it ends.
pub fn is_stream(list: &Path) -> bool {
    list == Path::new(STANDARD) || std::fs::metadata(list).is_ok_and(|metadata| !metadata.is_file())
}

/// Accepts any encoding.
fn line_to_path(line: Vec<u8>) -> PathBuf {
    #[cfg(unix)]
    return <std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(line).into();
    #[cfg(not(unix))]
    return String::from_utf8_lossy(&line).into_owned().into();
}
