//! Places in an ELF file, sorted once: a file may have tens of thousands of sections with a container each.

use std::collections::BTreeMap;
use std::ops::Range;

use object::elf::{PT_LOAD, ProgramHeader64, SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB, SectionHeader64, Sym64};
use object::endian::{Endianness, U64};
use object::read::elf::{ProgramHeader, SectionHeader, Sym};

use super::rooms::SectionRanges;
use fatbin_core::base::bytes::{Extent, Resource, View};
use fatbin_core::base::elf_layout::ELF64;
use fatbin_core::base::range::{offset_from, range_at};

/// Sections and tables by their places.
pub struct Places {
    /// Ranges of the sections with bytes in the file.
    pub sections: SectionRanges,
    /// Starts of sections that are not empty, and of tables, sorted.
    starts: Vec<u64>,
    /// Aligned offsets, sorted, each with the largest alignment from there on.
    alignments: Vec<(u64, u64)>,
}

/// A symbol, and the place of its size.
pub struct SizedSymbol {
    pub value: u64,
    pub size: u64,
    pub size_at: u64,
}

impl Places {
    /// Sorts the places of sections, segments and tables.
    pub fn new(
        endian: Endianness,
        sections: &[SectionHeader64<Endianness>],
        segments: &[ProgramHeader64<Endianness>],
        tables: &[Range<u64>; 2],
    ) -> Self {
        let mut ranges = Vec::new();
        for (index, section) in sections.iter().enumerate() {
            if let Some((start, size)) = section.file_range(endian) {
                ranges.push((range_at(start, size), index));
            }
        }
        let used = ranges.iter().filter(|(range, _)| !range.is_empty()).map(|(range, _)| range.start);
        let mut starts: Vec<u64> = used.chain(tables.iter().map(|table| table.start)).collect();
        starts.sort_unstable();
        let stored = sections.iter().filter(|it| it.sh_type(endian) != SHT_NOBITS);
        let loaded = segments.iter().filter(|it| it.p_type(endian) == PT_LOAD);
        let mut alignments: Vec<(u64, u64)> =
            stored.map(|it| (it.sh_offset(endian), it.sh_addralign(endian))).collect();
        alignments.extend(loaded.map(|it| (it.p_offset(endian), it.p_align(endian))));
        alignments.sort_unstable();
        let mut most = size_of::<U64<Endianness>>() as u64;
        for (_, alignment) in alignments.iter_mut().rev() {
            most = most.max(*alignment);
            *alignment = most;
        }
        Places { sections: SectionRanges::new(ranges), starts, alignments }
    }

    /// Returns the offset of the first byte of a section or table at or after an offset.
    pub fn next_used(&self, end: u64) -> Option<u64> {
        self.starts.get(self.starts.partition_point(|start| *start < end)).copied()
    }

    /// Returns the alignment of everything after an offset; `None` if it is invalid.
    pub fn alignment_behind(&self, end: u64) -> Option<u64> {
        let first = self.alignments.partition_point(|(offset, _)| *offset < end);
        let alignment = self.alignments.get(first).map_or(size_of::<u64>() as u64, |(_, alignment)| *alignment);
        alignment.is_power_of_two().then_some(alignment)
    }
}

/// Symbols by the indices of their sections.
pub type SizedSymbols = BTreeMap<usize, Vec<SizedSymbol>>;

/// Reads the symbols of all tables. Tables that exceed the budget are left out, and the budget reports that.
pub fn sized_symbols(view: View<'_>, endian: Endianness, sections: &[SectionHeader64<Endianness>]) -> SizedSymbols {
    let mut found = SizedSymbols::new();
    for table in sections.iter().filter(|it| [SHT_SYMTAB, SHT_DYNSYM].contains(&it.sh_type(endian))) {
        let Some((start, size)) = table.file_range(endian) else { continue };
        let bytes = view.part("symbol table", Extent { offset: start, size }).map(|view| view.data());
        let symbols: &[Sym64<Endianness>] = object::slice_from_all_bytes(bytes.unwrap_or_default()).unwrap_or_default();
        let memory = symbols.iter().map(|_| size_of::<SizedSymbol>() as u64).sum();
        if view.charge("symbol table", Resource::Memory, memory).is_err() {
            continue;
        }
        let places = range_at(start, size).step_by(ELF64.symbol_size as usize);
        for (place, symbol) in places.zip(symbols) {
            found.entry(symbol.st_shndx(endian).0.into()).or_default().push(SizedSymbol {
                value: symbol.st_value(endian),
                size: symbol.st_size(endian),
                size_at: offset_from(place, ELF64.st_size),
            });
        }
    }
    found
}

/// Moves of everything after an offset, sorted. Each entry has the total number of bytes of all moves up to it. The
/// total may be negative.
pub struct Moves(Vec<(u64, i64)>);

impl Moves {
    /// Sorts moves.
    pub fn new(mut moves: Vec<(u64, i64)>) -> Self {
        moves.sort_unstable();
        let mut sum = 0_i64;
        for (_, by) in &mut moves {
            sum = sum.saturating_add(*by);
            *by = sum;
        }
        Moves(moves)
    }

    /// Returns the offset after all moves of bytes at an offset before them. An offset beyond all files, which a section
    /// without bytes may state, does not move.
    pub fn of(&self, offset: u64) -> u64 {
        let count = self.0.partition_point(|(from, _)| *from <= offset);
        let last = count.checked_sub(1).and_then(|last| self.0.get(last));
        last.and_then(|(_, by)| offset.checked_add_signed(*by)).unwrap_or(offset)
    }
}
