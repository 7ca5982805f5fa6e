//! The pointers in the data of a host file. They lead to descriptors of images without symbols.

use std::collections::BTreeMap;
use std::ops::Range;

use object::read::{Object, ObjectSection};

use super::pointers::{HostFile, HostSection, PointerTarget, Pointers};
use crate::base::bytes::{Resource, View, record_memory, size_of_range};
use crate::base::range::{offset_from, range_at};

/// Prefixes of the sections with tables. In programs with fixed addresses, the tables are constants.
const TABLES: [&str; 2] = [".data", ".rodata"];

/// Size of a pointer, in bytes. 32-bit hosts have no such descriptors.
pub const POINTER: u64 = 8;

/// The pointers in a 64-bit host file.
pub struct HostTables<'file, 'data> {
    pub pointers: Pointers<'file, 'data>,
    pub host: View<'data>,
    /// Destinations of the pointers, by their offsets in the host file.
    pub targets: BTreeMap<u64, u64>,
}

impl<'file, 'data: 'file> HostTables<'file, 'data> {
    /// Reads the pointers outside all containers; `None` if the budget is exhausted.
    pub fn read(file: &'file HostFile<'data>, host: View<'data>, gaps: &[Range<u64>]) -> Option<Self> {
        let is_table = |section: &HostSection<'data, 'file>| {
            section.name().is_ok_and(|name| TABLES.iter().any(|prefix| name.starts_with(prefix)))
        };
        let sections: Vec<_> = file.sections().filter(is_table).collect();
        let pointers = Pointers::read(file, host, sections.iter());
        let mut targets = BTreeMap::new();
        for (offset, size) in sections.iter().filter_map(ObjectSection::file_range) {
            let section = range_at(offset, size);
            for place in aligned_places(&section, host.start(), gaps) {
                host.charge("table of pointers", Resource::Work, 1).ok()?;
                if let PointerTarget::Offset(target) = pointers.at(place) {
                    host.charge("table of pointers", Resource::Memory, record_memory(size_of::<(u64, u64)>(), []))
                        .ok()?;
                    targets.insert(place, target);
                }
            }
        }
        Some(HostTables { pointers, host, targets })
    }

    /// Destination of a pointer of a record, by the offset of the pointer in the record.
    pub fn target(&self, record: u64, field: u64) -> Option<u64> {
        self.targets.get(&record.checked_add(field)?).copied()
    }

    /// Number of `size` bytes in a record.
    pub fn number(&self, record: u64, field: u64, size: u64) -> Option<u64> {
        self.pointers.number(record.checked_add(field)?, size)
    }

    /// Offset in the file of a byte of the host file.
    pub fn in_file(&self, offset: u64) -> Option<u64> {
        self.host.start().checked_add(offset)
    }
}

/// Returns the offsets of aligned pointers of a section that are in the gaps. The gaps are in file order. `base` is the
/// start of the host file.
fn aligned_places(section: &Range<u64>, base: u64, gaps: &[Range<u64>]) -> impl Iterator<Item = u64> {
    // A hostile file can have many sections, and just as many gaps.
    let section_end = offset_from(base, section.end);
    let first = gaps.partition_point(|gap| gap.end <= offset_from(base, section.start));
    // What precedes the host file is not in its section.
    let in_host = |offset: u64| size_of_range(&(base..offset));
    let ranges: Vec<Range<u64>> = gaps
        .iter()
        .skip(first)
        .map(|gap| in_host(gap.start).max(section.start)..in_host(gap.end.min(section_end)))
        .take_while(|range| range.start < section.end)
        .collect();
    ranges.into_iter().flat_map(|range| {
        let first = range.start.checked_next_multiple_of(POINTER).unwrap_or(range.end);
        (first..range.end.max(first)).step_by(POINTER as usize)
    })
}
