//! A zip file with its directory and, in a wheel, its record.

use std::io::{self, Write};

use super::contradiction::Contradictions;
use super::directory::Directory;
use super::entry::Entry;
use super::record::{Record, metadata_file};
use super::{decode_name, member};
use crate::base::archive::{Member, MemberContent};
use crate::base::bytes::{Resource, View, text_work};
use crate::base::error::{Cause, Malformed};

/// What is compared with the record of a wheel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum RecordUse {
    /// Nothing.
    Nothing,
    /// The names and sizes of its members.
    Sizes,
    /// Their bytes, too.
    #[default]
    Bytes,
}

/// A zip file.
#[derive(Debug)]
pub struct ZipReader<'data> {
    file: View<'data>,
    pub directory: Directory<'data>,
    record: Option<FileRecord>,
    record_use: RecordUse,
    /// The record must have a row for every file. Zip files with installed packages have records too.
    is_wheel: bool,
}

/// The record of a zip file.
#[derive(Debug)]
struct FileRecord {
    /// Indexes of the directory entries of all records.
    entries: Vec<usize>,
    /// The last one, which Python's reader takes.
    last: usize,
    /// Its rows, or the reason why they cannot be read.
    rows: Result<Record, String>,
}

impl<'data> ZipReader<'data> {
    /// Reads the directory, and the record of the file `name`. Calls `read` with the number of bytes of each entry that is
    /// read.
    pub fn read(file: View<'data>, name: &str, record_use: RecordUse, read: &dyn Fn(u64)) -> Result<Self, Malformed> {
        let directory = Directory::read(file, read)?;
        let mut reader = ZipReader { file, directory, record: None, record_use, is_wheel: false };
        if record_use != RecordUse::Nothing {
            reader.read_record(name, read)?;
        }
        Ok(reader)
    }

    fn read_record(&mut self, name: &str, read: &dyn Fn(u64)) -> Result<(), Malformed> {
        let mut entries = Vec::new();
        let (mut states_wheel, mut is_installed) = (false, false);
        for (index, name) in self.directory.entries.names(read).enumerate() {
            match metadata_file(name) {
                Some((_, b"RECORD")) => entries.push(index),
                Some((_, b"WHEEL")) => states_wheel = true,
                Some((_, b"INSTALLER")) => is_installed = true,
                _ => {}
            }
        }
        // A file that installers would not accept, such as a stream, is recognized by its contents.
        self.is_wheel = name.to_ascii_lowercase().ends_with(".whl") || states_wheel && !is_installed;
        let Some(&last) = entries.last() else { return Ok(()) };
        let rows = match self.text(last) {
            Ok(text) => {
                self.file.charge("wheel", Resource::Work, text_work(text.len()))?;
                let record = Record::new(text);
                self.file.charge("wheel", Resource::Memory, record.memory())?;
                Ok(record)
            }
            Err(why) => Err(why),
        };
        self.record = Some(FileRecord { entries, last, rows });
        Ok(())
    }

    /// Returns the bytes of a small member, or the reason why they cannot be read.
    fn text(&self, entry: usize) -> Result<Vec<u8>, String> {
        let entry = self.directory.entries.get(entry).map_err(|error| error.to_string())?;
        match member(self.file, &entry, &|_| {}).map_err(|error| error.to_string())?.content {
            MemberContent::Here(view) => Ok(view.data().to_vec()),
            MemberContent::Packed(unpack) => {
                let mut text = Text { file: self.file, bytes: Vec::new() };
                unpack(&mut text).map_err(|error| format!("cannot be unpacked: {error}"))?;
                Ok(text.bytes)
            }
            MemberContent::Unreadable(why) => Err(why),
            MemberContent::Elsewhere(_) => Err("is not in the archive".to_owned()),
        }
    }

    /// Index of the directory entry of the record, and its rows. A record that cannot be read is an error.
    pub fn record(&self) -> Result<Option<(usize, &Record)>, Malformed> {
        let Some(FileRecord { last, rows, .. }) = &self.record else { return Ok(None) };
        match rows {
            Ok(record) => Ok(Some((*last, record))),
            Err(why) => Err(self.file.malformed("wheel", self.place(*last), Cause::Described(format!("RECORD {why}")))),
        }
    }

    /// Offset of an entry of the directory.
    fn place(&self, entry: usize) -> u64 {
        self.directory.entries.get(entry).map_or(0, |entry| entry.header)
    }

    /// Returns the member of an entry. `view` is the file, with any budget.
    pub fn member<'a>(
        &'a self,
        view: View<'a>,
        entry: &Entry<'a>,
        read: &dyn Fn(u64),
    ) -> Result<Member<'a>, Malformed> {
        let at = self.file.start().saturating_add(entry.header);
        let hashes = self.record_use == RecordUse::Bytes;
        let record = self.record.as_ref().and_then(|record| record.rows.as_ref().ok());
        let comparison = record.and_then(|record| record.comparison(decode_name(entry.name), at, hashes));
        Ok(Member { comparison, ..member(view, entry, read)? })
    }

    /// Returns how the file contradicts itself, except for the bytes of its members, which are compared while they are
    /// read.
    pub fn contradictions(&self, read: &dyn Fn(u64)) -> Result<Vec<Malformed>, Malformed> {
        let mut contradictions = Contradictions::find(self.file, &self.directory, read)?;
        if self.is_wheel {
            if let Some(FileRecord { entries, last, .. }) =
                self.record.as_ref().filter(|record| record.entries.len() > 1)
            {
                let count = entries.len();
                contradictions.add("wheel", self.place(*last), format!("has {count} RECORD members"));
            }
            match self.record() {
                Ok(Some((entry, record))) => {
                    self.compare_with_record(self.place(entry), record, read, &mut contradictions)?;
                }
                Ok(None) => {}
                Err(unreadable) => contradictions.push(unreadable),
            }
        }
        Ok(contradictions.finish())
    }

    /// Compares the names of the members with the rows of the record, whose directory entry is at an offset.
    fn compare_with_record(
        &self,
        at: u64,
        record: &Record,
        read: &dyn Fn(u64),
        contradictions: &mut Contradictions<'_>,
    ) -> Result<(), Malformed> {
        if let Some(problem) = record.problem() {
            contradictions.add("wheel", at, problem.to_owned());
            return Ok(());
        }
        for file in record.repeated() {
            let cause = format!("{} has several rows in RECORD", String::from_utf8_lossy(&file));
            contradictions.add("wheel", at, cause);
        }
        for entry in self.directory.entries.iter() {
            let entry = entry?;
            read(entry.size);
            if entry.is_directory() {
                continue;
            }
            let name = decode_name(entry.name);
            if let Some(problem) = record.problem_of_member(name.as_bytes()) {
                contradictions.add("wheel", entry.header, format!("{name} {problem}"));
            }
        }
        for file in record.without_member(self.directory.entries.names(read).map(decode_name)) {
            let cause = format!("{} has a row in RECORD and is missing", String::from_utf8_lossy(&file));
            contradictions.add("wheel", at, cause);
        }
        Ok(())
    }
}

/// The text of a record, charged to the budget of the file.
struct Text<'data> {
    file: View<'data>,
    bytes: Vec<u8>,
}

impl Write for Text<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let charged = self.file.charge("wheel", Resource::Decompressed, bytes.len() as u64);
        charged.map_err(|error| io::Error::other(error.cause))?;
        self.bytes.extend_from_slice(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
