//! Addresses of the form `file://PATH#offset=N&size=M`, by which ROCm's runtime, debugger and profilers name code objects.
//!
//! Source: AMDGPU usage document of LLVM, section Loaded Code Object Path Uniform Resource Identifier. What stands behind
//! `file://` is the path, percent-encoded (RFC 3986), also a relative one, for so the tools write it; `localhost` in front
//! of it is allowed as RFC 8089 has it. Numbers are decimal, hexadecimal or octal as in C.

use std::path::{Path, PathBuf};

use percent_encoding::percent_decode_str;

use crate::error::{Error, Result};

/// A file, or some of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUri {
    pub path: PathBuf,
    /// Offset and size in bytes; without it the whole file is meant.
    pub range: Option<(u64, u64)>,
}

impl FileUri {
    /// Reads an address; `None` for a path, which begins with no scheme that is known here.
    pub fn parse(text: &Path) -> Option<Result<FileUri>> {
        let text = text.to_str()?;
        let invalid = |why: &str| Error::Address { address: text.to_owned(), why: why.to_owned() };
        if text.starts_with("memory://") {
            return Some(Err(invalid("is in the memory of a process; only files can be read")));
        }
        let rest = text.strip_prefix("file://")?;
        let (path, range) = rest.split_once(['#', '?']).map_or((rest, None), |(path, range)| (path, Some(range)));
        let range = range.map(|range| {
            parse_range(range).ok_or_else(|| invalid("is no address; file://PATH#offset=N&size=M is one"))
        });
        let path = decode_path(path).ok_or_else(|| invalid("names no file"));
        Some(range.transpose().and_then(|range| Ok(FileUri { path: path?, range })))
    }
}

fn parse_range(text: &str) -> Option<(u64, u64)> {
    let (offset, size) = text.split_once('&')?;
    Some((parse_number(offset.strip_prefix("offset=")?)?, parse_number(size.strip_prefix("size=")?)?))
}

fn parse_number(text: &str) -> Option<u64> {
    let hexadecimal = text.strip_prefix("0x").or(text.strip_prefix("0X")).map(|digits| (digits, 16));
    let octal = text.strip_prefix('0').filter(|digits| !digits.is_empty()).map(|digits| (digits, 8));
    let (digits, radix) = hexadecimal.or(octal).unwrap_or((text, 10));
    // The standard library takes a sign.
    u64::from_str_radix(digits, radix).ok().filter(|_| digits.starts_with(|c: char| c.is_ascii_hexdigit()))
}

fn decode_path(path: &str) -> Option<PathBuf> {
    let path = match path.strip_prefix("localhost/") {
        Some(_) => &path["localhost".len()..],
        None => path,
    };
    // `/C:/folder` is a path as RFC 8089 writes it, and none for Windows.
    #[cfg(windows)]
    let path = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':')).unwrap_or(path);
    let bytes: Vec<u8> = percent_decode_str(path).collect();
    #[cfg(unix)]
    let path = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes));
    #[cfg(not(unix))]
    let path = PathBuf::from(String::from_utf8(bytes).ok()?);
    (!path.as_os_str().is_empty()).then_some(path)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_names_bytes_of_a_file_and_what_has_no_scheme_is_a_path() {
        let cases = [
            ("file:///opt/lib/a.so#offset=4096&size=3456", "/opt/lib/a.so", Some((4096, 3456))),
            ("file://a.out?offset=0x1000&size=010", "a.out", Some((4096, 8))),
            ("file://localhost/tmp/a%20b%23c#offset=0&size=0", "/tmp/a b#c", Some((0, 0))),
            ("file:///tmp/whole", "/tmp/whole", None),
        ];
        for (text, path, range) in cases {
            let expected = FileUri { path: PathBuf::from(path), range };
            assert_eq!(FileUri::parse(Path::new(text)).unwrap().unwrap(), expected, "{text}");
        }
        assert!(FileUri::parse(Path::new("lib/a.so#offset=1&size=2")).is_none());
    }

    #[test]
    fn an_address_that_is_none_is_refused_with_its_cause() {
        let cases = [
            ("memory://1234#offset=0x7f00&size=64", "is in the memory of a process; only files can be read"),
            ("file:///a#offset=1", "is no address; file://PATH#offset=N&size=M is one"),
            ("file:///a#size=1&offset=+2", "is no address; file://PATH#offset=N&size=M is one"),
            ("file:///a#offset=1&size=99999999999999999999", "is no address; file://PATH#offset=N&size=M is one"),
            ("file://#offset=1&size=1", "names no file"),
        ];
        for (text, why) in cases {
            let error = FileUri::parse(Path::new(text)).unwrap().unwrap_err();
            assert_eq!(error.to_string(), format!("{text}: {why}"));
        }
    }
}
