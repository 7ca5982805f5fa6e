//! Words of command lines.

use std::ffi::{OsStr, OsString};

/// Option and value as one word.
pub fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}

/// Style of the quotes in a response file.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Quoting {
    /// A backslash escapes the next character, even inside both kinds of quotes.
    Gnu,
    /// Only double quotes. A backslash has a meaning only before them.
    Windows,
}
