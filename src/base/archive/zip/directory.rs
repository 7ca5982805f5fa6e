//! Headers of a zip file, with the places of the numbers that an edit changes.
//!
//! Source: APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.9 (data descriptor), 4.3.12 (central directory),
//! 4.3.14 to 4.3.16 (ends), 4.5.3 (zip64).

use std::collections::HashMap;
use std::ops::Range;
use std::sync::LazyLock;

use aho_corasick::packed::Searcher;

use crate::base::bytes::{Extent, Resource, View};
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

/// Number of the extra field with 64-bit numbers, and the value of a 32-bit number that the field replaces.
const ZIP64: u16 = 1;
const ZIP64_MARK: u64 = u32::MAX as u64;

/// Number of bytes searched in one step of work.
const BYTES_PER_STEP: u64 = 64;

/// A number and its offset.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Number {
    pub at: u64,
    pub width: u64,
    pub value: u64,
}

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
    /// Offset of the local header in the file.
    pub local_at: u64,
}

/// The central directory.
#[derive(Debug)]
pub struct Directory<'data> {
    /// Offset of its first entry.
    pub start: u64,
    /// Number of bytes in front of the archive, which its offsets do not count.
    pub base: u64,
    pub entries: Vec<Entry<'data>>,
    /// Numbers in the end records: offsets of the directory and of the records after it.
    pub offsets: Vec<Number>,
    /// Offset of the first byte after the entries.
    entries_end: u64,
    /// Offset of the end record.
    end: u64,
    /// Nothing is between the directory and its end records.
    is_adjacent: bool,
}

/// The local header of a member and its data.
#[derive(Debug)]
pub struct LocalMember {
    /// Range of the header, with name and extra fields.
    pub header: Range<u64>,
    pub fields: Fields,
    pub data: Range<u64>,
    /// End of the data descriptor, or of the data.
    pub end: u64,
}

impl<'data> Directory<'data> {
    /// Reads the central directory. The bytes of an end record may occur in a comment and behind the archive too: the
    /// last one with a readable directory counts. A directory that ends at its record is the one that other readers
    /// take.
    pub fn read(archive: View<'data>) -> Result<Self, Malformed> {
        let field = "zip end of central directory";
        let last = archive.size().saturating_sub(END_SIZE);
        let first = last.saturating_sub(u16::MAX.into());
        let mut failure = None;
        for at in end_magics(archive, first)?.into_iter().rev() {
            let read = End::read(archive, at).map_err(|error| (error, false)).and_then(|end| {
                let is_adjacent = end.is_adjacent;
                Directory::of_end(archive, end).map_err(|error| (error, is_adjacent))
            });
            match read {
                Ok(directory) => return Ok(directory),
                Err((error, true)) => return Err(failure.unwrap_or(error)),
                Err((error, false)) => failure = failure.or(Some(error)),
            }
        }
        Err(failure.unwrap_or_else(|| archive.malformed(field, last, Cause::Described("missing".into()))))
    }

