//! Reading: the table of contents is parsed as a whole. Every blob must be between the header and the table.

use std::ops::Range;

use super::layout::{BLOBS_OFFSET, HSACO, Header, INDEX_SEPARATOR, Scheme, TOC_OFFSET, key};
use super::message_pack::MessagePackReader;
use crate::base::bytes::{Cursor, Extent, View};
use crate::base::error::{Cause, Malformed};

/// Fields in errors.
const TOC: &str = "kpack table of contents";
const CODE_OBJECT: &str = "kpack code object";
const BLOB: &str = "kpack blob";
const FRAMES: &str = "kpack zstd frames";

/// A checked archive.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct KpackArchive<'data> {
    /// Name of the software whose device code the archive holds.
    pub group_name: Option<&'data str>,
    /// Family of processors.
    pub family: Option<&'data str>,
    /// Target IDs; the loader finds the archive by them.
    pub arches: Vec<&'data str>,
    /// Treatment of the blobs.
    pub scheme: Scheme,
    /// Code objects in the order of the table of contents.
    pub entries: Vec<KpackEntry<'data>>,
    /// Number of blobs.
    pub blob_count: u64,
    /// The archive, up to the end of its table of contents.
    pub view: View<'data>,
}

/// A code object in an archive.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct KpackEntry<'data> {
    /// Path of the binary that the code belongs to, `#`, and the index of the code object.
    pub key: &'data str,
    /// Target ID.
    pub arch: &'data str,
    /// Type of the code, `hsaco` for ELF.
    pub code_type: &'data str,
    /// Index of the blob.
    pub ordinal: u64,
    /// Decompressed size in bytes.
    pub original_size: u64,
    /// Stored bytes.
    pub stored: View<'data>,
    /// Offset of the entry in the file.
    pub stated_at: u64,
}

/// Contents of the table, before the blobs are known.
#[derive(Default)]
struct Toc<'data> {
    group_name: Option<&'data str>,
    family: Option<&'data str>,
    arches: Option<Vec<&'data str>>,
    scheme: Option<(u64, &'data str)>,
    entries: Option<Vec<KpackEntry<'data>>>,
    blobs: Option<Vec<(u64, u64, u64)>>,
    zstd_offset: Option<u64>,
    zstd_size: Option<u64>,
}

impl<'data> KpackArchive<'data> {
    /// Reads the archive at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let header = Header::read(view)?;
        view.part(view.field(TOC, TOC_OFFSET), Extent { offset: header.toc_offset, size: 1 })?;
        let toc_view = view.from(header.toc_offset);
        let mut reader = MessagePackReader::new(toc_view);
        let toc = Toc::read(&mut reader, view)?;
        let end = toc_view.from(reader.position()).range_in(view).start;
        let missing = |name| toc_view.malformed(TOC, 0, Cause::Described(format!("missing key {name}")));
        let (scheme_at, scheme) = toc.scheme.ok_or_else(|| missing(key::SCHEME))?;
        let scheme = Scheme::named(scheme).ok_or_else(|| {
            let cause = Cause::Described(format!("unsupported compression scheme {scheme:?}"));
            toc_view.malformed(TOC, scheme_at, cause)
        })?;
        let blob_area = view.prefix(view.field(TOC, TOC_OFFSET), header.toc_offset)?;
        let blobs = match scheme {
            Scheme::None => plain_blobs(blob_area, toc_view, &toc.blobs.ok_or_else(|| missing(key::BLOBS))?)?,
            Scheme::ZstdPerKernel => {
                let offset = toc.zstd_offset.ok_or_else(|| missing(key::ZSTD_OFFSET))?;
                let size = toc.zstd_size.ok_or_else(|| missing(key::ZSTD_SIZE))?;
                frames(area(blob_area, toc_view, offset, size)?)?
            }
        };
        let mut entries = toc.entries.ok_or_else(|| missing(key::TOC))?;
        for entry in &mut entries {
            let stored = usize::try_from(entry.ordinal).ok().and_then(|ordinal| blobs.get(ordinal));
            entry.stored = *stored.ok_or_else(|| {
                let cause = Cause::OutOfBounds { offset: entry.ordinal, size: 1, limit: blobs.len() as u64 };
                Malformed { field: "kpack ordinal", offset: entry.stated_at, cause }
            })?;
        }
        Ok(KpackArchive {
            group_name: toc.group_name,
            family: toc.family,
            arches: toc.arches.ok_or_else(|| missing(key::ARCHES))?,
            scheme,
            entries,
            blob_count: blobs.len() as u64,
            view: view.prefix(view.field(TOC, TOC_OFFSET), end)?,
        })
    }
}

