//! Strings for C, which live as long as the handle that lends them.

use std::collections::HashMap;
use std::ffi::{CString, c_char};
use std::ptr;

/// Converts text, and replaces NUL by U+FFFD, the replacement character.
pub fn c_string(text: &str) -> CString {
    CString::new(text.replace('\0', "\u{fffd}")).unwrap_or_default()
}

/// Strings of a handle, each stored once.
#[derive(Debug, Default)]
pub struct Strings(HashMap<String, CString>);

impl Strings {
    /// Returns a string that is valid as long as `self`.
    pub fn add(&mut self, text: &str) -> *const c_char {
        if let Some(known) = self.0.get(text) {
            return known.as_ptr();
        }
        // The map may move the owner of the string, and the string stays where it is.
        self.0.entry(text.to_owned()).or_insert(c_string(text)).as_ptr()
    }

    /// Returns a string, or NULL for none.
    pub fn add_optional(&mut self, text: Option<&str>) -> *const c_char {
        text.map_or(ptr::null(), |text| self.add(text))
    }
}
