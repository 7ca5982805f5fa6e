//! Headers of a zip file, with the places of the numbers that an edit changes.
//!
//! Source: APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.9 (data descriptor), 4.3.12 (central directory),
//! 4.3.14 to 4.3.16 (ends), 4.5.3 (zip64).

use std::collections::HashMap;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

use super::number::{Number, ZIP64_MARK};
use crate::base::bytes::{Cursor, Resource, View};
use crate::base::error::{Cause, Malformed};

/// Compression methods.
pub const STORED: u16 = 0;
pub const DEFLATED: u16 = 8;

/// Bits of the flags: encrypted; deflated with an unusual level; sizes in a descriptor after the data.
pub const ENCRYPTED: u16 = 1;
pub const LEVELS: u16 = 0b110;
pub const HAS_DESCRIPTOR: u16 = 8;

const LOCAL: u32 = u32::from_le_bytes(*b"PK\x03\x04");
const CENTRAL: u32 = u32::from_le_bytes(*b"PK\x01\x02");
pub const END: u32 = u32::from_le_bytes(*b"PK\x05\x06");
const END_64: u32 = u32::from_le_bytes(*b"PK\x06\x06");
const LOCATOR_64: u32 = u32::from_le_bytes(*b"PK\x06\x07");
const DESCRIPTOR: u32 = u32::from_le_bytes(*b"PK\x07\x08");

const LOCAL_SIZE: u64 = 30;
const CENTRAL_SIZE: u64 = 46;
pub const END_SIZE: u64 = 22;
const LOCATOR_SIZE: u64 = 20;
/// Size of the zip64 record without extensible data.
const END_64_SIZE: u64 = 56;

/// Number of the extra field with 64-bit numbers.
const ZIP64: u16 = 1;

/// Names of records in errors.
const END_RECORD: &str = "zip end of central directory";
const END_64_RECORD: &str = "zip64 end of central directory";
const CENTRAL_RECORD: &str = "zip directory entry";
const LOCAL_RECORD: &str = "zip local header";

/// Number of bytes searched in one step of work.
const BYTES_PER_STEP: u64 = 64;

/// Fields that the local header and the central directory have in common.
#[derive(Debug, Clone, Copy)]
pub struct Fields {
    /// Offset of the flags; the method follows.
    pub flags_at: u64,
    pub flags: u16,
    pub method: u16,
    pub crc32: Number,
    pub compressed: Number,
    pub size: Number,
}

/// An entry of the central directory.
#[derive(Debug, Clone)]
pub struct Entry<'data> {
    /// Offset of the entry in the file.
    pub header: u64,
    pub name: &'data [u8],
    pub fields: Fields,
    /// Offset of the local header, from the start of the archive.
    pub local: Number,
    /// The file from the local header on.
    pub from_local: View<'data>,
}

/// Entries of the central directory that have been read, by their places: an entry in memory takes 200 bytes, and a
/// package may have a hundred thousand.
#[derive(Debug)]
pub struct Entries<'data> {
    file: View<'data>,
    archive: View<'data>,
    places: Vec<u64>,
}

impl<'data> Entries<'data> {
    /// Reads an entry again.
    pub fn get(&self, index: usize) -> Option<Entry<'data>> {
        let record = self.file.from(*self.places.get(index)?);
        entry(self.file, record, self.archive).ok().map(|(entry, _)| entry)
    }

    /// Reads all entries again.
    pub fn iter(&self) -> impl Iterator<Item = Entry<'data>> {
        (0..self.places.len()).filter_map(|index| self.get(index))
    }
}

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
    entries_end: u64,
    /// Offset of the end record.
    end: u64,
    /// Nothing is between the directory and its end records.
    is_adjacent: bool,
}

/// The local header of a member.
#[derive(Debug)]
pub struct LocalHeader<'data> {
    /// The header, with name and extra fields.
    pub whole: View<'data>,
    extra: View<'data>,
    /// Everything after it.
    pub rest: View<'data>,
}

/// The local header of a member and its data.
#[derive(Debug)]
pub struct LocalMember<'data> {
    /// The header, with name and extra fields.
    pub header: View<'data>,
    pub fields: Fields,
    pub data: View<'data>,
    /// End of the data descriptor, or of the data.
    pub end: u64,
}

