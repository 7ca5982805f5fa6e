//! Arguments as bytes, like the tools treat them: a path on a command line need not be UTF-8.

use std::ffi::{OsStr, OsString};

/// Returns the bytes of an argument.
pub fn bytes(argument: &OsStr) -> &[u8] {
    argument.as_encoded_bytes()
}

/// Returns the argument with these bytes. Invalid UTF-8 is replaced on systems whose strings are not bytes, where it cannot
/// have come from an argument.
pub fn os_string(bytes: Vec<u8>) -> OsString {
    #[cfg(unix)]
    {
        std::os::unix::ffi::OsStringExt::from_vec(bytes)
    }
    #[cfg(not(unix))]
    {
        String::from_utf8_lossy(&bytes).into_owned().into()
    }
}

/// Returns an argument as text for messages.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Returns the last part of the path that a program was called by, which begins most messages.
pub fn file_name(program: &OsStr) -> String {
    std::path::Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned()
}
