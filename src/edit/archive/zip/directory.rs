//! Headers of a zip file, with the places of the numbers that an edit changes.
//!
//! Source: APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.9 (data descriptor), 4.3.12 (central directory),
//! 4.3.14 to
//! 4.3.16 (ends), 4.5.3 (zip64).

use std::ops::Range;

use crate::base::bytes::{Extent, Resource, View, size_of_range};
use crate::base::error::{Cause, Malformed};
use crate::base::range::{Cursor, offset_from};

/// Compression methods.
pub const STORED: u16 = 0;
pub const DEFLATED: u16 = 8;

/// Bits of the flags: encrypted; deflated with an unusual level; sizes in a descriptor after the data.
pub const ENCRYPTED: u16 = 1;
pub const LEVELS: u16 = 0b110;
pub const HAS_DESCRIPTOR: u16 = 8;

const LOCAL: u32 = u32::from_le_bytes(*b"PK\x03\x04");
const CENTRAL: u32 = u32::from_le_bytes(*b"PK\x01\x02");
const END: u32 = u32::from_le_bytes(*b"PK\x05\x06");
const END_64: u32 = u32::from_le_bytes(*b"PK\x06\x06");
const LOCATOR_64: u32 = u32::from_le_bytes(*b"PK\x06\x07");
const DESCRIPTOR: u32 = u32::from_le_bytes(*b"PK\x07\x08");

const LOCAL_SIZE: u64 = 30;
const CENTRAL_SIZE: u64 = 46;
const END_SIZE: u64 = 22;
const LOCATOR_SIZE: u64 = 20;

/// Number of the extra field with 64-bit numbers, and the value of a 32-bit number that the field replaces.
const ZIP64: u16 = 1;
const ZIP64_MARK: u64 = u32::MAX as u64;

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
    /// Offset of the local header.
    pub local: Number,
}

/// The central directory.
#[derive(Debug)]
pub struct Directory<'data> {
    /// Offset of its first entry.
    pub start: u64,
    pub entries: Vec<Entry<'data>>,
    /// Numbers in the end records: offsets of the directory and of the records after it.
    pub offsets: Vec<Number>,
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
    /// Reads the central directory.
    pub fn read(archive: View<'data>) -> Result<Self, Malformed> {
        let (end, offsets) = ends(archive)?;
        let count = end.count;
        let start = end.directory;
        let mut entries = Vec::new();
        let mut at = start;
        for _ in 0..count {
            archive.charge("zip directory entry", Resource::Memory, size_of::<Entry<'_>>() as u64)?;
            let (entry, next) = entry(archive, at)?;
            entries.push(entry);
            at = next;
        }
        if let Some(number) = offsets.iter().find(|number| number.at < at) {
            let cause = Cause::Described("precedes the central directory".to_owned());
            return Err(archive.malformed("zip end of central directory", number.at, cause));
        }
        // If there are several end records, readers disagree about which counts, and only one is rewritten.
        if let Some(other) = other_end(archive, at, end.at)? {
            let cause = Cause::Described(format!("the file has another one at {:#x}", end.at));
            return Err(archive.malformed("zip end of central directory", other, cause));
        }
        Ok(Directory { start, entries, offsets })
    }
}

impl Entry<'_> {
    /// Reads the local header.
    pub fn local_member(&self, archive: View<'_>) -> Result<LocalMember, Malformed> {
        let at = self.local.value;
        let record = record(archive, "zip local header", at, LOCAL)?;
        let name_size = record.u16("zip name size", 26)?;
        let extra_size = u64::from(record.u16("zip extra field size", 28)?);
        let mut parts = Cursor::at(at);
        parts.take(LOCAL_SIZE);
        parts.take(name_size.into());
        let extra = parts.take(extra_size);
        let header = at..extra.end;
        archive.record("zip local header", Extent { offset: at, size: size_of_range(&header) })?;
        let extra =
            archive.part(archive.field("zip local header", at), Extent { offset: extra.start, size: extra_size })?;
        let size = self.fields.compressed.value;
        archive.part(
            archive.field("zip member size", self.fields.compressed.at),
            Extent { offset: header.end, size: size },
        )?;
        let data = parts.take(size);
        let (fields, _) = fields(archive, record.from(6), extra, Header::Local)?;
        let end = if fields.flags & HAS_DESCRIPTOR != 0 { self.descriptor_end(archive, data.end)? } else { data.end };
        Ok(LocalMember { header, fields, data, end })
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
                    return Ok(offset_from(at, descriptor.len() as u64));
                }
            }
        }
        let cause = "contradicts the central directory".to_owned();
        Err(archive.malformed("zip data descriptor", at, Cause::Described(cause)))
    }
}

