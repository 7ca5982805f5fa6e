//! Response files: words of a command line in a file, `@FILE`.
//!
//! [`Dialect`] describes how programs read them. A word for a file that does not exist stays unchanged, and names are
//! relative to the working directory, even in a file in another directory.

mod dialect;
mod split;
mod write;

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::io;
use std::path::{Path, PathBuf};

use fatbin_core::base::io::{FileIdentity, file_identity, os_string};
use fatbin_core::base::system_error::describe_start;

pub use dialect::{Dialect, GNU, LLVM, LLVM_WINDOWS, NVIDIA};
use dialect::{Includes, Nesting};
pub use split::{Unterminated, split};
pub use write::write;

/// Words of a command line after the expansion of response files.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Expanded {
    /// The words.
    pub words: Vec<OsString>,
    /// True if some of them are from response files.
    pub has_response_files: bool,
}

/// A response file that cannot be read.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ResponseFileError {
    /// The working directory has no path.
    #[error("{}: cannot determine its path: {}", name.display(), describe_start(cause))]
    Directory {
        /// Name of the file.
        name: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
    /// The file cannot be opened or read.
    #[error("{}: cannot read: {}", path.display(), describe_start(cause))]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        cause: io::Error,
    },
    /// The file has the mark of UTF-16 and other text.
    #[error("{}: response file is not UTF-16", path.display())]
    Encoding {
        /// Path of the file.
        path: PathBuf,
    },
    /// A quote or an escape without its end.
    #[error("{}: response file ends inside a word", path.display())]
    Unterminated {
        /// Path of the file.
        path: PathBuf,
    },
    /// The file is in a file that it includes.
    #[error("{}: response file includes itself", path.display())]
    Recursive {
        /// Path of the file.
        path: PathBuf,
    },
    /// Files include more files than the program reads.
    #[error("{}: response files are nested too deeply", path.display())]
    TooMany {
        /// Path of one of the files.
        path: PathBuf,
    },
}

/// Replaces `@FILE` by the words in the file.
pub fn expand(words: impl IntoIterator<Item = OsString>, dialect: &Dialect) -> Result<Expanded, ResponseFileError> {
    let mut expanded = Expanded::default();
    let mut open = OpenFiles::default();
    // Each level keeps the rest of its words. There is no recursion, because files may be nested thousands of levels
    // deep.
    let mut levels = vec![(None, words.into_iter().collect::<Vec<_>>().into_iter())];
    while let Some((identity, words)) = levels.last_mut() {
        let Some(word) = words.next() else {
            open.close(identity.as_ref());
            levels.pop();
            continue;
        };
        let Some(path) = response_file(&word, dialect)? else {
            expanded.words.push(word);
            continue;
        };
        let identity = open.open(&path, dialect, levels.len())?;
        let text = std::fs::read(&path).map_err(|cause| ResponseFileError::Read { path: path.clone(), cause })?;
        let text = if dialect.has_marks { decoded(text, &path)? } else { text };
        let words = split(&text, dialect).map_err(|_| ResponseFileError::Unterminated { path })?;
        expanded.has_response_files = true;
        levels.push((identity, words.iter().map(|word| os_string(word)).collect::<Vec<_>>().into_iter()));
    }
    Ok(expanded)
}

/// The files that are being expanded.
#[derive(Default)]
struct OpenFiles {
    by_identity: HashMap<FileIdentity, PathBuf>,
    /// Number of files that were opened so far.
    count: usize,
}

impl OpenFiles {
    /// Checks that a file may be opened, `depth` files deep, and records it.
    fn open(
        &mut self,
        path: &Path,
        dialect: &Dialect,
        depth: usize,
    ) -> Result<Option<FileIdentity>, ResponseFileError> {
        let path = path.to_owned();
        self.count += 1;
        match dialect.nesting {
            Nesting::Files(most) if self.count > most => return Err(ResponseFileError::TooMany { path }),
            Nesting::Depth(most) if depth > most => return Err(ResponseFileError::TooMany { path }),
            Nesting::Files(_) | Nesting::Depth(_) => return Ok(None),
            Nesting::Acyclic => {}
        }
        let Some(identity) = file_identity(&path) else { return Ok(None) };
        match self.by_identity.get(&identity) {
            Some(outer) => Err(ResponseFileError::Recursive { path: outer.clone() }),
            None => {
                self.by_identity.insert(identity.clone(), path);
                Ok(Some(identity))
            }
        }
    }

    fn close(&mut self, identity: Option<&FileIdentity>) {
        if let Some(identity) = identity {
            self.by_identity.remove(identity);
        }
    }
}

/// Path of the file that a word names; `None` if the word stays unchanged.
fn response_file(word: &OsStr, dialect: &Dialect) -> Result<Option<PathBuf>, ResponseFileError> {
    let Some(name) = word.as_encoded_bytes().strip_prefix(b"@") else { return Ok(None) };
    let name = PathBuf::from(os_string(name));
    if dialect.includes == Includes::RegularFiles {
        return Ok(if name.is_file() { Some(name) } else { None });
    }
    let directory = match std::env::current_dir() {
        Ok(directory) => directory,
        Err(cause) => return Err(ResponseFileError::Directory { name, cause }),
    };
    // An empty name would add a separator.
    let path = if name.as_os_str().is_empty() { directory } else { directory.join(name) };
    match std::fs::metadata(&path) {
        Ok(_) => Ok(Some(path)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(ResponseFileError::Read { path, cause }),
    }
}

/// Text of a file as UTF-8, without its byte order mark. Microsoft's build tools write UTF-16.
fn decoded(bytes: Vec<u8>, path: &Path) -> Result<Vec<u8>, ResponseFileError> {
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => from_utf_16(rest, u16::from_le_bytes, path),
        [0xfe, 0xff, rest @ ..] => from_utf_16(rest, u16::from_be_bytes, path),
        [0xef, 0xbb, 0xbf, rest @ ..] => Ok(rest.to_vec()),
        _ => Ok(bytes),
    }
}