impl<'data> KpackEntry<'data> {
    /// Returns the path of the binary and the index of the code object; `None` for a key without an index.
    pub fn binary(&self) -> Option<(&'data str, u32)> {
        let (path, index) = self.key.rsplit_once(INDEX_SEPARATOR)?;
        Some((path, index.parse().ok()?))
    }
}

/// Sets a value that may be present once.
fn set<T>(
    slot: &mut Option<T>,
    value: T,
    name: &str,
    at: u64,
    reader: &MessagePackReader<'_>,
) -> Result<(), Malformed> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(reader.malformed(TOC, at, Cause::Described(format!("duplicate key {name}")))),
    }
}

impl<'data> Toc<'data> {
    fn read(reader: &mut MessagePackReader<'data>, archive: View<'data>) -> Result<Self, Malformed> {
        let mut toc = Toc::default();
        for _ in 0..reader.map(TOC)? {
            let at = reader.position();
            match reader.text(TOC)? {
                name @ key::GROUP_NAME => set(&mut toc.group_name, reader.text(TOC)?, name, at, reader)?,
                name @ key::FAMILY => set(&mut toc.family, reader.text(TOC)?, name, at, reader)?,
                name @ key::ARCHES => set(&mut toc.arches, texts(TOC, reader)?, name, at, reader)?,
                name @ key::SCHEME => set(&mut toc.scheme, (at, reader.text(TOC)?), name, at, reader)?,
                name @ key::TOC => set(&mut toc.entries, entries(reader, archive)?, name, at, reader)?,
                name @ key::BLOBS => set(&mut toc.blobs, blobs(reader)?, name, at, reader)?,
                name @ key::ZSTD_OFFSET => set(&mut toc.zstd_offset, reader.number(TOC)?, name, at, reader)?,
                name @ key::ZSTD_SIZE => set(&mut toc.zstd_size, reader.number(TOC)?, name, at, reader)?,
                _ => reader.skip(TOC)?,
            }
        }
        Ok(toc)
    }
}

/// Reads an array of texts.
pub fn texts<'data>(field: &'static str, reader: &mut MessagePackReader<'data>) -> Result<Vec<&'data str>, Malformed> {
    (0..reader.array(field)?).map(|_| reader.text(field)).collect()
}

/// Reads the code objects: a map of maps.
fn entries<'data>(
    reader: &mut MessagePackReader<'data>,
    archive: View<'data>,
) -> Result<Vec<KpackEntry<'data>>, Malformed> {
    let mut entries = Vec::new();
    for _ in 0..reader.map(CODE_OBJECT)? {
        let key = reader.text(CODE_OBJECT)?;
        for _ in 0..reader.map(CODE_OBJECT)? {
            let arch = reader.text(CODE_OBJECT)?;
            entries.push(entry(reader, archive, key, arch)?);
        }
    }
    Ok(entries)
}

fn entry<'data>(
    reader: &mut MessagePackReader<'data>,
    archive: View<'data>,
    entry_key: &'data str,
    arch: &'data str,
) -> Result<KpackEntry<'data>, Malformed> {
    let at = reader.position();
    let mut code_type = None;
    let mut ordinal = None;
    let mut original_size = None;
    for _ in 0..reader.map(CODE_OBJECT)? {
        let name_at = reader.position();
        match reader.text(CODE_OBJECT)? {
            name @ key::TYPE => set(&mut code_type, reader.text(CODE_OBJECT)?, name, name_at, reader)?,
            name @ key::ORDINAL => set(&mut ordinal, reader.number(CODE_OBJECT)?, name, name_at, reader)?,
            name @ key::ORIGINAL_SIZE => set(&mut original_size, reader.number(CODE_OBJECT)?, name, name_at, reader)?,
            _ => reader.skip(CODE_OBJECT)?,
        }
    }
    let missing = |name| reader.malformed(CODE_OBJECT, at, Cause::Described(format!("missing key {name}")));
    Ok(KpackEntry {
        key: entry_key,
        arch,
        code_type: code_type.unwrap_or(HSACO),
        ordinal: ordinal.ok_or_else(|| missing(key::ORDINAL))?,
        original_size: original_size.ok_or_else(|| missing(key::ORIGINAL_SIZE))?,
        stored: archive.from(archive.size()),
        stated_at: reader.malformed(CODE_OBJECT, at, Cause::EndsInside).offset,
    })
}