impl<'data> Directory<'data> {
    /// Reads the central directory. The bytes of an end record may occur in a comment and behind the archive too: the
    /// last one with a readable directory counts. A directory that ends at its record is the one that other readers
    /// take.
    pub fn read(file: View<'data>) -> Result<Self, Malformed> {
        let missing = |at| file.malformed(END_RECORD, at, Cause::Described("missing".into()));
        let last = file.size().checked_sub(END_SIZE).ok_or_else(|| missing(0))?;
        // A comment has at most this size.
        let first = last.saturating_sub(u16::MAX.into());
        let mut failure = None;
        for at in end_magics(file, first)?.into_iter().rev() {
            let read = End::read(file, at).map_err(|error| (error, false)).and_then(|end| {
                let is_adjacent = end.is_adjacent;
                Directory::of_end(file, end).map_err(|error| (error, is_adjacent))
            });
            match read {
                Ok(directory) => return Ok(directory),
                Err((error, true)) => return Err(failure.unwrap_or(error)),
                Err((error, false)) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| missing(last)))
    }

    fn of_end(file: View<'data>, end: End<'data>) -> Result<Self, Malformed> {
        let mut entries = Entries { file, archive: end.archive, places: Vec::new() };
        let mut rest = end.directory;
        for _ in 0..end.count {
            file.charge(CENTRAL_RECORD, Resource::Memory, size_of::<u64>() as u64)?;
            let (entry, next) = entry(file, rest, end.archive)?;
            entries.places.push(entry.header);
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
        })
    }

    /// Returns the indexes of the entries that are files. Of entries with the same name, the last counts, in the place
    /// of the first.
    pub fn files(&self) -> Vec<usize> {
        let mut places = HashMap::new();
        let mut files = Vec::new();
        for (index, entry) in self.entries.iter().enumerate() {
            if entry.name.ends_with(b"/") || entry.name.ends_with(b"\\") {
                continue;
            }
            let place = *places.entry(entry.name).or_insert(files.len());
            match files.get_mut(place) {
                Some(file) => *file = index,
                None => files.push(index),
            }
        }
        files
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
        let ends = end_magics(file, self.entries_end)?;
        match ends.into_iter().find(|at| *at != self.end) {
            Some(other) => defect(other, format!("the file has another one at {:#x}", self.end)),
            None => Ok(()),
        }
    }
}

impl<'data> Entry<'data> {
    /// Reads the sizes of the local header.
    pub fn local_header(&self) -> Result<LocalHeader<'data>, Malformed> {
        let record = self.from_local;
        expect(record, LOCAL_RECORD, LOCAL)?;
        let name_size = record.u16("zip name size", 26)?;
        let extra_size = record.u16("zip extra field size", 28)?;
        let mut parts = Cursor::new(record);
        parts.take(LOCAL_RECORD, LOCAL_SIZE)?;
        parts.take_stated(LOCAL_RECORD, name_size.into())?;
        let extra = parts.take_stated(LOCAL_RECORD, extra_size.into())?;
        Ok(LocalHeader { whole: record.prefix(LOCAL_RECORD, parts.at())?, extra, rest: parts.rest() })
    }

    /// Reads the local header.
    pub fn local_member(&self, file: View<'data>) -> Result<LocalMember<'data>, Malformed> {
        let header = self.local_header()?;
        let compressed = self.fields.compressed;
        let mut parts = Cursor::new(header.rest);
        let data = parts.take_stated(file.field("zip member size", compressed.at), compressed.value)?;
        let (fields, _) = fields(file, header.whole.from(6), header.extra, Header::Local)?;
        if fields.flags & HAS_DESCRIPTOR != 0 {
            let size = self.descriptor_size(parts.rest())?;
            parts.take("zip data descriptor", size)?;
        }
        Ok(LocalMember { header: header.whole, fields, data, end: parts.rest().range_in(file).start })
    }

    /// Returns the size of the data descriptor: with or without a signature, with sizes of 4 or 8 bytes.
    fn descriptor_size(&self, after_data: View<'_>) -> Result<u64, Malformed> {
        let Fields { crc32, compressed, size, .. } = self.fields;
        let crc32 = (crc32.value as u32).to_le_bytes();
        let sizes = [compressed.value, size.value];
        for signature in [&DESCRIPTOR.to_le_bytes()[..], &[]] {
            let short = sizes.map(|size| (size as u32).to_le_bytes()).concat();
            let long = sizes.map(u64::to_le_bytes).concat();
            for sizes in [long, short] {
                let descriptor = [signature, &crc32, &sizes].concat();
                if after_data.starts_with(&descriptor) {
                    return Ok(descriptor.len() as u64);
                }
            }
        }
        let cause = "contradicts the central directory".to_owned();
        Err(after_data.malformed("zip data descriptor", 0, Cause::Described(cause)))
    }
}

/// The record at the end, and the zip64 record that overrides it.
struct End<'data> {
    at: u64,
    count: u64,
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
        let is_adjacent = record_at.checked_sub(number(40)?) == Some(directory.range_in(file).start);
        Ok(End { at, count, directory, is_adjacent, archive, offsets: vec![stated, start] })
    }
}