fn from_utf_16(bytes: &[u8], number: fn([u8; 2]) -> u16, path: &Path) -> Result<Vec<u8>, ResponseFileError> {
    let (pairs, odd) = bytes.as_chunks::<2>();
    let units: Vec<u16> = pairs.iter().map(|&pair| number(pair)).collect();
    let text = if odd.is_empty() { String::from_utf16(&units).ok() } else { None };
    text.map(String::into_bytes).ok_or_else(|| ResponseFileError::Encoding { path: path.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::dialect::MOLD;
    use super::*;

    fn reference(directory: &tempfile::TempDir, name: &str) -> OsString {
        // A backslash is an escape in a file.
        format!("@{}", directory.path().join(name).display()).replace(std::path::MAIN_SEPARATOR, "/").into()
    }

    fn words(words: impl IntoIterator<Item = OsString>, dialect: &Dialect) -> Result<Vec<OsString>, String> {
        expand(words, dialect).map(|expanded| expanded.words).map_err(|error| error.to_string())
    }

    #[test]
    fn files_are_read_in_files_and_missing_ones_are_words() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("inner"), "b 'c d'").unwrap();
        std::fs::write(path("outer"), format!("a {} e", reference(&directory, "inner").display())).unwrap();
        std::fs::write(path("empty"), " \n").unwrap();
        for dialect in [&GNU, &LLVM, &MOLD] {
            let line = ["outer", "empty", "inner"].map(|name| reference(&directory, name));
            let expanded = expand(line.into_iter().chain(["x@y".into(), "@none".into()]), dialect).unwrap();
            assert_eq!(expanded.words, ["a", "b", "c d", "e", "b", "c d", "x@y", "@none"]);
            assert!(expanded.has_response_files);
            let expected = Expanded { words: vec!["@none".into()], has_response_files: false };
            assert_eq!(expand(["@none".into()], dialect).unwrap(), expected);
        }
    }

    #[test]
    fn the_dialect_limits_how_files_include_one_another() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name);
        std::fs::write(path("loop"), reference(&directory, "loop").as_encoded_bytes()).unwrap();
        for level in 0..2100 {
            let next = reference(&directory, &(level + 1).to_string());
            std::fs::write(path(&level.to_string()), format!("a{level} {} b{level}", next.display())).unwrap();
        }
        std::fs::write(path("2100"), "end").unwrap();
        let from = |level: usize, dialect| words([reference(&directory, &level.to_string())], dialect);
        let expanded = from(0, &LLVM).unwrap();
        assert_eq!((expanded.len(), &expanded[2100], &expanded[4200]), (4201, &"end".into(), &"b0".into()));
        for (dialect, deepest) in [(&GNU, 2101 - 1999), (&MOLD, 2101 - 10)] {
            assert!(from(deepest, dialect).is_ok());
            let error = from(deepest - 1, dialect).unwrap_err();
            assert_eq!(error, format!("{}: response files are nested too deeply", path("2100").display()));
        }
        for (dialect, reason) in [
            (&GNU, "response files are nested too deeply"),
            (&MOLD, "response files are nested too deeply"),
            (&LLVM, "response file includes itself"),
            (&LLVM_WINDOWS, "response file includes itself"),
        ] {
            let error = words([reference(&directory, "loop")], dialect).unwrap_err();
            assert_eq!(error, format!("{}: {reason}", path("loop").display()));
        }
    }

    #[test]
    fn byte_order_marks_count_for_llvm() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("marked");
        let line = [reference(&directory, "marked")];
        let wrong = Err(format!("{}: response file is not UTF-16", path.display()));
        let cases: [(&[u8], Result<&str, ()>); 5] = [
            (b"\xef\xbb\xbf-a", Ok("-a")),
            (b"\xff\xfe-\0\xe9\0", Ok("-é")),
            (b"\xfe\xff\0-\0a", Ok("-a")),
            (b"\xff\xfe-\0a", Err(())),
            (b"\xff\xfe\0\xd8-\0", Err(())),
        ];
        for (bytes, expected) in cases {
            std::fs::write(&path, bytes).unwrap();
            for dialect in [&LLVM, &LLVM_WINDOWS] {
                let expected = expected.map(|word| vec![OsString::from(word)]).or(wrong.clone());
                assert_eq!(words(line.clone(), dialect), expected, "{bytes:?}");
            }
        }
        std::fs::write(&path, b"\xef\xbb\xbf-a").unwrap();
        assert_eq!(words(line, &GNU).unwrap(), [os_string(b"\xef\xbb\xbf-a")]);
    }

    #[test]
    fn a_directory_is_an_error_for_llvm_and_a_word_for_others() {
        let directory = tempfile::tempdir().unwrap();
        let word = OsString::from(format!("@{}", directory.path().display()));
        let error = words([word.clone()], &LLVM).unwrap_err();
        assert!(error.starts_with(&format!("{}: cannot read: ", directory.path().display())), "{error}");
        assert_eq!(words([word.clone()], &GNU).unwrap(), [word]);
    }
}
