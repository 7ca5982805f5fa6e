//! Reading: every offset must be inside the bundle, and no data may overlap the tables or other data.

use super::raw::{EntryRecord, Header, PayloadRecord};
use crate::base::bytes::{Extent, Resource, View, entry_offsets, record_memory};
use crate::base::error::{Cause, Malformed};

/// A checked bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct OxartBundle<'data> {
    /// Version of the format.
    pub version: u16,
    /// Name, usually the name of the crate.
    pub name: &'data str,
    /// Target of all payloads, such as `sm_90`.
    pub target: &'data str,
    /// Compile options, a set of bits.
    pub options: u64,
    /// Payloads in the order of their records.
    pub payloads: Vec<OxartPayload<'data>>,
    /// Kernels and functions in the order of their records.
    pub entries: Vec<OxartEntry<'data>>,
    /// All bytes of the bundle.
    pub view: View<'data>,
}

/// Device code of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OxartPayload<'data> {
    /// Form of the code, see [`super::payload_kind`].
    pub kind: u16,
    /// Name, usually a file name.
    pub name: &'data str,
    /// The code.
    pub data: View<'data>,
}

/// A kernel or function of a bundle.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OxartEntry<'data> {
    /// See [`super::entry_kind`].
    pub kind: u16,
    /// Name of its symbol.
    pub symbol: &'data str,
    /// A number for the program.
    pub metadata: Option<u64>,
}

impl<'data> OxartBundle<'data> {
    /// Reads the bundle at the start of a view that may extend beyond it.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let header = Header::read(view)?;
        let size = u64::from(header.size);
        let (entries_at, tables_end) = (header.entries(), header.tables_end());
        let view = view.prefix(view.field("oxart size", 12), size)?;
        view.prefix(view.field("oxart payload count", 20), tables_end)?;
        let name_size = u64::from(header.name_size);
        let name = view.string(view.field("oxart name size", 16), Extent { offset: Header::SIZE, size: name_size })?;
        let target_at = Header::SIZE.saturating_add(name_size);
        let target = view.string(
            view.field("oxart target size", 18),
            Extent { offset: target_at, size: header.target_size.into() },
        )?;
        let mut payloads = Vec::new();
        for at in entry_offsets(header.records(), header.payload_count.into(), PayloadRecord::SIZE) {
            view.charge("oxart payload", Resource::Memory, record_memory(size_of::<OxartPayload<'_>>(), []))?;
            payloads.push(payload(view, at, tables_end)?);
        }
        check_overlaps(view, &payloads)?;
        let mut entries = Vec::new();
        for at in entry_offsets(entries_at, header.entry_count.into(), EntryRecord::SIZE) {
            view.charge("oxart entry", Resource::Memory, record_memory(size_of::<OxartEntry<'_>>(), []))?;
            entries.push(entry(view, at)?);
        }
        Ok(OxartBundle { version: header.version, name, target, options: header.options, payloads, entries, view })
    }
}

fn payload<'data>(view: View<'data>, at: u64, tables_end: u64) -> Result<OxartPayload<'data>, Malformed> {
    let record = PayloadRecord::read(view.from(at))?;
    let (offset, size) = (u64::from(record.data_offset), u64::from(record.data_size));
    let data = view.part(view.field("oxart payload offset", at.saturating_add(4)), Extent { offset, size })?;
    if offset < tables_end {
        let cause = Cause::Described("overlaps the tables".to_owned());
        return Err(view.malformed("oxart payload offset", at.saturating_add(4), cause));
    }
    let name_at = at.saturating_add(12);
    let (name_offset, name_size) = (u64::from(record.name_offset), u64::from(record.name_size));
    let name =
        view.string(view.field("oxart payload name offset", name_at), Extent { offset: name_offset, size: name_size })?;
    Ok(OxartPayload { kind: record.kind, name, data })
}

fn entry<'data>(view: View<'data>, at: u64) -> Result<OxartEntry<'data>, Malformed> {
    let record = EntryRecord::read(view.from(at))?;
    let symbol_at = at.saturating_add(12);
    let (offset, size) = (u64::from(record.symbol_offset), u64::from(record.symbol_size));
    let symbol = view.string(view.field("oxart entry symbol offset", symbol_at), Extent { offset, size })?;
    Ok(OxartEntry { kind: record.kind, symbol, metadata: record.metadata })
}

/// Checks that no two payloads share bytes.
fn check_overlaps(view: View<'_>, payloads: &[OxartPayload<'_>]) -> Result<(), Malformed> {
    let mut ranges: Vec<_> = payloads.iter().map(|payload| payload.data.range_in(view)).collect();
    ranges.sort_by_key(|range| (range.start, range.end));
    let mut end = 0;
    for range in ranges {
        if range.start < end {
            let cause = Cause::Described("overlaps another payload".to_owned());
            return Err(view.malformed("oxart payload", range.start, cause));
        }
        end = range.end;
    }
    Ok(())
}