fn check_disks(record: View<'_>, numbers: [u64; 3], count: u64) -> Result<(), Malformed> {
    let cause = || Cause::Described("is of a file in several parts, which is not supported".to_owned());
    let is_whole = numbers == [0, 0, count];
    if is_whole { Ok(()) } else { Err(record.malformed(END_RECORD, 0, cause())) }
}

/// Returns the offsets from `start` on with the magic of an end record.
fn end_magics(file: View<'_>, start: u64) -> Result<Vec<u64>, Malformed> {
    static SEARCHER: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new([END.to_le_bytes()]));
    let searched = file.from(start);
    searched.charge(END_RECORD, Resource::Work, searched.size() / BYTES_PER_STEP)?;
    let found: Vec<usize> = match &*SEARCHER {
        Some(searcher) => searcher.find_iter(searched.data()).map(|found| found.start()).collect(),
        // Not every processor has the vector instructions.
        None => {
            let windows = searched.data().windows(4).enumerate();
            windows.filter(|(_, bytes)| *bytes == END.to_le_bytes()).map(|(at, _)| at).collect()
        }
    };
    Ok(found.into_iter().map(|at| searched.from(at as u64).range_in(file).start).collect())
}

/// Reads the entry at the start of a view, and returns the rest of the view too.
fn entry<'data>(
    file: View<'data>,
    record: View<'data>,
    archive: View<'data>,
) -> Result<(Entry<'data>, View<'data>), Malformed> {
    expect(record, CENTRAL_RECORD, CENTRAL)?;
    let size = |offset: u64| record.u16(CENTRAL_RECORD, offset).map(u64::from);
    let mut parts = Cursor::new(record);
    parts.take(CENTRAL_RECORD, CENTRAL_SIZE)?;
    let name = parts.take_stated(record.field("zip name", 0), size(28)?)?.data();
    let extra = parts.take_stated(record.field(CENTRAL_RECORD, 0), size(30)?)?;
    parts.take_stated(record.field(CENTRAL_RECORD, 0), size(32)?)?;
    let (fields, local) = fields(file, record.from(8), extra, Header::Central)?;
    let local = local.ok_or_else(|| record.malformed(CENTRAL_RECORD, 0, Cause::EndsInside))?;
    let header = record.range_in(file).start;
    Ok((Entry { header, name, fields, local, from_local: archive.from(local.value) }, parts.rest()))
}

/// A header with the common fields.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Header {
    Local,
    Central,
}

/// Reads the common fields, which begin with the flags, and the offset of the local header in a directory entry.
/// Numbers that do not fit are in an extra field.
fn fields(
    file: View<'_>,
    common: View<'_>,
    extra: View<'_>,
    header: Header,
) -> Result<(Fields, Option<Number>), Malformed> {
    let mut long = Cursor::new(zip64(extra)?);
    let mut number = |field: &'static str, offset: u64| {
        let short = Number::read(file, field, common.from(offset), 4)?;
        if short.value != ZIP64_MARK || long.rest().size() < 8 {
            return Ok(short);
        }
        Number::read(file, field, long.take(field, 8)?, 8)
    };
    // In the extra field, the size precedes the compressed size.
    let size = number("zip size", 16)?;
    let compressed = number("zip compressed size", 12)?;
    let local = if header == Header::Central { Some(number("zip local header offset", 34)?) } else { None };
    let fields = Fields {
        flags_at: common.range_in(file).start,
        flags: common.u16("zip flags", 0)?,
        method: common.u16("zip compression method", 2)?,
        crc32: Number::read(file, "zip checksum", common.from(8), 4)?,
        compressed,
        size,
    };
    Ok((fields, local))
}

/// Returns the numbers in the zip64 field; fewer bytes than a number without one.
fn zip64(extra: View<'_>) -> Result<View<'_>, Malformed> {
    let mut fields = Cursor::new(extra);
    // Some writers pad the fields with fewer bytes than a header.
    while fields.rest().size() >= 4 {
        let header = fields.take("zip extra field", 4)?;
        let size = header.u16("zip extra field size", 2)?;
        let content = fields.take("zip extra field", fields.rest().size().min(size.into()))?;
        if header.u16("zip extra field", 0)? == ZIP64 {
            return Ok(content);
        }
    }
    Ok(fields.rest())
}

fn expect(record: View<'_>, field: &'static str, signature: u32) -> Result<(), Malformed> {
    let found = record.u32(field, 0)?;
    let cause = || Cause::Described(format!("invalid signature {found:#x}, expected {signature:#x}"));
    if found == signature { Ok(()) } else { Err(record.malformed(field, 0, cause())) }
}
