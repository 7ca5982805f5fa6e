//! Words of command lines.

use std::ffi::{OsStr, OsString};

/// Returns an option and its value as one word.
pub fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

/// Style of the quotes in a response file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// A backslash keeps the meaning of the next character, in both kinds of quotes, too.
    Gnu,
    /// Only double quotes; a backslash counts before them and nowhere else.
    Windows,
}
