//! Reading: a bundle is accepted only if every entry has a valid ID and a separate code object.
//!
//! The index at the start contains everything except the code objects' bytes, so it can be read before the rest of the
//! bundle is available: a compressed bundle is listed from its first kilobytes.

use std::ops::Range;

use super::raw::{COUNT_OFFSET, ENTRIES_OFFSET, EntryHeader, MAGIC};
use crate::base::bytes::{Cursor, Table, View};
use crate::base::error::{Cause, Malformed};
use crate::target::BundleEntryId;

/// A checked bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Bundle<'data> {
    /// Entries in the order of the file.
    pub entries: Vec<BundleEntry<'data>>,
    /// All bytes from the magic to the end of the last code object.
    pub view: View<'data>,
}

/// A code object and its ID.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleEntry<'data> {
    /// ID as written.
    pub text: &'data str,
    /// ID, split into its parts.
    pub id: BundleEntryId<'data>,
    /// Bytes of the code object.
    pub code_object: View<'data>,
}

/// Index of a bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleIndex<'data> {
    /// Entries in the order of the file.
    pub entries: Vec<BundleIndexEntry<'data>>,
    /// Size from the magic to the end of the last code object, in bytes.
    pub size: u64,
}

/// An ID and the range of its code object, counted from the magic.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct BundleIndexEntry<'data> {
    /// ID as written.
    pub text: &'data str,
    /// ID, split into its parts.
    pub id: BundleEntryId<'data>,
    /// Range of the code object.
    pub range: Range<u64>,
    /// Offset of the entry in the index.
    stated_at: u64,
}

impl<'data> Bundle<'data> {
    /// Reads the bundle at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let index = BundleIndex::read(view, view.size())?;
        let mut entries = Vec::new();
        for BundleIndexEntry { text, id, range, stated_at } in index.entries {
            let code_object = view.between(view.field("bundle entry offset", stated_at), range)?;
            entries.push(BundleEntry { text, id, code_object });
        }
        Ok(Bundle { entries, view: view.prefix("bundle", index.size)? })
    }
}

impl<'data> BundleIndex<'data> {
    /// Reads the index of a bundle of `limit` bytes. Only its first bytes, `start`, need to be available.
    pub fn read(start: View<'data>, limit: u64) -> Result<Self, Malformed> {
        if !start.starts_with(MAGIC) {
            let value = start.u64("bundle magic", 0)?;
            let cause = Cause::Unexpected { value, expected: "__CLANG_OFFLOAD_BUNDLE__" };
            return Err(start.malformed("bundle magic", 0, cause));
        }
        let count = start.u64("bundle entry count", COUNT_OFFSET)?;
        // Zero is rejected too: a string constant looks like the magic followed by zeros.
        if count == 0 {
            let cause = Cause::Unexpected { value: 0, expected: "at least 1" };
            return Err(start.malformed("bundle entry count", COUNT_OFFSET, cause));
        }
        let mut cursor = Cursor::new(start);
        cursor.take("bundle entry count", ENTRIES_OFFSET)?;
        let headers = Table { offset: cursor.at(), count, entry_size: EntryHeader::SIZE };
        start.part(start.field("bundle entry count", COUNT_OFFSET), headers.extent())?;
        let mut entries = Vec::new();
        for _ in 0..count {
            let at = cursor.at();
            let EntryHeader { offset, size, id_length } = EntryHeader::read(cursor.rest())?;
            let header = cursor.take("bundle entry", EntryHeader::SIZE)?;
            let id_at = cursor.at();
            let text = cursor.string(header.field("bundle entry id length", EntryHeader::ID_LENGTH), id_length)?;
            let id = BundleEntryId::parse(text).ok_or_else(|| {
                start.malformed("bundle entry id", id_at, Cause::BundleEntryId { id: text.to_owned() })
            })?;
            let Some(end) = offset.checked_add(size).filter(|&end| end <= limit) else {
                let cause = Cause::OutOfBounds { offset, size, limit };
                return Err(start.malformed("bundle entry offset", at, cause));
            };
            entries.push(BundleIndexEntry { text, id, range: offset..end, stated_at: at });
        }
        let index_end = cursor.at();
        check_overlaps(start, &entries, index_end)?;
        let ends = entries.iter().map(|entry| entry.range.end);
        let size = ends.fold(index_end, u64::max);
        Ok(BundleIndex { entries, size })
    }
}

/// Checks that no byte belongs to two code objects or to one and the index; empty ones may be anywhere.
fn check_overlaps(start: View, entries: &[BundleIndexEntry], index_end: u64) -> Result<(), Malformed> {
    let mut entries: Vec<&BundleIndexEntry> = entries.iter().filter(|entry| !entry.range.is_empty()).collect();
    entries.sort_by_cached_key(|entry| entry.range.start);
    let mut end = index_end;
    for entry in entries {
        if entry.range.start < end {
            let cause = Cause::Overlap { offset: entry.range.start, end };
            return Err(start.malformed("bundle entry offset", entry.stated_at, cause));
        }
        end = entry.range.end;
    }
    Ok(())
}
