//! `RECORD` of wheels: the hash and the size of each file (PyPA, "Recording installed projects").

use std::borrow::Cow;
use std::collections::HashMap;

/// Suffix of the directory of a wheel that contains its metadata.
const DIRECTORY: &[u8] = b".dist-info";

/// Hash and size of a file with new bytes.
#[derive(Debug, Clone, Copy)]
pub struct RecordedFile {
    pub sha256: [u8; 32],
    pub size: u64,
}

/// Returns whether a member with this name is the record of a wheel.
pub fn is_record(name: &[u8]) -> bool {
    is_metadata(name, b"RECORD")
}

/// Returns whether a member with this name is a signature of the record.
pub fn is_signature(name: &[u8]) -> bool {
    is_metadata(name, b"RECORD.jws") || is_metadata(name, b"RECORD.p7s")
}

/// Only the directory at the top counts: packages may contain copies of others.
fn is_metadata(name: &[u8], file: &[u8]) -> bool {
    let mut parts = name.split(|&byte| byte == b'/');
    let is_directory = |part: &[u8]| part.ends_with(DIRECTORY);
    parts.next().is_some_and(is_directory) && parts.next() == Some(file) && parts.next().is_none()
}

/// Returns a record with other hashes and sizes of these files. All other bytes stay. A row without a hash gets none.
pub fn with_files(record: &[u8], files: &HashMap<&[u8], RecordedFile>) -> Vec<u8> {
    let mut out = Vec::with_capacity(record.len());
    let mut rest = record;
    while !rest.is_empty() {
        let (row, next) = rest.split_at(row_size(rest));
        rest = next;
        let (path, columns) = row.split_at(field_size(row));
        let text = columns.trim_ascii_end();
        match files.get(&*unquoted(path)) {
            Some(file) if text.starts_with(b",") && !text.starts_with(b",,") => {
                let hash = url_safe_base64(&file.sha256);
                out.extend(path);
                out.extend(format!(",sha256={hash},{}", file.size).bytes());
                out.extend(columns.iter().skip(text.len()));
            }
            _ => out.extend(row),
        }
    }
    out
}

/// Returns the size of the first row, with its line break. A quoted field may contain line breaks.
fn row_size(text: &[u8]) -> usize {
    size_until(text, b'\n').saturating_add(1).min(text.len())
}

/// Returns the size of the first field.
fn field_size(text: &[u8]) -> usize {
    size_until(text, b',')
}

/// Returns the number of bytes before a separator that is not in quotes.
fn size_until(text: &[u8], separator: u8) -> usize {
    let mut is_quoted = false;
    let is_end = |&byte: &u8| {
        is_quoted ^= byte == b'"';
        byte == separator && !is_quoted
    };
    text.iter().position(is_end).unwrap_or(text.len())
}

/// Returns the contents of a field; two quotes in quotes are one (RFC 4180).
fn unquoted(field: &[u8]) -> Cow<'_, [u8]> {
    let Some(inner) = field.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")) else {
        return Cow::Borrowed(field);
    };
    let mut bytes = Vec::with_capacity(inner.len());
    let mut after_quote = false;
    for &byte in inner {
        after_quote = byte == b'"' && !after_quote;
        if !after_quote {
            bytes.push(byte);
        }
    }
    Cow::Owned(bytes)
}

/// Encodes bytes in base64 with `-` and `_`, without padding (RFC 4648, section 5).
fn url_safe_base64(bytes: &[u8]) -> String {
    const DIGITS: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
    let mut text = String::new();
    for chunk in bytes.chunks(3) {
        let group = chunk.iter().chain(&[0; 3]).take(3).fold(0_usize, |group, &byte| group << 8 | usize::from(byte));
        for place in 0..=chunk.len() {
            let digit = group >> (18_usize.saturating_sub(place.saturating_mul(6))) & 63;
            text.push(DIGITS.get(digit).copied().unwrap_or_default().into());
        }
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn encodes_every_length() {
        let encoded = ["", "_w", "__8", "____", "-_8", "Zm9vYmFy"];
        for (bytes, encoded) in
            [&b""[..], b"\xff", b"\xff\xff", b"\xff\xff\xff", b"\xfb\xff", b"foobar"].iter().zip(encoded)
        {
            assert_eq!(url_safe_base64(bytes), encoded);
        }
    }

    #[test]
    fn rows_of_changed_files_get_their_hash_and_size() {
        let file = RecordedFile { sha256: [0; 32], size: 7 };
        let zeros = format!("sha256={}", "A".repeat(43));
        let files = HashMap::from([(&b"a/b.so"[..], file), (b"a,\"c\"\n.so", file), (b"p-1.dist-info/RECORD", file)]);
        let record =
            "a/b.so,sha256=x,1\r\na/b.so.1,sha512=y,2\n\"a,\"\"c\"\"\n.so\",sha512=z,3\np-1.dist-info/RECORD,,\n";
        let expected = format!(
            "a/b.so,{zeros},7\r\na/b.so.1,sha512=y,2\n\"a,\"\"c\"\"\n.so\",{zeros},7\np-1.dist-info/RECORD,,\n"
        );
        assert_eq!(String::from_utf8(with_files(record.as_bytes(), &files)).unwrap(), expected);
        // Without a line break at the end, without columns, and with an open quote.
        for (record, expected) in [
            ("a/b.so,sha256=x,1", format!("a/b.so,{zeros},7")),
            ("a/b.so", "a/b.so".to_owned()),
            ("\"a/b.so,sha256=x,1", "\"a/b.so,sha256=x,1".to_owned()),
        ] {
            assert_eq!(String::from_utf8(with_files(record.as_bytes(), &files)).unwrap(), expected);
        }
    }

    #[test]
    fn only_the_record_at_the_top_is_that_of_the_wheel() {
        let names = ["p-1.dist-info/RECORD", "RECORD", "a/p-1.dist-info/RECORD", "p-1.dist-info/x/RECORD"];
        assert_eq!(names.map(|name| is_record(name.as_bytes())), [true, false, false, false]);
        assert!(is_signature(b"p-1.dist-info/RECORD.jws") && !is_signature(b"p-1.dist-info/RECORD"));
    }
}
