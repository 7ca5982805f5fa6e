//! Words of command lines.

use std::ffi::{OsStr, OsString};

/// Option and value as one word.
pub fn joined(option: &str, value: &OsStr) -> OsString {
    let mut word = OsString::from(option);
    word.push(value);
    word
}
