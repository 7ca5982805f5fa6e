//! Arguments as bytes, which is what the tools take them for: a path need not be UTF-8 to be given on a command line.

use std::ffi::{OsStr, OsString};

/// The bytes of an argument.
pub fn bytes(argument: &OsStr) -> &[u8] {
    argument.as_encoded_bytes()
}

/// An argument of these bytes. Where the system's strings are not bytes, what is not UTF-8 cannot have come from it.
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

/// An argument as messages show it.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// The last part of the path that a program was called by, which begins most messages.
pub fn file_name(program: &OsStr) -> String {
    std::path::Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned()
}