    fn of_end(archive: View<'data>, end: End) -> Result<Self, Malformed> {
        let mut entries = Vec::new();
        let mut at = end.directory;
        for _ in 0..end.count {
            archive.charge("zip directory entry", Resource::Memory, size_of::<Entry<'_>>() as u64)?;
            let (entry, next) = entry(archive, at, end.base)?;
            entries.push(entry);
            at = next;
        }
        let End { at: end, directory: start, base, offsets, is_adjacent, .. } = end;
        Ok(Directory { start, base, entries, offsets, entries_end: at, end, is_adjacent })
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
    pub fn ends(&self, view: View<'_>) -> bool {
        let comment = view.u16("zip comment", self.end.saturating_add(20));
        let rest = view.from(self.end.saturating_add(END_SIZE)).size();
        self.is_adjacent && comment.is_ok_and(|size| u64::from(size) == rest)
    }

    /// Returns an error unless all readers agree about the directory, so that an edit changes what they read.
    pub fn check_editable(&self, archive: View<'_>) -> Result<(), Malformed> {
        let field = "zip end of central directory";
        let defect = |at: u64, cause: String| Err(archive.malformed(field, at, Cause::Described(cause)));
        if self.base > 0 {
            return defect(self.end, format!("{} bytes precede the archive", self.base));
        }
        if let Some(number) = self.offsets.iter().find(|number| number.at < self.entries_end) {
            return defect(number.at, "precedes the central directory".to_owned());
        }
        // If there are several end records, readers disagree about which counts, and only one is rewritten.
        let ends = end_magics(archive, self.entries_end)?;
        match ends.into_iter().find(|at| *at != self.end) {
            Some(other) => defect(other, format!("the file has another one at {:#x}", self.end)),
            None => Ok(()),
        }
    }
}

impl Entry<'_> {
    /// Returns the range of the extra fields in the local header. The data follows them.
    pub fn local_extra(&self, archive: View<'_>) -> Result<Range<u64>, Malformed> {
        let at = self.local_at;
        expect(archive, "zip local header", at, LOCAL)?;
        let (names, extra) = (at.saturating_add(26), at.saturating_add(28));
        let name_size = archive.u16("zip name size", names)?;
        let extra_size = archive.u16("zip extra field size", extra)?;
        let extra_at = at.saturating_add(LOCAL_SIZE).saturating_add(name_size.into());
        Ok(extra_at..extra_at.saturating_add(extra_size.into()))
    }

    /// Reads the local header.
    pub fn local_member(&self, archive: View<'_>) -> Result<LocalMember, Malformed> {
        let at = self.local_at;
        let Range { start: extra_at, end: data } = self.local_extra(archive)?;
        archive.record("zip local header", Extent { offset: at, size: data.saturating_sub(at) })?;
        let size = self.fields.compressed.value;
        archive.part(archive.field("zip member size", self.fields.compressed.at), Extent { offset: data, size })?;
        let (fields, _) = fields(archive, at.saturating_add(6), extra_at..data, None)?;
        let data_end = data.saturating_add(size);
        let end = if fields.flags & HAS_DESCRIPTOR != 0 { self.descriptor_end(archive, data_end)? } else { data_end };
        Ok(LocalMember { header: at..data, fields, data: data..data_end, end })
    }

    /// Returns the end of the data descriptor at an offset: with or without a signature, with sizes of 4 or 8 bytes.
    fn descriptor_end(&self, archive: View<'_>, at: u64) -> Result<u64, Malformed> {
        let Fields { crc32, compressed, size, .. } = self.fields;
        let crc32 = (crc32.value as u32).to_le_bytes();
        let sizes = [compressed.value, size.value];
        for signature in [&DESCRIPTOR.to_le_bytes()[..], &[]] {
            let short = sizes.map(|size| (size as u32).to_le_bytes()).concat();
            let long = sizes.map(u64::to_le_bytes).concat();
            for sizes in [long, short] {
                let descriptor = [signature, &crc32, &sizes].concat();
                if archive.from(at).starts_with(&descriptor) {
                    return Ok(at.saturating_add(descriptor.len() as u64));
                }
            }
        }
        let cause = "contradicts the central directory".to_owned();
        Err(archive.malformed("zip data descriptor", at, Cause::Described(cause)))
    }
}

impl Number {
    fn read(archive: View<'_>, field: &'static str, at: u64, width: u64) -> Result<Self, Malformed> {
        let value = if width == 8 { archive.u64(field, at)? } else { archive.u32(field, at)?.into() };
        Ok(Number { at, width, value })
    }

