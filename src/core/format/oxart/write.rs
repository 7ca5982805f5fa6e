//! Writing, with the bytes of oxide-artifacts 0.2.1, and changes of a bundle that keep its size.

use super::OxartBundle;
use super::raw::{ALIGNMENT, EntryRecord, Header, PayloadRecord, VERSIONS};
use crate::base::bytes::{View, size_of_range};
use crate::base::content::Content;
use crate::base::error::Malformed;
use crate::format::Fate;

/// A bundle to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OxartSpec<'a, 'data> {
    /// Name, usually the name of the crate.
    pub name: &'a str,
    /// Target of all payloads.
    pub target: &'a str,
    /// Compile options. A bundle with any is of version 2.
    pub options: u64,
    /// Payloads in the order of their records.
    pub payloads: &'a [OxartPayloadSpec<'a, 'data>],
    /// Kernels and functions in the order of their records.
    pub entries: &'a [OxartEntrySpec<'a>],
}

/// A payload to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OxartPayloadSpec<'a, 'data> {
    /// Form of the code, see [`super::payload_kind`].
    pub kind: u16,
    /// Name, usually a file name.
    pub name: &'a str,
    /// The code.
    pub data: &'data [u8],
}

/// A kernel or function to write.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct OxartEntrySpec<'a> {
    /// See [`super::entry_kind`].
    pub kind: u16,
    /// Name of its symbol.
    pub symbol: &'a str,
    /// A number for the program.
    pub metadata: Option<u64>,
}

/// Writes a bundle; the data is borrowed. `None` if a size or number does not fit into its field.
pub fn write<'data>(spec: &OxartSpec<'_, 'data>) -> Option<Content<'data>> {
    let header = Header {
        version: if spec.options == 0 { VERSIONS[0] } else { VERSIONS[1] },
        size: 0,
        name_size: u16::try_from(spec.name.len()).ok()?,
        target_size: u16::try_from(spec.target.len()).ok()?,
        payload_count: u16::try_from(spec.payloads.len()).ok()?,
        entry_count: u16::try_from(spec.entries.len()).ok()?,
        options: spec.options,
    };
    // Everything after the tables; offsets count from the start of the bundle.
    let mut body = Body { start: header.tables_end(), content: Content::new() };
    let mut tables = Vec::new();
    for payload in spec.payloads {
        let (name_offset, name_size) = body.push(payload.name.as_bytes().to_vec().into())?;
        let (data_offset, data_size) = body.push(payload.data.into())?;
        let name_size = u16::try_from(name_size).ok()?;
        PayloadRecord { kind: payload.kind, data_offset, data_size, name_offset, name_size }.write(&mut tables);
    }
    for entry in spec.entries {
        let (symbol_offset, symbol_size) = body.push(entry.symbol.as_bytes().to_vec().into())?;
        let symbol_size = u16::try_from(symbol_size).ok()?;
        EntryRecord { kind: entry.kind, metadata: entry.metadata, symbol_offset, symbol_size }.write(&mut tables);
    }
    let mut front = Vec::new();
    Header { size: body.end()?, ..header }.write(&mut front);
    let mut content = Content::from([&front, spec.name.as_bytes(), spec.target.as_bytes(), &tables].concat());
    content.append(body.content);
    Some(content)
}

/// Bytes after the tables.
struct Body<'data> {
    /// Offset of the first one.
    start: u64,
    content: Content<'data>,
}

impl<'data> Body<'data> {
    #[expect(clippy::arithmetic_side_effects, reason = "tables of less than 2^32 bytes, and bytes in memory")]
    fn position(&self) -> u64 {
        self.start + self.content.size()
    }

    fn end(&self) -> Option<u32> {
        u32::try_from(self.position()).ok()
    }

    /// Appends bytes and pads them; returns their offset and size.
    fn push(&mut self, bytes: Content<'data>) -> Option<(u32, u32)> {
        let offset = self.end()?;
        let size = u32::try_from(bytes.size()).ok()?;
        self.content.append(bytes);
        let padding = self.end()?.checked_next_multiple_of(ALIGNMENT)?.checked_sub(self.end()?)?;
        self.content.push(vec![0; padding as usize]);
        Some((offset, size))
    }
}

/// Returns a bundle with other payloads. Everything else stays in place, and so does the end of the bundle, because
/// programs walk the section by the sizes of the bundles. Free bytes are zeros. The bundle grows only if new data is
/// larger than the data that it replaces.
pub fn edited<'data>(
    bundle: &OxartBundle<'data>,
    fates: Vec<Fate<'data>>,
) -> Result<Option<Content<'data>>, Malformed> {
    let view = bundle.view;
    let header = Header::read(view)?;
    let mut body = Body { start: header.tables_end(), content: Content::new() };
    let mut appended = Vec::new();
    let mut places: Vec<_> =
        bundle.payloads.iter().map(|payload| payload.data.range_in(view)).zip(fates).enumerate().collect();
    places.sort_by_cached_key(|(_, (range, _))| range.start);
    let mut sizes = vec![None; places.len()];
    for (number, (range, fate)) in places {
        let size = size_of_range(&range);
        body.copy_to(view, range.start)?;
        let (mut data, new_size) = match fate {
            Fate::Keep => (Content::from(view.between("oxart payload", range.clone())?.data()), Some(size)),
            Fate::Drop => (Content::new(), None),
            Fate::Replace(data) if data.size() <= size => {
                let new_size = data.size();
                (data, Some(new_size))
            }
            Fate::Replace(data) => {
                appended.push((number, data));
                (Content::new(), None)
            }
        };
        data.pad_to(size);
        body.content.append(data);
        if let (Some(place), Some(new_size)) = (sizes.get_mut(number), new_size) {
            *place = Some((range.start as u32, new_size as u32));
        }
    }
    body.copy_to(view, view.size())?;
    for (number, data) in appended {
        let (Some(place), Some(new)) = (sizes.get_mut(number), body.push(data)) else { return Ok(None) };
        *place = Some(new);
    }
    let mut tables = Vec::new();
    // At most the old number.
    let payload_count = sizes.iter().flatten().count() as u16;
    for (record, place) in view.table(view.field("oxart payload count", 20), header.payloads())?.zip(sizes) {
        let Some((data_offset, data_size)) = place else { continue };
        PayloadRecord { data_offset, data_size, ..PayloadRecord::read(record)? }.write(&mut tables);
    }
    let Some(size) = body.end() else { return Ok(None) };
    let mut front = Vec::new();
    Header { size, payload_count, ..header }.write(&mut front);
    let names = view.between(view.field("oxart name size", 16), Header::SIZE..header.payloads().offset)?;
    let entries = view.part(view.field("oxart entry count", 22), header.entries().extent())?;
    front.extend(names.data());
    front.extend(&tables);
    front.extend(entries.data());
    // Records of payloads that are left out.
    front.resize(body.start as usize, 0);
    let mut content = Content::from(front);
    content.append(body.content);
    Ok(Some(content))
}

impl<'data> Body<'data> {
    /// Appends the bytes of a bundle up to an offset.
    fn copy_to(&mut self, view: View<'data>, end: u64) -> Result<(), Malformed> {
        self.content.push(view.between("oxart bundle", self.position()..end)?.data());
        Ok(())
    }
}
