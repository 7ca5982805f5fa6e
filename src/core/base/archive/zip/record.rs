//! `RECORD` of wheels: the hash and the size of each file (PyPA, "Recording installed projects").

use std::borrow::Cow;
use std::hash::{BuildHasher, RandomState};

use super::comparison::{Algorithm, RowComparison};
use crate::base::bytes::total;

/// Suffix of the directory of a wheel that contains its metadata.
const DIRECTORY: &[u8] = b".dist-info";

/// Returns the metadata directory at the top of a wheel, and the name of the file in it.
pub fn metadata_file(name: &[u8]) -> Option<(&[u8], &[u8])> {
    let directory = metadata_directory(name)?;
    Some((directory, name.strip_prefix(directory)?.strip_prefix(b"/")?))
}

/// Returns the metadata directory at the top of a wheel, if a member is in it. Packages may contain copies of other
/// packages.
pub fn metadata_directory(name: &[u8]) -> Option<&[u8]> {
    let size = name.iter().position(|&byte| byte == b'/')?;
    name.get(..size).filter(|directory| directory.ends_with(DIRECTORY))
}

/// Returns whether a member with this name is the record of a wheel.
pub fn is_record(name: &[u8]) -> bool {
    metadata_file(name).is_some_and(|(_, file)| file == b"RECORD")
}

/// Returns whether a member needs no row: the record cannot have its own hash, and its signatures are newer than it.
fn needs_no_row(name: &[u8]) -> bool {
    metadata_file(name).is_some_and(|(_, file)| [&b"RECORD"[..], b"RECORD.jws", b"RECORD.p7s"].contains(&file))
}

/// Byte order mark in UTF-8. A record with one has no row for the file in its first.
const BYTE_ORDER_MARK: &[u8] = b"\xef\xbb\xbf";

/// A record, with an index of its rows.
pub struct Record {
    text: Vec<u8>,
    /// Hashes of the paths, with the offsets of the rows, sorted.
    rows: Vec<(u64, usize)>,
    state: RandomState,
}

/// A row of a record as it is written, with its line break.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row<'a> {
    /// The first field, with quotes.
    pub path: &'a [u8],
    /// Everything after it.
    pub columns: &'a [u8],
}

/// Returns the rows of a record.
pub fn rows(record: &[u8]) -> impl Iterator<Item = Row<'_>> {
    let mut rest = record;
    std::iter::from_fn(move || {
        let size = rest.len().min(size_until(rest, b'\n').saturating_add(1));
        let (row, next) = rest.split_at_checked(size).filter(|(row, _)| !row.is_empty())?;
        rest = next;
        Some(Row::of(row))
    })
}

impl<'a> Row<'a> {
    fn of(row: &'a [u8]) -> Self {
        // A row without columns ends with its line break.
        let size = size_until(row, b',').min(row.trim_ascii_end().len());
        let (path, columns) = row.split_at_checked(size).unwrap_or((row, &[]));
        Row { path, columns }
    }

    /// Returns the path without quotes; two quotes in quotes are one (RFC 4180).
    pub fn file(&self) -> Cow<'a, [u8]> {
        let Some(inner) = self.path.strip_prefix(b"\"").and_then(|field| field.strip_suffix(b"\"")) else {
            return Cow::Borrowed(self.path);
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

    /// Returns the algorithm with the hash, and the size.
    fn hash_and_size(&self) -> (&'a [u8], &'a [u8]) {
        let mut columns = self.columns.trim_ascii_end().split(|&byte| byte == b',').skip(1);
        (columns.next().unwrap_or_default(), columns.next().unwrap_or_default())
    }

    /// Returns the reason why a file cannot be compared with this row. Rows of generated files may have no hash (PyPA).
    fn problem(&self) -> Option<String> {
        let (hash, _) = self.hash_and_size();
        let unknown = || format!("has a hash of an unknown algorithm in RECORD: {:?}", String::from_utf8_lossy(hash));
        if hash.is_empty() || Algorithm::of(hash).is_some() { None } else { Some(unknown()) }
    }
}

impl std::fmt::Debug for Record {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Record").field("rows", &self.rows.len()).finish_non_exhaustive()
    }
}

impl Record {
    /// Indexes the rows.
    pub fn new(text: Vec<u8>) -> Self {
        let state = RandomState::new();
        let mut at = 0_usize;
        let mut index = Vec::new();
        for row in rows(&text) {
            index.push((state.hash_one(&*row.file()), at));
            at = at.saturating_add(row.path.len()).saturating_add(row.columns.len());
        }
        index.sort_unstable();
        Record { text, rows: index, state }
    }

    /// Number of bytes that the record and its index take.
    pub fn memory(&self) -> u64 {
        total([self.text.len() as u64, size_of_val(self.rows.as_slice()) as u64])
    }

    /// The bytes of the record.
    pub fn text(&self) -> &[u8] {
        &self.text
    }

