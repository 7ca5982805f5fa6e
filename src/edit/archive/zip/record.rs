//! `RECORD` of wheels: the hash and the size of each file (PyPA, "Recording installed projects").

use std::borrow::Cow;
use std::collections::{HashMap, HashSet};

use sha2::{Digest, Sha256};

/// Suffix of the directory of a wheel that contains its metadata.
const DIRECTORY: &[u8] = b".dist-info";

/// Hash and size of a file with new bytes.
#[derive(Debug, Clone, Copy)]
pub struct RecordedFile {
    pub sha256: [u8; 32],
    pub size: u64,
}

impl RecordedFile {
    /// Hashes the bytes of a file.
    pub fn of(bytes: &[u8]) -> Self {
        RecordedFile { sha256: Sha256::digest(bytes).into(), size: bytes.len() as u64 }
    }
}

/// Returns whether a member with this name is the record of a wheel.
pub fn is_record(name: &[u8]) -> bool {
    is_metadata(name, b"RECORD")
}

/// Returns whether a member needs no row: the record cannot have its own hash, and its signatures are newer than it.
fn is_record_or_signature(name: &[u8]) -> bool {
    is_record(name) || is_metadata(name, b"RECORD.jws") || is_metadata(name, b"RECORD.p7s")
}

/// Only the directory at the top counts: packages may contain copies of other packages.
fn is_metadata(name: &[u8], file: &[u8]) -> bool {
    let inner = metadata_directory(name).and_then(|directory| name.strip_prefix(directory)?.strip_prefix(b"/"));
    inner == Some(file)
}

/// Returns the metadata directory at the top of a wheel, if a member is in it.
pub fn metadata_directory(name: &[u8]) -> Option<&[u8]> {
    let size = name.iter().position(|&byte| byte == b'/')?;
    name.get(..size).filter(|directory| directory.ends_with(DIRECTORY))
}

/// Returns a record with new hashes and sizes of these files. All other bytes stay. A row without a hash does not get
/// one.
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

/// Hash and size of a file as a record states them.
#[derive(Debug)]
struct Row {
    hash: Vec<u8>,
    size: Vec<u8>,
}

/// The rows of a record by their paths.
#[derive(Debug)]
pub struct Record {
    has_mark: bool,
    rows: HashMap<Vec<u8>, Row>,
}

impl Record {
    /// Reads the rows.
    pub fn read(record: &[u8]) -> Self {
        let mut rows = HashMap::new();
        let mut rest = record;
        while !rest.is_empty() {
            let (row, next) = rest.split_at(row_size(rest));
            rest = next;
            let (path, columns) = row.split_at(field_size(row));
            let mut columns = columns.trim_ascii_end().split(|&byte| byte == b',').skip(1);
            let mut column = || columns.next().unwrap_or_default().to_vec();
            rows.insert(unquoted(path).into_owned(), Row { hash: column(), size: column() });
        }
        Record { has_mark: record.starts_with(BYTE_ORDER_MARK), rows }
    }

    /// Returns how the record contradicts a file. Returns `None` if it has a row with the file's hash and size.
    /// Installers would refuse a file with a contradiction, and an edit would give it a hash that looks right.
    pub fn contradiction(&self, name: &[u8], file: impl FnOnce() -> RecordedFile) -> Option<String> {
        if self.has_mark {
            return Some("RECORD begins with a byte order mark".to_owned());
        }
        let Some(row) = self.rows.get(name) else { return Some("has no row in RECORD".to_owned()) };
        // Generated files may have none (PyPA).
        if row.hash.is_empty() && row.size.is_empty() {
            return None;
        }
        let Some(stated) = row.hash.strip_prefix(SHA256) else {
            return Some(format!("its hash in RECORD is not a SHA-256: {:?}", String::from_utf8_lossy(&row.hash)));
        };
        Record::difference(stated, &row.size, file())
    }

    /// Returns how the record contradicts a member that is not the record itself or its signature.
    pub fn contradiction_of_member(&self, name: &[u8], file: RecordedFile) -> Option<String> {
        if is_record_or_signature(name) { None } else { self.contradiction(name, || file) }
    }

    /// Returns the paths of rows for files that are not among the members, sorted.
    pub fn without_member(&self, members: &HashSet<&[u8]>) -> Vec<String> {
        let rows = self.rows.keys().filter(|path| !members.contains(path.as_slice()));
        let mut paths: Vec<String> = rows.map(|path| String::from_utf8_lossy(path).into_owned()).collect();
        paths.sort();
        paths
    }

