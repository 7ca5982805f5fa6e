//! Response files: an argument `@FILE` is replaced by the arguments in the file.
//!
//! Replacement precedes all other parsing and applies everywhere, including another option's value and arguments after
//! `--`. If the file does not exist, the argument stays unchanged. Arguments in a file are separated by white space. A
//! backslash escapes the next character, and both kinds of quotes preserve white space. A file may name other files,
//! relative to the working directory, but not itself.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use super::arguments::{os_string, text};
use crate::base::io::{FileIdentity, file_identity};
use crate::cli::dropin::diagnostics::cause;

/// Replaces every response file by the arguments in it.
pub fn expand(arguments: Vec<Vec<u8>>) -> Result<Vec<Vec<u8>>, String> {
    let mut expanded = Vec::new();
    // The files that are being expanded must not occur again. Each level keeps the rest of its arguments. There is no
    // recursion, because files may be nested thousands of levels deep.
    let mut open: HashMap<FileIdentity, PathBuf> = HashMap::new();
    let mut levels = vec![(None, arguments.into_iter())];
    while let Some((identity, arguments)) = levels.last_mut() {
        let Some(argument) = arguments.next() else {
            if let Some(identity) = identity {
                open.remove(identity);
            }
            levels.pop();
            continue;
        };
        let file = match argument.split_first() {
            Some((b'@', name)) => existing(name)?,
            _ => None,
        };
        let Some(path) = file else {
            expanded.push(argument);
            continue;
        };
        let identity = file_identity(&path);
        if let Some(outer) = identity.as_ref().and_then(|identity| open.get(identity)) {
            return Err(recursive(outer));
        }
        let inner = tokens(&contents(&path)?);
        if let Some(identity) = &identity {
            open.insert(identity.clone(), path);
        }
        levels.push((identity, inner.into_iter()));
    }
    Ok(expanded)
}

fn recursive(outer: &Path) -> String {
    format!("recursive expansion of: '{}'", outer.display())
}

/// Absolute path of a file, if it exists.
fn existing(name: &[u8]) -> Result<Option<PathBuf>, String> {
    let directory = std::env::current_dir()
        .map_err(|error| format!("cannot get absolute path for: {}{}", text(name), cause(&error)))?;
    // An empty name would add a separator.
    let path = if name.is_empty() { directory } else { directory.join(os_string(name.to_vec())) };
    match std::fs::metadata(&path) {
        Ok(_) => Ok(Some(path)),
        Err(error) if error.kind() == std::io::ErrorKind::NotFound => Ok(None),
        Err(error) => Err(cannot_open(&path, &error)),
    }
}

/// Reads a file as UTF-8, without its byte order mark.
fn contents(path: &Path) -> Result<Vec<u8>, String> {
    let bytes = std::fs::read(path).map_err(|error| cannot_open(path, &error))?;
    let units = |from: fn([u8; 2]) -> u16, rest: &[u8]| {
        let (pairs, odd) = rest.as_chunks::<2>();
        let units: Vec<u16> = pairs.iter().map(|&pair| from(pair)).collect();
        let text = if odd.is_empty() { String::from_utf16(&units).ok() } else { None };
        text.map(String::into_bytes).ok_or_else(|| "Could not convert UTF16 to UTF8".to_owned())
    };
    match bytes.as_slice() {
        [0xff, 0xfe, rest @ ..] => units(u16::from_le_bytes, rest),
        [0xfe, 0xff, rest @ ..] => units(u16::from_be_bytes, rest),
        [0xef, 0xbb, 0xbf, rest @ ..] => Ok(rest.to_vec()),
        _ => Ok(bytes),
    }
}

// The tools' wording.
fn cannot_open(path: &Path, error: &std::io::Error) -> String {
    format!("cannot not open file '{}': {}", path.display(), cause(error))
}

/// Splits the contents of a file into arguments.
pub fn tokens(text: &[u8]) -> Vec<Vec<u8>> {
    let mut tokens = Vec::new();
    let mut token = Vec::new();
    let mut bytes = text.iter().copied().peekable();
    while let Some(byte) = bytes.next() {
        match byte {
            b'\\' if bytes.peek().is_some() => token.extend(bytes.next()),
            b'"' | b'\'' => {
                while let Some(inner) = bytes.next().filter(|&inner| inner != byte) {
                    let escaped = if inner == b'\\' { bytes.next() } else { None };
                    token.push(escaped.unwrap_or(inner));
                }
            }
            b' ' | b'\t' | b'\r' | b'\n' => push(&mut tokens, std::mem::take(&mut token)),
            _ => token.push(byte),
        }
    }
    push(&mut tokens, token);
    tokens
}