impl Number {
    /// Reads a number at an offset of a record.
    fn read(
        archive: View<'_>,
        record: View<'_>,
        field: &'static str,
        offset: u64,
        width: u64,
    ) -> Result<Self, Malformed> {
        let value = if width == 8 { record.u64(field, offset)? } else { record.u32(field, offset)?.into() };
        Ok(Number { at: record.from(offset).range_in(archive).start, width, value })
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

/// Numbers of the record at the end, and its offset.
struct End {
    at: u64,
    count: u64,
    directory: u64,
}

/// Finds the record at the end, and the zip64 record that overrides it.
fn ends(archive: View<'_>) -> Result<(End, Vec<Number>), Malformed> {
    let at = end_record(archive)?;
    let field = "zip end of central directory";
    let end = archive.from(at);
    let directory = Number::read(archive, end, field, 16, 4)?;
    let number = |offset: u64| end.u16(field, offset);
    let numbers = End { at, count: number(10)?.into(), directory: directory.value };
    let locator = at.checked_sub(LOCATOR_SIZE).map(|locator| archive.from(locator));
    let locator = locator.filter(|locator| locator.starts_with(&LOCATOR_64.to_le_bytes()));
    let Some(locator) = locator else {
        // The disks of the file, and the members on this one.
        if [number(4)?, number(6)?, number(8)?] != [0, 0, number(10)?] {
            let cause = Cause::Described("is of a file in several parts, which is not supported".to_owned());
            return Err(archive.malformed(field, at, cause));
        }
        return Ok((numbers, vec![directory]));
    };
    let record_at = Number::read(archive, locator, field, 8, 8)?;
    let record = record(archive, "zip64 end of central directory", record_at.value, END_64)?;
    let count = record.u64(field, 32)?;
    let start = Number::read(archive, record, field, 48, 8)?;
    let mut offsets = vec![record_at, start];
    if directory.value != ZIP64_MARK {
        offsets.push(directory);
    }
    Ok((End { at, count, directory: start.value }, offsets))
}

/// Searches for the record. Only its comment follows it.
fn end_record(archive: View<'_>) -> Result<u64, Malformed> {
    let field = "zip end of central directory";
    let missing = |at| archive.malformed(field, at, Cause::Described("missing".into()));
    let last = archive.size().checked_sub(END_SIZE).ok_or_else(|| missing(0))?;
    // A comment has at most this size.
    let first = last.saturating_sub(u16::MAX.into());
    archive.charge(field, Resource::Work, size_of_range(&(first..last)))?;
    let is_end = |at: &u64| {
        let found = archive.from(*at);
        found.starts_with(&END.to_le_bytes())
            && found.u16(field, 20).is_ok_and(|comment| found.from(END_SIZE).size() == u64::from(comment))
    };
    (first..=last).rev().find(is_end).ok_or_else(|| missing(last))
}

/// Returns the offset of another end record after the central directory.
fn other_end(archive: View<'_>, directory_end: u64, end: u64) -> Result<Option<u64>, Malformed> {
    let rest = archive.from(directory_end);
    archive.charge("zip end of central directory", Resource::Work, rest.size())?;
    let found = rest.data().windows(4).enumerate().filter(|(_, bytes)| *bytes == END.to_le_bytes());
    Ok(found.map(|(at, _)| rest.from(at as u64).range_in(archive).start).find(|at| *at != end))
}

/// Reads an entry of the directory. Also returns the offset of the next entry.
fn entry(archive: View<'_>, at: u64) -> Result<(Entry<'_>, u64), Malformed> {
    let record = record(archive, "zip directory entry", at, CENTRAL)?;
    let size = |offset: u64| record.u16("zip directory entry", offset).map(u64::from);
    let name_size = size(28)?;
    let extra_size = size(30)?;
    let comment_size = size(32)?;
    let mut parts = Cursor::at(at);
    parts.take(CENTRAL_SIZE);
    let name = parts.take(name_size);
    let extra = parts.take(extra_size);
    let comment = parts.take(comment_size);
    let name = archive.part(archive.field("zip name", at), Extent { offset: name.start, size: name_size })?.data();
    archive.part(archive.field("zip directory entry", at), Extent { offset: comment.start, size: comment_size })?;
    let extra =
        archive.part(archive.field("zip directory entry", at), Extent { offset: extra.start, size: extra_size })?;
    let (fields, local) = fields(archive, record.from(8), extra, Header::Central)?;
    let local = local.ok_or_else(|| archive.malformed("zip directory entry", at, Cause::EndsInside))?;
    Ok((Entry { header: at, name, fields, local }, comment.end))
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
    archive: View<'_>,
    common: View<'_>,
    extra: View<'_>,
    header: Header,
) -> Result<(Fields, Option<Number>), Malformed> {
    let mut long = zip64(extra)?;
    let mut number = |field: &'static str, offset: u64| {
        let short = Number::read(archive, common, field, offset, 4)?;
        if short.value != ZIP64_MARK || long.size() < 8 {
            return Ok(short);
        }
        let number = Number::read(archive, long, field, 0, 8);
        long = long.from(8);
        number
    };
    let flags = common.u16("zip flags", 0)?;
    let method = common.u16("zip compression method", 2)?;
    let crc32 = Number::read(archive, common, "zip checksum", 8, 4)?;
    // In the extra field, the size precedes the compressed size.
    let size = number("zip size", 16)?;
    let compressed = number("zip compressed size", 12)?;
    let local = if header == Header::Central { Some(number("zip local header offset", 34)?) } else { None };
    let flags_at = common.range_in(archive).start;
    Ok((Fields { flags_at, flags, method, crc32, compressed, size }, local))
}

/// Returns the numbers in the zip64 field; empty without one.
fn zip64(extra: View<'_>) -> Result<View<'_>, Malformed> {
    let mut rest = extra;
    // Some writers pad the fields with fewer bytes than a header.
    while rest.size() >= 4 {
        let content = rest.from(4);
        let size = u64::from(rest.u16("zip extra field size", 2)?);
        if rest.u16("zip extra field", 0)? == ZIP64 {
            return content.prefix("zip extra field", size.min(content.size()));
        }
        rest = content.from(size);
    }
    Ok(rest.from(rest.size()))
}

/// Returns everything from a record with this signature on.
fn record<'data>(archive: View<'data>, field: &'static str, at: u64, signature: u32) -> Result<View<'data>, Malformed> {
    let found = archive.u32(field, at)?;
    let cause = || Cause::Described(format!("invalid signature {found:#x}, expected {signature:#x}"));
    if found == signature { Ok(archive.from(at)) } else { Err(archive.malformed(field, at, cause())) }
}
