//! The central directory of a zip file and the records at its end, with the places of the numbers that an edit changes.
//!
//! Source: APPNOTE.TXT 6.3.10, sections 4.3.14 to 4.3.16 (ends), 4.5.3 (zip64).

use std::sync::LazyLock;

use super::entry::{CENTRAL, Entries, expect};
use super::magic::Magic;
use super::number::{Number, ZIP64_MARK};
use crate::base::bytes::View;
use crate::base::error::{Cause, Malformed};

pub const END: u32 = u32::from_le_bytes(*b"PK\x05\x06");
const END_64: u32 = u32::from_le_bytes(*b"PK\x06\x06");
const LOCATOR_64: u32 = u32::from_le_bytes(*b"PK\x06\x07");
pub const END_SIZE: u64 = 22;
const LOCATOR_SIZE: u64 = 20;
/// Size of the zip64 record without extensible data.
const END_64_SIZE: u64 = 56;

/// Names of records in errors.
const END_RECORD: &str = "zip end of central directory";
const END_64_RECORD: &str = "zip64 end of central directory";

/// The central directory.
#[derive(Debug)]
pub struct Directory<'data> {
    /// Offset of its first entry.
    pub start: u64,
    /// Number of bytes in front of the archive, which its offsets do not count.
    pub base: u64,
    pub entries: Entries<'data>,
    /// Numbers in the end records: offsets of the directory and of the records after it.
    pub offsets: Vec<Number>,
    /// Offset of the first byte after the entries.
    pub entries_end: u64,
    /// Offset of the end record.
    pub end: u64,
    /// Nothing is between the directory and its end records.
    is_adjacent: bool,
    /// Number of bytes of the entries, as the end records state it.
    stated_size: u64,
}

impl<'data> Directory<'data> {
    /// Reads the central directory. The bytes of an end record may occur in a comment and behind the archive too: the
    /// last one with a readable directory counts. A directory that ends at its record is the one that other readers
    /// take. Calls `read` with the number of bytes of each entry that is read.
    pub fn read(file: View<'data>, read: &dyn Fn(u64)) -> Result<Self, Malformed> {
        let missing = |at| file.malformed(END_RECORD, at, Cause::Described("missing".into()));
        let last = file.size().checked_sub(END_SIZE).ok_or_else(|| missing(0))?;
        // A comment has at most this size.
        let first = last.saturating_sub(u16::MAX.into());
        let mut failure = None;
        for at in end_magics(file, file.from(first))?.collect::<Vec<u64>>().into_iter().rev() {
            let directory = End::read(file, at).map_err(|error| (error, false)).and_then(|end| {
                let is_adjacent = end.is_adjacent;
                Directory::of_end(file, end, read).map_err(|error| (error, is_adjacent))
            });
            match directory {
                Ok(directory) => return Ok(directory),
                Err((error, true)) => return Err(failure.unwrap_or(error)),
                Err((error, false)) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| missing(last)))
    }

    fn of_end(file: View<'data>, end: End<'data>, read: &dyn Fn(u64)) -> Result<Self, Malformed> {
        let mut entries = Entries::new(file, end.archive);
        let mut rest = end.directory;
        for _ in 0..end.count {
            let (next, size) = entries.add(rest)?;
            read(size);
            rest = next;
        }
        Ok(Directory {
            start: end.directory.range_in(file).start,
            base: end.archive.range_in(file).start,
            entries,
            offsets: end.offsets,
            entries_end: rest.range_in(file).start,
            end: end.at,
            is_adjacent: end.is_adjacent,
            stated_size: end.size,
        })
    }

    /// Returns how the end records contradict the file: readers that count entries, readers that count bytes, and
    /// readers that take another end record find different entries.
    pub fn contradictions(&self, file: View<'_>) -> Result<Vec<Malformed>, Malformed> {
        let contradiction = |at: u64, cause: String| file.malformed(END_RECORD, at, Cause::Described(cause));
        let mut found = Vec::new();
        let size = self.entries_end.checked_sub(self.start);
        if file.from(self.entries_end).starts_with(&CENTRAL.to_le_bytes()) {
            let count = self.entries.len();
            found.push(contradiction(self.end, format!("the number of entries is {count}, and another entry follows")));
        } else if size != Some(self.stated_size) {
            let size = size.unwrap_or_default();
            let stated = self.stated_size;
            found.push(contradiction(self.end, format!("states a directory of {stated} bytes, and it has {size}")));
        }
        found.extend(self.other_end(file, file.from(self.entries_end))?);
        Ok(found)
    }

    /// Returns the contradiction if a part of the file that no member has holds the end record of another directory.
    pub fn other_end(&self, file: View<'_>, part: View<'_>) -> Result<Option<Malformed>, Malformed> {
        let is_other = |at: &u64| {
            *at != self.end
                && End::read(file, *at).is_ok_and(|end| {
                    end.count != self.entries.len() as u64 || end.directory.range_in(file).start != self.start
                })
        };
        let other = end_magics(file, part)?.find(is_other);
        let cause = || Cause::Described(format!("lists other entries than the one at {:#x}", self.end));
        Ok(other.map(|at| file.malformed(END_RECORD, at, cause())))
    }

