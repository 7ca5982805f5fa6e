//! Reading: every offset must be inside the bundle, and no data may overlap the tables or other data.

use super::raw::{EntryRecord, Header, PayloadRecord};
use crate::base::bytes::{Extent, Resource, View, record_memory};
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
        let tables_end = header.tables_end();
        let view = view.prefix(view.field("oxart size", 12), header.size.into())?;
        let payloads_field = view.field("oxart payload count", 20);
        view.prefix(payloads_field, tables_end)?;
        let name = view.string(view.field("oxart name size", 16), header.name())?;
        let target = view.string(view.field("oxart target size", 18), header.target())?;
        let mut payloads = Vec::new();
        for record in view.table(payloads_field, header.payloads())? {
            view.charge("oxart payload", Resource::Memory, record_memory(size_of::<OxartPayload<'_>>(), []))?;
            payloads.push(payload(view, record, tables_end)?);
        }
        check_overlaps(view, &payloads)?;
        let mut entries = Vec::new();
        for record in view.table(view.field("oxart entry count", 22), header.entries())? {
            view.charge("oxart entry", Resource::Memory, record_memory(size_of::<OxartEntry<'_>>(), []))?;
            entries.push(entry(view, record)?);
        }
        Ok(OxartBundle { version: header.version, name, target, options: header.options, payloads, entries, view })
    }
}

fn payload<'data>(view: View<'data>, at: View<'data>, tables_end: u64) -> Result<OxartPayload<'data>, Malformed> {
    let record = PayloadRecord::read(at)?;
    let extent = Extent { offset: record.data_offset.into(), size: record.data_size.into() };
    let data = view.part(at.field("oxart payload offset", 4), extent)?;
    if extent.offset < tables_end {
        let cause = Cause::Described("overlaps the tables".to_owned());
        return Err(at.malformed("oxart payload offset", 4, cause));
    }
    let extent = Extent { offset: record.name_offset.into(), size: record.name_size.into() };
    let name = view.string(at.field("oxart payload name offset", 12), extent)?;
    Ok(OxartPayload { kind: record.kind, name, data })
}

fn entry<'data>(view: View<'data>, at: View<'data>) -> Result<OxartEntry<'data>, Malformed> {
    let record = EntryRecord::read(at)?;
    let extent = Extent { offset: record.symbol_offset.into(), size: record.symbol_size.into() };
    let symbol = view.string(at.field("oxart entry symbol offset", 12), extent)?;
    Ok(OxartEntry { kind: record.kind, symbol, metadata: record.metadata })
}

/// Checks that no two payloads share bytes.
fn check_overlaps(view: View<'_>, payloads: &[OxartPayload<'_>]) -> Result<(), Malformed> {
    let mut ranges: Vec<_> = payloads.iter().map(|payload| payload.data.range_in(view)).collect();
    ranges.sort_by_cached_key(|range| (range.start, range.end));
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