/// Reads the table of uncompressed blobs: offset of each row in the table of contents, offset and size of the blob.
fn blobs(reader: &mut MessagePackReader<'_>) -> Result<Vec<(u64, u64, u64)>, Malformed> {
    let mut blobs = Vec::new();
    for _ in 0..reader.array(BLOB)? {
        let at = reader.position();
        let mut offset = None;
        let mut size = None;
        for _ in 0..reader.map(BLOB)? {
            let name_at = reader.position();
            match reader.text(BLOB)? {
                name @ key::OFFSET => set(&mut offset, reader.number(BLOB)?, name, name_at, reader)?,
                name @ key::SIZE => set(&mut size, reader.number(BLOB)?, name, name_at, reader)?,
                _ => reader.skip(BLOB)?,
            }
        }
        let missing = |name| reader.malformed(BLOB, at, Cause::Described(format!("missing key {name}")));
        blobs.push((at, offset.ok_or_else(|| missing(key::OFFSET))?, size.ok_or_else(|| missing(key::SIZE))?));
    }
    Ok(blobs)
}

/// The blobs must not overlap.
fn plain_blobs<'data>(
    blob_area: View<'data>,
    toc: View<'data>,
    table: &[(u64, u64, u64)],
) -> Result<Vec<View<'data>>, Malformed> {
    let mut views = Vec::with_capacity(table.len());
    for &(at, offset, size) in table {
        if offset < BLOBS_OFFSET {
            let cause = Cause::Unexpected { value: offset, expected: "at least 64, the size of the header" };
            return Err(toc.malformed(BLOB, at, cause));
        }
        views.push(blob_area.part(toc.field(BLOB, at), Extent { offset, size })?);
    }
    let mut sorted: Vec<(Range<u64>, u64)> =
        views.iter().zip(table).map(|(view, &(at, ..))| (view.range_in(blob_area), at)).collect();
    sorted.retain(|(range, _)| !range.is_empty());
    sorted.sort_unstable_by_key(|(range, at)| (range.start, *at));
    let mut end = 0;
    for (range, at) in sorted {
        if range.start < end {
            return Err(toc.malformed(BLOB, at, Cause::Overlap { offset: range.start, end }));
        }
        end = range.end;
    }
    Ok(views)
}

/// Slices the bytes of all frames out of the archive.
fn area<'data>(blob_area: View<'data>, toc: View<'data>, offset: u64, size: u64) -> Result<View<'data>, Malformed> {
    if offset < BLOBS_OFFSET {
        let cause = Cause::Unexpected { value: offset, expected: "at least 64, the size of the header" };
        return Err(toc.malformed(FRAMES, 0, cause));
    }
    blob_area.part(toc.field(FRAMES, 0), Extent { offset, size })
}

/// Finds the zstd frame of each blob. The frames must fill the area.
fn frames(area: View<'_>) -> Result<Vec<View<'_>>, Malformed> {
    let mut cursor = Cursor::new(area);
    let count = cursor.take(FRAMES, 4)?.u32(FRAMES, 0)?;
    let mut frames = Vec::new();
    for _ in 0..count {
        let header = cursor.take(FRAMES, 4)?;
        let size = u64::from(header.u32(FRAMES, 0)?);
        frames.push(cursor.take_stated(header.field(FRAMES, 0), size)?);
    }
    if cursor.rest().size() > 0 {
        let cause = Cause::Described(format!("{count} frames end at {}, expected {}", cursor.at(), area.size()));
        return Err(cursor.malformed(FRAMES, cause));
    }
    Ok(frames)
}