    /// Returns the problem of the record as a whole.
    pub fn problem(&self) -> Option<&'static str> {
        self.text.starts_with(BYTE_ORDER_MARK).then_some("RECORD begins with a byte order mark")
    }

    /// Returns the reason why the bytes of a member cannot be compared with a row. Installers would refuse such a
    /// member, and an edit would give it a hash that looks right.
    pub fn problem_of_member(&self, name: &[u8]) -> Option<String> {
        if let Some(problem) = self.problem() {
            return Some(problem.to_owned());
        }
        match self.row(name) {
            _ if needs_no_row(name) => None,
            Some(row) => row.problem(),
            None => Some("has no row in RECORD".to_owned()),
        }
    }

    /// Starts the comparison of a member with its row, of its size or also of its bytes; `None` for a member without one.
    /// `at` is the offset of its directory entry from the start of the file.
    pub fn comparison<'a>(&'a self, name: Cow<'a, str>, at: u64, hashes: bool) -> Option<RowComparison<'a>> {
        if needs_no_row(name.as_bytes()) {
            return None;
        }
        let (hash, size) = self.row(name.as_bytes())?.hash_and_size();
        Some(RowComparison::new(name, at, if hashes { hash } else { &[] }, size))
    }

    /// Returns the paths with several rows, sorted.
    pub fn repeated(&self) -> Vec<Cow<'_, [u8]>> {
        let neighbors = self.rows.iter().zip(self.rows.iter().skip(1));
        let equal = neighbors.filter(|((first, _), (second, _))| first == second);
        let mut files: Vec<Cow<'_, [u8]>> = Vec::new();
        for ((_, first), (_, second)) in equal {
            let file = self.at(*first).file();
            if file == self.at(*second).file() {
                files.push(file);
            }
        }
        files.sort_unstable();
        files.dedup();
        files
    }

    /// Returns the paths of files that are not among the members, sorted. A row may name a directory.
    pub fn without_member<'n>(&self, members: impl Iterator<Item = Cow<'n, str>>) -> Vec<Cow<'_, [u8]>> {
        let mut has_member = vec![false; self.rows.len()];
        for name in members {
            for (index, _) in self.rows_of(name.as_bytes()) {
                match has_member.get_mut(index) {
                    Some(has_member) if !*has_member => *has_member = true,
                    _ => break,
                }
            }
        }
        let missing = self.rows.iter().zip(has_member).filter(|(_, has_member)| !has_member);
        let files = missing.map(|((_, at), _)| self.at(*at).file());
        let mut files: Vec<Cow<'_, [u8]>> = files.filter(|file| !file.is_empty() && !file.ends_with(b"/")).collect();
        files.sort_unstable();
        files
    }

    /// Returns the rows of a file with their indexes.
    fn rows_of(&self, file: &[u8]) -> impl Iterator<Item = (usize, Row<'_>)> {
        let hash = self.state.hash_one(file);
        let first = self.rows.partition_point(|(other, _)| *other < hash);
        let candidates = self.rows.iter().enumerate().skip(first).take_while(move |(_, (other, _))| *other == hash);
        candidates.map(|(index, (_, at))| (index, self.at(*at))).filter(move |(_, row)| row.file() == file)
    }

    fn row(&self, file: &[u8]) -> Option<Row<'_>> {
        self.rows_of(file).next().map(|(_, row)| row)
    }

    fn at(&self, offset: usize) -> Row<'_> {
        rows(self.text.get(offset..).unwrap_or_default()).next().unwrap_or(Row { path: &[], columns: &[] })
    }
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

#[cfg(test)]
mod tests {
    use super::*;

    fn record(text: &str) -> Record {
        Record::new(text.as_bytes().to_vec())
    }

    #[test]
    fn rows_have_their_bytes() {
        let text = "a,sha256=x,1\r\n\"a,\"\"b\"\"\n\",,\nc";
        let found: Vec<Row<'_>> = rows(text.as_bytes()).collect();
        assert_eq!(
            found.iter().map(|row| [row.path, row.columns].concat()).collect::<Vec<_>>().concat(),
            text.as_bytes()
        );
        assert_eq!(found.iter().map(Row::file).collect::<Vec<_>>(), [&b"a"[..], b"a,\"b\"\n", b"c"]);
        assert_eq!(found.first().unwrap().hash_and_size(), (&b"sha256=x"[..], &b"1"[..]));
        // An open quote.
        assert_eq!(rows(b"\"a,b\nc").count(), 1);
    }

    #[test]
    fn members_without_a_row_that_can_be_compared_have_a_problem() {
        let rows = record("a,sha256=x,1\n\"p/a,b\",,\nc,md5=0,\n");
        let problem = |name: &str| rows.problem_of_member(name.as_bytes()).unwrap_or_default();
        let good = ["a", "p/a,b", "p-1.dist-info/RECORD", "p-1.dist-info/RECORD.jws", "p-1.dist-info/RECORD.p7s"];
        assert_eq!(good.map(problem), [""; 5]);
        for missing in ["b", "./a", "p-1.dist-info/METADATA", "p/p-1.dist-info/RECORD", "RECORD"] {
            assert_eq!(problem(missing), "has no row in RECORD", "{missing}");
        }
        assert_eq!(problem("c"), "has a hash of an unknown algorithm in RECORD: \"md5=0\"");
        let marked = record("\u{feff}a,,\n");
        assert_eq!(marked.problem_of_member(b"a").as_deref(), Some("RECORD begins with a byte order mark"));
    }

    #[test]
    fn several_rows_and_rows_without_a_member_are_found() {
        let rows = record("b,,\na,,\nd/,,\n\"a\",sha256=x,1\nc,,\na,,\n\n");
        assert_eq!(rows.repeated(), [&b"a"[..]]);
        let missing = |names: &[&'static str]| {
            let missing = rows.without_member(names.iter().map(|name| Cow::Borrowed(*name)));
            missing.iter().map(|file| String::from_utf8_lossy(file).into_owned()).collect::<Vec<String>>()
        };
        assert_eq!(missing(&["c", "a", "x"]), ["b"]);
        assert_eq!(missing(&["c", "b", "b"]), ["a", "a", "a"]);
    }

    #[test]
    fn only_the_record_at_the_top_is_the_record_of_a_wheel() {
        let names = ["p-1.dist-info/RECORD", "RECORD", "a/p-1.dist-info/RECORD", "p-1.dist-info/x/RECORD"];
        assert_eq!(names.map(|name| is_record(name.as_bytes())), [true, false, false, false]);
    }
}
