//! Addresses of the form `file://PATH#offset=N&size=M`. ROCm's runtime, debugger and profilers name code objects with
//! them.
//!
//! Source: AMDGPU usage document of LLVM, section Loaded Code Object Path Uniform Resource Identifier. `file://` is
//! followed by the path, percent-encoded (RFC 3986); it may be relative, because the tools write relative paths, too.
//! `localhost` may precede it (RFC 8089). Numbers are decimal, hexadecimal or octal as in C.

use std::fmt;
use std::path::{Path, PathBuf};

use crate::base::error::{Error, Result};

/// A file, or a range of its bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileUri {
    /// Path of the file, decoded.
    pub path: PathBuf,
    /// Offset and size in bytes; `None` for the whole file.
    pub range: Option<(u64, u64)>,
}

impl FileUri {
    /// Parses an address. Returns `None` for text without the scheme of an address, which is a path.
    pub fn parse(text: &Path) -> Option<Result<FileUri>> {
        let text = text.to_str()?;
        let invalid = |why: &str| Error::Address { address: text.to_owned(), why: why.to_owned() };
        if text.starts_with("memory://") {
            return Some(Err(invalid("addresses in the memory of a process are not supported; use a file:// address")));
        }
        let rest = text.strip_prefix("file://")?;
        let (path, range) = rest.split_once(['#', '?']).map_or((rest, None), |(path, range)| (path, Some(range)));
        let range = range.map(|range| {
            parse_range(range).ok_or_else(|| invalid("invalid address, expected file://PATH#offset=N&size=M"))
        });
        let path = decode_path(path).ok_or_else(|| invalid("invalid address, expected a path after file://"));
        Some(range.transpose().and_then(|range| Ok(FileUri { path: path?, range })))
    }
}

impl fmt::Display for FileUri {
    /// Writes the address as ROCm's tools do: all bytes of the path but `a-zA-Z0-9/_.~-` as `%` and two upper-case
    /// digits.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("file://")?;
        let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"/_.~-".contains(byte);
        // A list has the address of each image, with the same path.
        for run in self.path.as_os_str().as_encoded_bytes().chunk_by(|a, b| is_plain(a) && is_plain(b)) {
            match (run, str::from_utf8(run)) {
                ([first, ..], Ok(run)) if is_plain(first) => f.write_str(run)?,
                _ => run.iter().try_for_each(|byte| write!(f, "%{byte:02X}"))?,
            }
        }
        self.range.map_or(Ok(()), |(offset, size)| write!(f, "#offset={offset}&size={size}"))
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
    // `from_str_radix` accepts a sign.
    if digits.starts_with(|c: char| c.is_ascii_hexdigit()) { u64::from_str_radix(digits, radix).ok() } else { None }
}

fn decode_path(path: &str) -> Option<PathBuf> {
    let path = match path.strip_prefix("localhost/") {
        Some(_) => &path["localhost".len()..],
        None => path,
    };
    // RFC 8089 writes `/C:/directory`, which is not a path for Windows.
    #[cfg(windows)]
    let path = path.strip_prefix('/').filter(|rest| rest.as_bytes().get(1) == Some(&b':')).unwrap_or(path);
    let bytes = decode(path);
    #[cfg(unix)]
    let path = PathBuf::from(<std::ffi::OsString as std::os::unix::ffi::OsStringExt>::from_vec(bytes));
    #[cfg(not(unix))]
    let path = PathBuf::from(String::from_utf8(bytes).ok()?);
    (!path.as_os_str().is_empty()).then_some(path)
}

/// Replaces each `%` and the two digits after it with a byte. A `%` without digits remains.
fn decode(text: &str) -> Vec<u8> {
    let mut parts = text.split('%');
    let mut bytes = parts.next().unwrap_or_default().as_bytes().to_vec();
    for part in parts {
        let digits = part.get(..2).filter(|digits| digits.bytes().all(|digit| digit.is_ascii_hexdigit()));
        match digits.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                bytes.extend(&part.as_bytes()[2..]);
            }
            None => bytes.extend([b"%", part.as_bytes()].concat()),
        }
    }
    bytes
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parses_paths_and_ranges_and_ignores_text_without_a_scheme() {
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
    fn encodes_every_byte_but_those_of_plain_names() {
        let uri = FileUri { path: "/a b/é#%.so".into(), range: Some((4096, 3456)) };
        assert_eq!(uri.to_string(), "file:///a%20b/%C3%A9%23%25.so#offset=4096&size=3456");
        let path: String = (1..128).map(char::from).collect();
        let uri = FileUri { path: path.into(), range: None };
        let kept: String = uri.to_string()[7..].split('%').flat_map(|part| part.chars().skip(2)).collect();
        assert_eq!(kept, "-./0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ_abcdefghijklmnopqrstuvwxyz~");
        assert_eq!(FileUri::parse(Path::new(&uri.to_string())).unwrap().unwrap(), uri);
    }

    #[test]
    fn decodes_only_two_digits_after_a_percent_sign() {
        let cases =
            [("%41%4a%4A", "AJJ"), ("%", "%"), ("a%4", "a%4"), ("%+1%zz%4é", "%+1%zz%4é"), ("%%41%2541", "%A%41")];
        for (text, decoded) in cases {
            assert_eq!(decode(text), decoded.as_bytes(), "{text}");
        }
    }

    #[test]
    fn rejects_invalid_addresses() {
        let cases = [
            (
                "memory://1234#offset=0x7f00&size=64",
                "addresses in the memory of a process are not supported; use a file:// address",
            ),
            ("file:///a#offset=1", "invalid address, expected file://PATH#offset=N&size=M"),
            ("file:///a#size=1&offset=+2", "invalid address, expected file://PATH#offset=N&size=M"),
            ("file:///a#offset=1&size=99999999999999999999", "invalid address, expected file://PATH#offset=N&size=M"),
            ("file://#offset=1&size=1", "invalid address, expected a path after file://"),
        ];
        for (text, why) in cases {
            let error = FileUri::parse(Path::new(text)).unwrap().unwrap_err();
            assert_eq!(error.to_string(), format!("{text}: {why}"));
        }
    }
}
