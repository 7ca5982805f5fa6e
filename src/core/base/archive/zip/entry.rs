//! Entries of the central directory of a zip file, and the local headers that they refer to, with the places of the
//! numbers that an edit changes.
//!
//! Source: APPNOTE.TXT 6.3.10, sections 4.3.7 (local header), 4.3.9 (data descriptor), 4.3.12 (central directory),
//! 4.5.3 (zip64).

use std::collections::{HashMap, HashSet};
use std::hash::{BuildHasher, RandomState};

use flate2::Crc;

use super::number::{Number, ZIP64_MARK};
use crate::base::bytes::{Budget, Cursor, Resource, View};
use crate::base::error::{Cause, Malformed};

/// Compression methods.
pub const STORED: u16 = 0;
pub const DEFLATED: u16 = 8;

/// Bits of the flags: encrypted; deflated with an unusual level; sizes in a descriptor after the data.
pub const ENCRYPTED: u16 = 1;
pub const LEVELS: u16 = 0b110;
pub const HAS_DESCRIPTOR: u16 = 8;

pub const LOCAL: u32 = u32::from_le_bytes(*b"PK\x03\x04");
pub const CENTRAL: u32 = u32::from_le_bytes(*b"PK\x01\x02");
const DESCRIPTOR: u32 = u32::from_le_bytes(*b"PK\x07\x08");

const LOCAL_SIZE: u64 = 30;
const CENTRAL_SIZE: u64 = 46;

/// Number of the extra field with 64-bit numbers.
const ZIP64: u16 = 1;
/// Number of the extra field with a name in UTF-8 that replaces the name of the header (APPNOTE.TXT 6.3.10, 4.6.9).
const UNICODE_PATH: u16 = 0x7075;
/// Version of this field; the checksum of the replaced name and the new name follow.
const UNICODE_PATH_VERSION: u8 = 1;

/// Names of records in errors.
pub const CENTRAL_RECORD: &str = "zip directory entry";
pub const LOCAL_RECORD: &str = "zip local header";

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

impl Fields {
    /// Checksum, compressed size and size.
    pub fn numbers(&self) -> [u64; 3] {
        [self.crc32, self.compressed, self.size].map(|number| number.value)
    }
}

/// An entry of the central directory.
#[derive(Debug, Clone)]
pub struct Entry<'data> {
    /// Offset of the entry in the file.
    pub header: u64,
    /// Number of its bytes.
    pub size: u64,
    pub name: &'data [u8],
    /// Extra fields.
    pub extra: View<'data>,
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
    /// Creates a list without entries. Offsets of local headers count from `archive`.
    pub fn new(file: View<'data>, archive: View<'data>) -> Self {
        Entries { file, archive, places: Vec::new() }
    }

    /// Adds the entry at the start of `record`. Returns the bytes after it, and its size.
    pub fn add(&mut self, record: View<'data>) -> Result<(View<'data>, u64), Malformed> {
        self.file.charge(CENTRAL_RECORD, Resource::Memory, size_of::<u64>() as u64)?;
        let (entry, rest) = entry(self.file, record, self.archive)?;
        self.places.push(entry.header);
        Ok((rest, entry.size))
    }

    /// Returns the number of entries.
    pub fn len(&self) -> usize {
        self.places.len()
    }

    /// Reads an entry again. It was read before, so only the budget can refuse it.
    pub fn get(&self, index: usize) -> Result<Entry<'data>, Malformed> {
        self.read(index, self.file, self.archive)
    }

    /// Like [`Entries::get`], and charges another budget.
    pub fn get_charging<'a>(&self, index: usize, budget: &'a Budget) -> Result<Entry<'a>, Malformed>
    where
        'data: 'a,
    {
        self.read(index, self.file.charging(budget), self.archive.charging(budget))
    }

    fn read<'a>(&self, index: usize, file: View<'a>, archive: View<'a>) -> Result<Entry<'a>, Malformed> {
        let missing = || file.malformed(CENTRAL_RECORD, 0, Cause::Described(format!("no entry {index}")));
        let record = file.from(*self.places.get(index).ok_or_else(missing)?);
        entry(file, record, archive).map(|(entry, _)| entry)
    }

    /// Reads all entries again.
    pub fn iter(&self) -> impl Iterator<Item = Result<Entry<'data>, Malformed>> {
        (0..self.places.len()).map(|index| self.get(index))
    }

    /// Reads the names of all entries again, and calls `read` with the number of bytes that are read for each.
    pub fn names(&self, read: &dyn Fn(u64)) -> impl Iterator<Item = &'data [u8]> {
        self.places.iter().filter_map(move |&place| {
            let record = self.file.from(place);
            let size = record.u16("zip name size", 28).ok()?;
            read(CENTRAL_SIZE);
            Some(record.from(CENTRAL_SIZE).prefix("zip name", size.into()).ok()?.data())
        })
    }

    /// Returns the indexes of the entries that are files. Of entries with the same name, the last counts, in the place
    /// of the first. Calls `read` with the number of bytes of each entry that is read.
    pub fn files(&self, read: &dyn Fn(u64)) -> Result<Vec<usize>, Malformed> {
        let mut repeated = self.repeated(read)?;
        let mut files = Vec::new();
        for named in self.named(read) {
            let (index, entry) = named?;
            files.extend(match repeated.get_mut(entry.name) {
                Some(last) => last.take(),
                None => Some(index),
            });
        }
        Ok(files)
    }

    /// Reads the entries of files again, with their indexes, and calls `read` with the size of each.
    fn named(&self, read: &dyn Fn(u64)) -> impl Iterator<Item = Result<(usize, Entry<'data>), Malformed>> {
        self.iter().enumerate().filter_map(|(index, entry)| match entry {
            Ok(entry) if entry.is_directory() => None,
            Ok(entry) => {
                read(entry.size);
                Some(Ok((index, entry)))
            }
            Err(malformed) => Some(Err(malformed)),
        })
    }

    /// Returns the index of the last entry for each name that several files have, and for names with the same hash. Only
    /// hashes are kept of all names: a package may have a hundred thousand.
    fn repeated(&self, read: &dyn Fn(u64)) -> Result<HashMap<&'data [u8], Option<usize>>, Malformed> {
        let state = RandomState::new();
        let hash = |named: Result<(usize, Entry<'data>), Malformed>| named.map(|(_, entry)| state.hash_one(entry.name));
        let mut hashes = self.named(read).map(hash).collect::<Result<Vec<u64>, _>>()?;
        hashes.sort_unstable();
        let equal = |pair: &[u64]| {
            if let [first, second] = pair
                && first == second
            {
                Some(*first)
            } else {
                None
            }
        };
        let repeated: HashSet<u64> = hashes.windows(2).filter_map(equal).collect();
        let mut last = HashMap::new();
        if repeated.is_empty() {
            return Ok(last);
        }
        for named in self.named(read) {
            let (index, entry) = named?;
            if repeated.contains(&state.hash_one(entry.name)) {
                last.insert(entry.name, Some(index));
            }
        }
        Ok(last)
    }
}

