//! Words of command lines that a person pastes into a shell.

use std::ffi::OsString;
use std::path::Path;

/// Returns a word, in quotes where a shell needs them.
pub fn quoted(word: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || "%+,-./:=@_".contains(c);
    if !word.is_empty() && word.chars().all(is_plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', "'\\''"))
    }
}

/// Returns a shorter pattern that a shell replaces by a path: the start of the file's name, `*`, and its ending. `None`
/// where no shorter pattern matches this file alone, and where the shell does not know patterns.
pub fn pattern(path: &str) -> Option<String> {
    let (directory, name) = path.rsplit_once('/').map_or(("", path), |(directory, name)| (directory, name));
    let ending = name.rfind('.').and_then(|at| name.get(at..))?;
    if cfg!(windows) || quoted(path) != path || path.starts_with('-') {
        return None;
    }
    let listed = std::fs::read_dir(if directory.is_empty() { Path::new(".") } else { Path::new(directory) }).ok()?;
    let others: Vec<OsString> = listed.flatten().map(|it| it.file_name()).filter(|it| it != name).collect();
    let is_other = |start: &str| {
        let matches = |other: &OsString| {
            let other = other.as_encoded_bytes();
            other.starts_with(start.as_bytes()) && other.ends_with(ending.as_bytes())
        };
        others.iter().any(matches)
    };
    let starts = name.char_indices().filter(|(_, c)| "-_.".contains(*c)).filter_map(|(at, _)| name.get(..at));
    let start = starts.filter(|start| !start.is_empty()).find(|start| !is_other(start))?;
    let short = path.strip_suffix(name)?.to_owned() + start + "*" + ending;
    (short.len() < path.len()).then_some(short)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn patterns_match_one_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = |name: &str| directory.path().join(name).to_str().unwrap().to_owned();
        for name in ["a-1.0-cp312-linux_x86_64.whl", "a-1.0-cp312-win.whl", "a-1.0.txt", "b.so"] {
            std::fs::write(path(name), "").unwrap();
        }
        for (name, expected) in [("a-1.0-cp312-linux_x86_64.whl", "a-1.0-cp312-linux*.whl"), ("a-1.0.txt", "a*.txt")] {
            assert_eq!(pattern(&path(name)), Some(path(expected)), "{name}");
        }
        for name in ["b.so", "missing/x-1-2-3.so", "no ending"] {
            assert_eq!(pattern(&path(name)), None, "{name}");
        }
    }

    #[test]
    fn words_are_quoted_where_a_shell_needs_it() {
        let cases =
            [("lib/a-1.so", "lib/a-1.so"), ("a b", "'a b'"), ("it's", "'it'\\''s'"), ("", "''"), ("$x", "'$x'")];
        for (word, expected) in cases {
            assert_eq!(quoted(word), expected, "{word}");
        }
    }
}