/// Adds a token. The tools store tokens as C strings, and drop empty ones.
fn push(tokens: &mut Vec<Vec<u8>>, mut token: Vec<u8>) {
    if !token.is_empty() {
        token.truncate(token.iter().position(|&byte| byte == 0).unwrap_or(token.len()));
        tokens.push(token);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn expand_all(arguments: &[&str]) -> Result<Vec<String>, String> {
        let arguments = arguments.iter().map(|argument| argument.as_bytes().to_vec()).collect();
        expand(arguments).map(|expanded| expanded.iter().map(|argument| text(argument)).collect())
    }

    fn lines(text: &[u8]) -> Vec<String> {
        tokens(text).iter().map(|token| super::text(token)).collect()
    }

    #[test]
    fn splits_quotes_and_backslashes_nearly_as_a_shell_does() {
        assert_eq!(lines(b" a\tb\r\nc\n"), ["a", "b", "c"]);
        assert_eq!(lines(br#"x"y z"'"' \" "\"" 'it\'s' a\ b"#), ["xy z\"", "\"", "\"", "it's", "a b"]);
        assert_eq!(lines(b"'' \"\" a"), ["a"]);
        assert_eq!(lines(b"\"never closed"), ["never closed"]);
        assert_eq!(lines(b"last\\"), ["last\\"]);
        assert_eq!(lines(b"a\0b \0c"), ["a", ""]);
    }

    /// Path for a response file, where a backslash is an escape.
    fn slashed(directory: &tempfile::TempDir, name: &str) -> String {
        directory.path().join(name).display().to_string().replace(std::path::MAIN_SEPARATOR, "/")
    }

    #[test]
    fn replaces_nested_files_by_their_arguments() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| format!("@{}", slashed(&directory, name));
        std::fs::write(directory.path().join("inner"), "b 'c d'").unwrap();
        std::fs::write(directory.path().join("outer"), format!("a {} e", path("inner"))).unwrap();
        std::fs::write(directory.path().join("empty"), "").unwrap();
        let expanded = expand_all(&["x", &path("outer"), &path("empty"), &path("inner"), "y@z", &path("no")]).unwrap();
        assert_eq!(expanded, ["x", "a", "b", "c d", "e", "b", "c d", "y@z", &path("no")]);
    }

    #[test]
    fn reports_a_file_that_includes_itself() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| slashed(&directory, name);
        std::fs::write(path("one"), format!("@{}", path("two"))).unwrap();
        std::fs::write(path("two"), format!("a @{}", path("one"))).unwrap();
        let error = expand_all(&[&format!("@{}", path("one"))]).unwrap_err();
        assert_eq!(error, format!("recursive expansion of: '{}'", path("one")));
    }

    #[test]
    fn files_are_expanded_thousands_of_levels_deep() {
        let directory = tempfile::tempdir().unwrap();
        let path = |level: usize| slashed(&directory, &level.to_string());
        for level in 0..3000 {
            std::fs::write(path(level), format!("a{level} @{} b{level}", path(level + 1))).unwrap();
        }
        std::fs::write(path(3000), "end").unwrap();
        let expanded = expand_all(&[&format!("@{}", path(0))]).unwrap();
        assert_eq!((expanded.len(), expanded[3000].as_str(), expanded[6000].as_str()), (6001, "end", "b0"));
    }

    #[test]
    fn rejects_a_directory_as_a_response_file() {
        let directory = tempfile::tempdir().unwrap();
        let error = expand_all(&[&format!("@{}", directory.path().display())]).unwrap_err();
        assert!(error.starts_with(&format!("cannot not open file '{}': ", directory.path().display())), "{error}");
    }

    #[test]
    fn byte_order_marks_determine_the_encoding() {
        let file = tempfile::NamedTempFile::new().unwrap();
        let argument = format!("@{}", file.path().display());
        let cases: [(&[u8], Result<&str, &str>); 5] = [
            (b"\xef\xbb\xbf-a", Ok("-a")),
            (b"\xff\xfe-\0\xe9\0", Ok("-é")),
            (b"\xfe\xff\0-\0a", Ok("-a")),
            (b"\xff\xfe-\0a", Err("Could not convert UTF16 to UTF8")),
            (b"\xff\xfe\0\xd8-\0", Err("Could not convert UTF16 to UTF8")),
        ];
        for (bytes, expected) in cases {
            std::fs::write(file.path(), bytes).unwrap();
            let expected = expected.map(|text| vec![text.to_owned()]).map_err(str::to_owned);
            assert_eq!(expand_all(&[&argument]), expected, "{bytes:?}");
        }
    }
}