    /// Returns how the row of an unchanged file contradicts the file. Returns `None` if it has no row, or if the row's
    /// hash is not a SHA-256.
    pub fn contradiction_of_unchanged(&self, name: &[u8], file: impl FnOnce() -> RecordedFile) -> Option<String> {
        let row = self.rows.get(name)?;
        Record::difference(row.hash.strip_prefix(SHA256)?, &row.size, file())
    }

    fn difference(stated: &[u8], stated_size: &[u8], file: RecordedFile) -> Option<String> {
        let end = stated.iter().rposition(|&byte| byte != b'=');
        let stated = end.and_then(|last| stated.get(..=last)).unwrap_or_default();
        let hash = url_safe_base64(&file.sha256);
        if stated != hash.as_bytes() {
            let stated = String::from_utf8_lossy(stated);
            return Some(format!("differs from RECORD, which states sha256={stated}; the file has sha256={hash}"));
        }
        let size = file.size.to_string();
        (!stated_size.is_empty() && stated_size != size.as_bytes())
            .then(|| format!("has {size} bytes, and {} in RECORD", String::from_utf8_lossy(stated_size)))
    }
}

/// Prefix of the hashes that records of wheels have today. The encoded hash follows it.
const SHA256: &[u8] = b"sha256=";

/// Byte order mark in UTF-8. A record with one has no row for the file in its first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// Size of the first row, with its line break. A quoted field may contain line breaks.
fn row_size(text: &[u8]) -> usize {
    text.len().min(size_until(text, b'\n').saturating_add(1))
}

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
        // The digits of the bytes, and one for the bits that are left.
        for (digit, _) in [group >> 18, group >> 12, group >> 6, group].into_iter().zip(0..=chunk.len()) {
            text.push(DIGITS.get(digit & 63).copied().unwrap_or_default().into());
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
    fn a_file_without_its_hash_in_the_record_contradicts_it() {
        let hash = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
        let check =
            |record: &str| Record::read(record.as_bytes()).contradiction(b"p/a,b.so", || RecordedFile::of(b"abc"));
        for good in [
            format!("x,sha256=y,1\n\"p/a,b.so\",sha256={hash},3\r\n"),
            format!("\"p/a,b.so\",sha256={hash}=,"),
            "\"p/a,b.so\",,\n".to_owned(),
        ] {
            assert_eq!(check(&good), None, "{good}");
        }
        for (bad, why) in [
            (format!("\u{feff}\"p/a,b.so\",sha256={hash},3\n"), "begins with a byte order mark"),
            (format!("\"./p/a,b.so\",sha256={hash},3\n"), "has no row in RECORD"),
            (String::new(), "has no row in RECORD"),
            (format!("\"p/a,b.so\",sha256={hash},4\n"), "has 3 bytes, and 4 in RECORD"),
            ("\"p/a,b.so\",sha256=old,3\n".to_owned(), "differs from RECORD, which states sha256=old"),
            ("\"p/a,b.so\",md5=00,3\n".to_owned(), "is not a SHA-256"),
        ] {
            assert!(check(&bad).is_some_and(|found| found.contains(why)), "{bad} {:?}", check(&bad));
        }
    }

    #[test]
    fn a_row_of_an_unchanged_file_must_be_right() {
        let hash = "ungWv48Bz-pBQUDeXa4iI7ADYaOWF3qctBD_YfIAFa0";
        let check = |record: &str| {
            Record::read(record.as_bytes()).contradiction_of_unchanged(b"a.py", || RecordedFile::of(b"abc"))
        };
        for good in
            [format!("a.py,sha256={hash},3\n"), "b.py,sha256=x,1\n".into(), "a.py,,\n".into(), "a.py,md5=0,4".into()]
        {
            assert_eq!(check(&good), None, "{good}");
        }
        assert!(check("a.py,sha256=old,3\n").is_some_and(|why| why.starts_with("differs from RECORD")));
        assert!(check(&format!("a.py,sha256={hash},4\n")).is_some_and(|why| why == "has 3 bytes, and 4 in RECORD"));
    }

    #[test]
    fn only_the_record_at_the_top_is_that_of_the_wheel() {
        let names = ["p-1.dist-info/RECORD", "RECORD", "a/p-1.dist-info/RECORD", "p-1.dist-info/x/RECORD"];
        assert_eq!(names.map(|name| is_record(name.as_bytes())), [true, false, false, false]);
    }
}
