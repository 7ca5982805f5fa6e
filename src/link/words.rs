//! Words of command lines.

use std::ffi::{OsStr, OsString};

/// Returns an option and its value as one word.
pub fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}