    /// Returns whether the archive ends a view: directory, end records and the comment to the end.
    pub fn ends(&self, file: View<'_>) -> bool {
        let record = file.from(self.end);
        let comment = record.u16("zip comment", 20);
        self.is_adjacent && comment.is_ok_and(|size| u64::from(size) == record.from(END_SIZE).size())
    }

    /// Returns an error unless all readers agree about the directory, so that an edit changes what they read.
    pub fn check_editable(&self, file: View<'_>) -> Result<(), Malformed> {
        let defect = |at: u64, cause: String| Err(file.malformed(END_RECORD, at, Cause::Described(cause)));
        if self.base > 0 {
            return defect(self.end, format!("{} bytes precede the archive", self.base));
        }
        if let Some(number) = self.offsets.iter().find(|number| number.at < self.entries_end) {
            return defect(number.at, "precedes the central directory".to_owned());
        }
        // If there are several end records, readers disagree about which counts, and only one is rewritten.
        let ends = end_magics(file, file.from(self.entries_end))?;
        match ends.into_iter().find(|at| *at != self.end) {
            Some(other) => defect(other, format!("the file has another one at {:#x}", self.end)),
            None => Ok(()),
        }
    }
}

/// The record at the end, and the zip64 record that overrides it.
struct End<'data> {
    at: u64,
    count: u64,
    /// Number of bytes of the entries.
    size: u64,
    /// The file from the directory on.
    directory: View<'data>,
    /// The size of the directory reaches to its end records.
    is_adjacent: bool,
    /// The file without the bytes in front of the archive, which offsets do not count.
    archive: View<'data>,
    /// Offsets in the records.
    offsets: Vec<Number>,
}

impl<'data> End<'data> {
    fn read(file: View<'data>, at: u64) -> Result<Self, Malformed> {
        let record = file.from(at);
        let number = |offset: u64| record.u16(END_RECORD, offset).map(u64::from);
        if record.from(END_SIZE).size() < number(20)? {
            return Err(record.malformed(END_RECORD, 0, Cause::EndsInside));
        }
        let size = u64::from(record.u32(END_RECORD, 12)?);
        let directory = Number::read(file, END_RECORD, record.from(16), 4)?;
        let locator_at = at.checked_sub(LOCATOR_SIZE);
        if let Some(locator_at) = locator_at.filter(|&at| file.from(at).starts_with(&LOCATOR_64.to_le_bytes())) {
            let mut end = End::read_64(file, at, locator_at)?;
            if directory.value != ZIP64_MARK {
                end.offsets.push(directory);
            }
            return Ok(end);
        }
        let count = number(10)?;
        // The disks of the file, and the members on this one.
        check_disks(record, [number(4)?, number(6)?, number(8)?], count)?;
        let is_directory = |start: u64| count == 0 || file.from(start).starts_with(&CENTRAL.to_le_bytes());
        let adjacent = at.checked_sub(size).filter(|&start| start >= directory.value && is_directory(start));
        let start = adjacent.unwrap_or(directory.value);
        Ok(End {
            at,
            count,
            size,
            directory: file.from(start),
            is_adjacent: at.checked_sub(size) == Some(start),
            archive: file.from(start.abs_diff(directory.value)),
            offsets: vec![directory],
        })
    }

    /// Reads the zip64 record that the locator in front of the end record points to.
    fn read_64(file: View<'data>, at: u64, locator_at: u64) -> Result<Self, Malformed> {
        let stated = Number::read(file, END_RECORD, file.from(locator_at).from(8), 8)?;
        let is_record = |at: u64| file.from(at).starts_with(&END_64.to_le_bytes());
        let adjacent = || locator_at.checked_sub(END_64_SIZE).filter(|&at| at >= stated.value && is_record(at));
        let found = if is_record(stated.value) { None } else { adjacent() };
        let record_at = found.unwrap_or(stated.value);
        let record = file.from(record_at);
        expect(record, END_64_RECORD, END_64)?;
        let number = |offset: u64| record.u64(END_64_RECORD, offset);
        let disk = |offset: u64| record.u32(END_64_RECORD, offset).map(u64::from);
        let count = number(32)?;
        check_disks(record, [disk(16)?, disk(20)?, number(24)?], count)?;
        let start = Number::read(file, END_64_RECORD, record.from(48), 8)?;
        let archive = file.from(record_at.abs_diff(stated.value));
        let directory = archive.from(start.value);
        let size = number(40)?;
        let is_adjacent = record_at.checked_sub(size) == Some(directory.range_in(file).start);
        Ok(End { at, count, size, directory, is_adjacent, archive, offsets: vec![stated, start] })
    }
}

fn check_disks(record: View<'_>, numbers: [u64; 3], count: u64) -> Result<(), Malformed> {
    let cause = || Cause::Described("is of a file in several parts, which is not supported".to_owned());
    let is_whole = numbers == [0, 0, count];
    if is_whole { Ok(()) } else { Err(record.malformed(END_RECORD, 0, cause())) }
}

/// Returns the offsets of the magic of an end record in a part of a file.
fn end_magics<'a>(file: View<'a>, part: View<'a>) -> Result<impl Iterator<Item = u64> + 'a, Malformed> {
    static MAGIC: LazyLock<Magic> = LazyLock::new(|| Magic::new(END));
    MAGIC.offsets(file, part)
}
