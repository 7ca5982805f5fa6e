//! Contents of records: a magic, the state of the commit, and its outputs, with a NUL after each field.

use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{self, Read};
use std::ops::Range;
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use super::state::RecordedState;
use crate::base::io::files::temporary::PREFIX;

/// First bytes of a record.
pub const MAGIC: &[u8] = b"fatbin.undo/2\n";

/// State of a commit, after the magic.
const PENDING: u8 = b'p';
const COMPLETE: u8 = b'c';

/// Maximum size of a record, in bytes.
const MAX_SIZE: u64 = 64 << 20;

/// Number of fields of an output.
const FIELDS: usize = 8;

/// The outputs of a commit.
#[derive(Debug, PartialEq, Eq)]
pub struct Record {
    /// All outputs have their names.
    pub is_complete: bool,
    pub files: Vec<RecordedFile>,
}

/// An output.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RecordedFile {
    pub directory: RecordedDirectory,
    /// Name in the directory.
    pub name: OsString,
    /// Name of the file that was there before.
    pub backup: Option<OsString>,
    /// CRC-32 of that file if it is a copy, and not a link.
    pub copy: Option<u32>,
    /// The bytes are copied into the existing file.
    pub is_in_place: bool,
    pub old: Option<RecordedState>,
    pub new: RecordedState,
}

/// A directory with outputs.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct RecordedDirectory {
    /// Canonical path.
    pub path: PathBuf,
    /// Device and number.
    pub id: (u64, u64),
}

impl RecordedDirectory {
    fn id_text(&self) -> String {
        format!("{} {}", self.id.0, self.id.1)
    }
}

/// Returns the bytes of a record of a commit that has begun, and for each file the place of the sum of a copy.
pub fn to_bytes(files: &[RecordedFile]) -> (Vec<u8>, Vec<Range<u64>>) {
    let mut bytes = [MAGIC, &[PENDING]].concat();
    let mut sums = Vec::new();
    for file in files {
        let RecordedFile { directory, name, backup, copy, is_in_place, old, new } = file;
        push_field(&mut bytes, directory.path.as_os_str().as_bytes());
        push_field(&mut bytes, directory.id_text().as_bytes());
        push_field(&mut bytes, name.as_bytes());
        push_field(&mut bytes, backup.as_deref().unwrap_or_default().as_bytes());
        let start = bytes.len() as u64;
        push_field(&mut bytes, sum_text(*copy).as_bytes());
        sums.push(start..bytes.len() as u64);
        push_field(&mut bytes, if *is_in_place { b"in place" } else { b"renamed" });
        push_field(&mut bytes, old.as_ref().map(RecordedState::to_text).unwrap_or_default().as_bytes());
        push_field(&mut bytes, new.to_text().as_bytes());
    }
    (bytes, sums)
}

fn push_field(bytes: &mut Vec<u8>, field: &[u8]) {
    bytes.extend(field);
    bytes.push(0);
}

/// Returns a sum in a fixed number of characters, because it is written when the record is in its place.
fn sum_text(sum: Option<u32>) -> String {
    sum.map_or("--------".to_owned(), |sum| format!("{sum:08x}"))
}

/// Writes the sum of a copy to a record.
pub fn write_sum(record: &File, place: &Range<u64>, sum: u32) -> io::Result<()> {
    record.write_all_at(sum_text(Some(sum)).as_bytes(), place.start)
}

/// Marks a commit as complete.
pub fn write_complete(record: &File) -> io::Result<()> {
    record.write_all_at(&[COMPLETE], MAGIC.len() as u64)
}

impl Record {
    /// Reads a record. It names files of directories, and no paths.
    pub fn read(file: &File) -> io::Result<Self> {
        let mut bytes = Vec::new();
        file.take(MAX_SIZE).read_to_end(&mut bytes)?;
        Record::parse(&bytes).ok_or_else(|| io::Error::new(io::ErrorKind::InvalidData, "not a record of outputs"))
    }

    fn parse(bytes: &[u8]) -> Option<Self> {
        let (&state, rest) = bytes.strip_prefix(MAGIC)?.split_first()?;
        let is_complete = match state {
            PENDING => false,
            COMPLETE => true,
            _ => return None,
        };
        let fields: Vec<&[u8]> = rest.strip_suffix(b"\0")?.split(|&byte| byte == 0).collect();
        let files = fields.chunks(FIELDS).map(RecordedFile::parse).collect::<Option<_>>()?;
        Some(Record { is_complete, files })
    }

    /// The directories with outputs.
    pub fn directories(&self) -> Vec<&RecordedDirectory> {
        let mut directories: Vec<_> = self.files.iter().map(|file| &file.directory).collect();
        directories.sort();
        directories.dedup();
        directories
    }
}

impl RecordedFile {
    fn parse(fields: &[&[u8]]) -> Option<Self> {
        let [path, id, name, backup, copy, how, old, new] = fields else { return None };
        let (device, number) = text(id)?.split_once(' ')?;
        let directory = RecordedDirectory {
            path: PathBuf::from(OsString::from_vec(path.to_vec())),
            id: (device.parse().ok()?, number.parse().ok()?),
        };
        let copy = match text(copy)? {
            "--------" => None,
            digits => Some(u32::from_str_radix(digits, 16).ok()?),
        };
        let is_in_place = match *how {
            b"in place" => true,
            b"renamed" => false,
            _ => return None,
        };
        Some(RecordedFile {
            directory,
            name: bare_name(name)?,
            backup: if backup.is_empty() { None } else { Some(backup_name(backup)?) },
            copy,
            is_in_place,
            old: if old.is_empty() { None } else { Some(RecordedState::parse(text(old)?)?) },
            new: RecordedState::parse(text(new)?)?,
        })
    }
}

fn text(field: &[u8]) -> Option<&str> {
    std::str::from_utf8(field).ok()
}

fn bare_name(name: &[u8]) -> Option<OsString> {
    let name = OsStr::from_bytes(name);
    Path::new(name).file_name().is_some_and(|file| file == name).then(|| name.to_owned())
}

fn backup_name(name: &[u8]) -> Option<OsString> {
    bare_name(name).filter(|name| name.as_bytes().starts_with(PREFIX.as_bytes()))
}
