//! Headers of a zip file, with the places of the numbers that an edit changes.
//!
//! Source: APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.9 (data descriptor), 4.3.12 (central directory),
//! 4.3.14 to
//! 4.3.16 (ends), 4.5.3 (zip64).

use std::ops::Range;

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
        let (count, start) = (end.count, end.directory);
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
        expect(archive, "zip local header", at, LOCAL)?;
        let (names, extra) = (at.saturating_add(26), at.saturating_add(28));
        let name_size = archive.u16("zip name size", names)?;
        let extra_size = archive.u16("zip extra field size", extra)?;
        let extra_at = at.saturating_add(LOCAL_SIZE).saturating_add(name_size.into());
        let data = extra_at.saturating_add(extra_size.into());
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
        let place = self.at.saturating_sub(start) as usize;
        let to = bytes.get_mut(place..).and_then(|rest| rest.get_mut(..self.width as usize));
        let encoded = value.to_le_bytes();
        to.expect("a number that was read").copy_from_slice(encoded.get(..self.width as usize).unwrap_or_default());
        Ok(())
    }
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
    let directory = Number::read(archive, field, at.saturating_add(16), 4)?;
    let number = |place: u64| archive.u16(field, at.saturating_add(place));
    let end = End { at, count: number(10)?.into(), directory: directory.value };
    let locator = at.checked_sub(LOCATOR_SIZE);
    let locator = locator.filter(|locator| archive.from(*locator).starts_with(&LOCATOR_64.to_le_bytes()));
    let Some(locator) = locator else {
        // The disks of the file, and the members on this one.
        if [number(4)?, number(6)?, number(8)?] != [0, 0, number(10)?] {
            let cause = Cause::Described("is of a file in several parts, which is not supported".to_owned());
            return Err(archive.malformed(field, at, cause));
        }
        return Ok((end, vec![directory]));
    };
    let record = Number::read(archive, field, locator.saturating_add(8), 8)?;
    expect(archive, "zip64 end of central directory", record.value, END_64)?;
    let count = archive.u64(field, record.value.saturating_add(32))?;
    let start = Number::read(archive, field, record.value.saturating_add(48), 8)?;
    let mut offsets = vec![record, start];
    if directory.value != ZIP64_MARK {
        offsets.push(directory);
    }
    Ok((End { at, count, directory: start.value }, offsets))
}

/// Searches for the record. Only its comment follows it.
fn end_record(archive: View<'_>) -> Result<u64, Malformed> {
    let field = "zip end of central directory";
    let last = archive.size().saturating_sub(END_SIZE);
    let first = last.saturating_sub(u16::MAX.into());
    archive.charge(field, Resource::Work, last.saturating_sub(first))?;
    let is_end = |at: &u64| {
        let found = archive.from(*at);
        found.starts_with(&END.to_le_bytes())
            && found.u16(field, 20).is_ok_and(|comment| END_SIZE.saturating_add(comment.into()) == found.size())
    };
    (first..=last).rev().find(is_end).ok_or_else(|| archive.malformed(field, last, Cause::Described("missing".into())))
}

/// Returns the offset of another end record after the central directory.
fn other_end(archive: View<'_>, directory_end: u64, end: u64) -> Result<Option<u64>, Malformed> {
    let rest = archive.from(directory_end);
    archive.charge("zip end of central directory", Resource::Work, rest.size())?;
    let found = rest.data().windows(4).enumerate().filter(|(_, bytes)| *bytes == END.to_le_bytes());
    Ok(found.map(|(at, _)| directory_end.saturating_add(at as u64)).find(|at| *at != end))
}

/// Reads an entry of the directory. Also returns the offset of the next entry.
fn entry(archive: View<'_>, at: u64) -> Result<(Entry<'_>, u64), Malformed> {
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
    Ok((Entry { header: at, name, fields, local }, comment.saturating_add(comment_size)))
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