    /// Writes another value to bytes that begin at `start` in the file.
    pub fn set(&self, archive: View<'_>, bytes: &mut [u8], start: u64, value: u64) -> Result<(), Malformed> {
        if self.width == 4 && value >= ZIP64_MARK {
            let cause = format!("{value} bytes exceed 32 bits; create the zip file with zip64 headers");
            return Err(archive.malformed("zip member", self.at, Cause::Described(cause)));
        }
        set(bytes, start, self.at, value.to_le_bytes().get(..self.width as usize).unwrap_or_default());
        Ok(())
    }
}

/// Sets the field at an offset of the file, in bytes that begin at `start` in the file.
pub fn set(bytes: &mut [u8], start: u64, at: u64, value: &[u8]) {
    let rest = at.checked_sub(start).and_then(|place| bytes.get_mut(place as usize..));
    let field = rest.and_then(|rest| rest.get_mut(..value.len()));
    field.expect("a field that was read").copy_from_slice(value);
}

/// The record at the end, and the zip64 record that overrides it.
struct End {
    at: u64,
    count: u64,
    /// Start of the directory.
    directory: u64,
    /// Its size reaches to its end records.
    is_adjacent: bool,
    /// Number of bytes in front of the archive.
    base: u64,
    /// Offsets in the records.
    offsets: Vec<Number>,
}

impl End {
    fn read(archive: View<'_>, at: u64) -> Result<End, Malformed> {
        let field = "zip end of central directory";
        let number = |place: u64| archive.u16(field, at.saturating_add(place)).map(u64::from);
        let comment_end = at.saturating_add(END_SIZE).saturating_add(number(20)?);
        if comment_end > archive.size() {
            return Err(archive.malformed(field, at, Cause::EndsInside));
        }
        let size = u64::from(archive.u32(field, at.saturating_add(12))?);
        let directory = Number::read(archive, field, at.saturating_add(16), 4)?;
        let locator = at.checked_sub(LOCATOR_SIZE);
        let locator = locator.filter(|locator| archive.from(*locator).starts_with(&LOCATOR_64.to_le_bytes()));
        if let Some(locator) = locator {
            let end = End::read_64(archive, at, locator)?;
            let is_marked = directory.value == ZIP64_MARK;
            return Ok(if is_marked { end } else { End { offsets: [end.offsets, vec![directory]].concat(), ..end } });
        }
        let count = number(10)?;
        // The disks of the file, and the members on this one.
        check_disks(archive, at, [number(4)?, number(6)?, number(8)?], count)?;
        let adjacent = at.checked_sub(size).filter(|start| *start >= directory.value);
        let is_directory = |start: &u64| count == 0 || archive.from(*start).starts_with(&CENTRAL.to_le_bytes());
        let start = adjacent.filter(is_directory).unwrap_or(directory.value);
        let base = start.saturating_sub(directory.value);
        let is_adjacent = start.saturating_add(size) == at;
        Ok(End { at, count, directory: start, is_adjacent, base, offsets: vec![directory] })
    }