/// The local header of a member.
#[derive(Debug)]
pub struct LocalHeader<'data> {
    /// The header, with name and extra fields.
    pub whole: View<'data>,
    pub name: &'data [u8],
    /// Extra fields.
    pub extra: View<'data>,
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

impl<'data> LocalHeader<'data> {
    /// Reads the sizes of the header at the start of a view.
    pub fn read(record: View<'data>) -> Result<Self, Malformed> {
        expect(record, LOCAL_RECORD, LOCAL)?;
        let name_size = record.u16("zip name size", 26)?;
        let extra_size = record.u16("zip extra field size", 28)?;
        let mut parts = Cursor::new(record);
        parts.take(LOCAL_RECORD, LOCAL_SIZE)?;
        let name = parts.take_stated(LOCAL_RECORD, name_size.into())?.data();
        let extra = parts.take_stated(LOCAL_RECORD, extra_size.into())?;
        Ok(LocalHeader { whole: record.prefix(LOCAL_RECORD, parts.at())?, name, extra, rest: parts.rest() })
    }

    /// Reads the fields that a directory entry has too.
    pub fn fields(&self, file: View<'_>) -> Result<Fields, Malformed> {
        fields(file, self.whole.from(6), self.extra, Header::Local).map(|(fields, _)| fields)
    }
}

impl<'data> Entry<'data> {
    /// Returns whether it is the entry of a directory, whose data readers ignore.
    pub fn is_directory(&self) -> bool {
        self.name.ends_with(b"/") || self.name.ends_with(b"\\")
    }

    /// Reads the sizes of the local header.
    pub fn local_header(&self) -> Result<LocalHeader<'data>, Malformed> {
        LocalHeader::read(self.from_local)
    }

    /// Reads the local header.
    pub fn local_member(&self, file: View<'data>) -> Result<LocalMember<'data>, Malformed> {
        let header = self.local_header()?;
        let compressed = self.fields.compressed;
        let mut parts = Cursor::new(header.rest);
        let data = parts.take_stated(file.field("zip member size", compressed.at), compressed.value)?;
        let fields = header.fields(file)?;
        if fields.flags & HAS_DESCRIPTOR != 0 {
            match self.descriptor_size(parts.rest()) {
                Ok(size) => parts.take("zip data descriptor", size).map(|_| ())?,
                // A writer that knows the numbers in time may leave out the descriptor.
                Err(_) if fields.numbers() == self.fields.numbers() => {}
                Err(error) => return Err(error),
            }
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
    let from_local = archive.from(local.value);
    Ok((Entry { header, size: parts.at(), name, extra, fields, local, from_local }, parts.rest()))
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
    // Fewer bytes than a number without this field.
    let mut long = Cursor::new(extra_field(extra, ZIP64)?.unwrap_or(extra.from(extra.size())));
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

/// Returns the name in an extra field that some readers take instead of the name of the header. They ignore a field that
/// was made for another name.
pub fn unicode_name<'data>(name: &[u8], extra: View<'data>) -> Result<Option<&'data [u8]>, Malformed> {
    let Some(field) = extra_field(extra, UNICODE_PATH)? else { return Ok(None) };
    let is_version = field.data().first() == Some(&UNICODE_PATH_VERSION);
    let mut crc = Crc::new();
    crc.update(name);
    let applies = is_version && field.from(1).starts_with(&crc.sum().to_le_bytes());
    Ok(if applies { Some(field.from(5).data()) } else { None })
}

/// Returns the contents of the extra field with this number.
fn extra_field(extra: View<'_>, number: u16) -> Result<Option<View<'_>>, Malformed> {
    let mut fields = Cursor::new(extra);
    // Some writers pad the fields with fewer bytes than a header.
    while fields.rest().size() >= 4 {
        let header = fields.take("zip extra field", 4)?;
        let size = header.u16("zip extra field size", 2)?;
        let content = fields.take("zip extra field", fields.rest().size().min(size.into()))?;
        if header.u16("zip extra field", 0)? == number {
            return Ok(Some(content));
        }
    }
    Ok(None)
}

pub fn expect(record: View<'_>, field: &'static str, signature: u32) -> Result<(), Malformed> {
    let found = record.u32(field, 0)?;
    let cause = || Cause::Described(format!("invalid signature {found:#x}, expected {signature:#x}"));
    if found == signature { Ok(()) } else { Err(record.malformed(field, 0, cause())) }
}
