//! Arguments as bytes, as the tools treat them: a path on a command line need not be UTF-8.

use std::ffi::{OsStr, OsString};

/// Bytes of an argument.
pub fn bytes(argument: &OsStr) -> &[u8] {
    argument.as_encoded_bytes()
}

/// Argument with these bytes. On systems whose strings are not bytes, invalid UTF-8 is replaced. It cannot come from an
/// argument there.
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

/// Argument as text for messages.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// Splits an argument at its first `=`.
pub fn split_value(argument: &[u8]) -> (&[u8], Option<&[u8]>) {
    match argument.iter().position(|&byte| byte == b'=') {
        Some(at) => (&argument[..at], Some(&argument[at + 1..])),
        None => (argument, None),
    }
}

/// Last part of the program's path, which begins most messages.
pub fn file_name(program: &OsStr) -> String {
    std::path::Path::new(program).file_name().unwrap_or(program).to_string_lossy().into_owned()
}