    /// Reads the zip64 record to which a locator in front of the end record points.
    fn read_64(archive: View<'_>, at: u64, locator: u64) -> Result<End, Malformed> {
        let field = "zip64 end of central directory";
        let record = Number::read(archive, "zip end of central directory", locator.saturating_add(8), 8)?;
        let is_record = |at: &u64| archive.from(*at).starts_with(&END_64.to_le_bytes());
        let adjacent = locator.checked_sub(END_64_SIZE).filter(|at| *at >= record.value && is_record(at));
        let record_at = if is_record(&record.value) { record.value } else { adjacent.unwrap_or(record.value) };
        expect(archive, field, record_at, END_64)?;
        let base = record_at.saturating_sub(record.value);
        let number = |place: u64| archive.u64(field, record_at.saturating_add(place));
        let disk = |place: u64| archive.u32(field, record_at.saturating_add(place)).map(u64::from);
        let count = number(32)?;
        check_disks(archive, record_at, [disk(16)?, disk(20)?, number(24)?], count)?;
        let start = Number::read(archive, field, record_at.saturating_add(48), 8)?;
        let directory = start.value.saturating_add(base);
        let is_adjacent = directory.saturating_add(number(40)?) == record_at;
        Ok(End { at, count, directory, is_adjacent, base, offsets: vec![record, start] })
    }
}

fn check_disks(archive: View<'_>, at: u64, numbers: [u64; 3], count: u64) -> Result<(), Malformed> {
    let cause = || Cause::Described("is of a file in several parts, which is not supported".to_owned());
    let is_whole = numbers == [0, 0, count];
    if is_whole { Ok(()) } else { Err(archive.malformed("zip end of central directory", at, cause())) }
}

/// Returns the offsets from `start` on with the magic of an end record.
fn end_magics(archive: View<'_>, start: u64) -> Result<Vec<u64>, Malformed> {
    static SEARCHER: LazyLock<Option<Searcher>> = LazyLock::new(|| Searcher::new([END.to_le_bytes()]));
    let searched = archive.from(start).data();
    archive.charge("zip end of central directory", Resource::Work, searched.len() as u64 / BYTES_PER_STEP)?;
    let found: Vec<usize> = match &*SEARCHER {
        Some(searcher) => searcher.find_iter(searched).map(|found| found.start()).collect(),
        // Not every processor has the vector instructions.
        None => {
            let windows = searched.windows(4).enumerate();
            windows.filter(|(_, bytes)| *bytes == END.to_le_bytes()).map(|(at, _)| at).collect()
        }
    };
    Ok(found.into_iter().map(|at| start.saturating_add(at as u64)).collect())
}

/// Reads an entry of the directory, of an archive after `base` other bytes. Also returns the offset of the next entry.
fn entry(archive: View<'_>, at: u64, base: u64) -> Result<(Entry<'_>, u64), Malformed> {
    expect(archive, "zip directory entry", at, CENTRAL)?;
    let size = |place: u64| archive.u16("zip directory entry", at.saturating_add(place)).map(u64::from);
    let (name_size, extra_size, comment_size) = (size(28)?, size(30)?, size(32)?);
    let name_at = at.saturating_add(CENTRAL_SIZE);
    let name = archive.part(archive.field("zip name", at), Extent { offset: name_at, size: name_size })?.data();
    let extra = name_at.saturating_add(name_size);
    let comment = extra.saturating_add(extra_size);
    archive.part(archive.field("zip directory entry", at), Extent { offset: comment, size: comment_size })?;
    let local_at = Some(at.saturating_add(42));
    let (fields, local) = fields(archive, at.saturating_add(8), extra..comment, local_at)?;
    let local = local.ok_or_else(|| archive.malformed("zip directory entry", at, Cause::EndsInside))?;
    let local_at = local.value.saturating_add(base);
    Ok((Entry { header: at, name, fields, local, local_at }, comment.saturating_add(comment_size)))
}

/// Reads the common fields, and the offset of the local header in a directory entry. Numbers that do not fit are in an
/// extra field.
fn fields(
    archive: View<'_>,
    flags_at: u64,
    extra: Range<u64>,
    local_at: Option<u64>,
) -> Result<(Fields, Option<Number>), Malformed> {
    let mut long = zip64(archive, extra)?;
    let mut number = |field: &'static str, at: u64| {
        let short = Number::read(archive, field, at, 4)?;
        let end = long.start.saturating_add(8);
        if short.value != ZIP64_MARK || end > long.end {
            return Ok(short);
        }
        let number = Number::read(archive, field, long.start, 8);
        long.start = end;
        number
    };
    let flags = archive.u16("zip flags", flags_at)?;
    let method = archive.u16("zip compression method", flags_at.saturating_add(2))?;
    let crc32 = Number::read(archive, "zip checksum", flags_at.saturating_add(8), 4)?;
    // In the extra field, the size precedes the compressed size.
    let size = number("zip size", flags_at.saturating_add(16))?;
    let compressed = number("zip compressed size", flags_at.saturating_add(12))?;
    let local = local_at.map(|at| number("zip local header offset", at)).transpose()?;
    Ok((Fields { flags_at, flags, method, crc32, compressed, size }, local))
}

/// Returns the range of the numbers in the zip64 field; empty without one.
fn zip64(archive: View<'_>, extra: Range<u64>) -> Result<Range<u64>, Malformed> {
    let mut at = extra.start;
    // Some writers pad the fields with fewer bytes than a header.
    while at.saturating_add(4) <= extra.end {
        let content = at.saturating_add(4);
        let end = content.saturating_add(archive.u16("zip extra field size", at.saturating_add(2))?.into());
        if archive.u16("zip extra field", at)? == ZIP64 {
            return Ok(content..end.min(extra.end));
        }
        at = end;
    }
    Ok(extra.end..extra.end)
}

fn expect(archive: View<'_>, field: &'static str, at: u64, signature: u32) -> Result<(), Malformed> {
    let found = archive.u32(field, at)?;
    let cause = || Cause::Described(format!("invalid signature {found:#x}, expected {signature:#x}"));
    if found == signature { Ok(()) } else { Err(archive.malformed(field, at, cause())) }
}
