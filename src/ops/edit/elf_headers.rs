//! Headers of a 64-bit ELF file. When sections lose bytes, the places of sections and segments and the sizes of symbols
//! change.

use std::ops::Range;

use object::elf::{ET_REL, FileHeader64, ProgramHeader64, SectionHeader64};
use object::endian::{Endianness, U64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader};

use super::KeepsSize;
use super::elf_places::{Moves, Places, SizedSymbols, sized_symbols};
use super::patch::Patch;
use fatbin_core::base::bytes::{View, size_of_range};
use fatbin_core::base::content::Content;
use fatbin_core::base::range::{offset_from, range_at};

/// Headers of a file, changed in memory.
pub struct ElfHeaders<'data> {
    view: View<'data>,
    endian: Endianness,
    file: FileHeader64<Endianness>,
    /// Ranges of the sections before any change.
    ranges: Vec<Option<Range<u64>>>,
    /// The tables, and their offsets before any change.
    sections: Vec<SectionHeader64<Endianness>>,
    segments: Vec<ProgramHeader64<Endianness>>,
    tables: [Range<u64>; 2],
    /// Places before any change.
    places: Places,
    /// Symbols by the indices of their sections, once sections end elsewhere.
    symbols: Option<SizedSymbols>,
    symbol_sizes: Vec<Patch<'data>>,
    /// Where bytes move: an offset before any change, and by how many bytes everything from there on moves. The number
    /// may be negative.
    moves: Vec<(u64, i64)>,
    is_changed: bool,
}

impl<'data> ElfHeaders<'data> {
    /// Reads the headers; `None` for other files.
    pub fn read(view: View<'data>) -> Option<Self> {
        let file = *FileHeader64::<Endianness>::parse(view.data()).ok()?;
        let endian = file.endian().ok()?;
        let sections = file.section_headers(endian, view.data()).ok()?.to_vec();
        let segments = file.program_headers(endian, view.data()).ok()?.to_vec();
        let tables = [
            range_at(file.e_shoff(endian), size_of_val(&*sections) as u64),
            range_at(file.e_phoff(endian), size_of_val(&*segments) as u64),
        ];
        let range = |section: &SectionHeader64<Endianness>| {
            section.file_range(endian).map(|(start, size)| range_at(start, size))
        };
        let ranges: Vec<Option<Range<u64>>> = sections.iter().map(range).collect();
        let places = Places::new(endian, &sections, &segments, &tables);
        Some(ElfHeaders {
            view,
            endian,
            file,
            ranges,
            sections,
            segments,
            tables,
            places,
            symbols: None,
            symbol_sizes: Vec::new(),
            moves: Vec::new(),
            is_changed: false,
        })
    }

    /// Returns whether this is an object file. Nothing in an object file has an address.
    pub fn is_relocatable(&self) -> bool {
        self.file.e_type(self.endian) == ET_REL
    }

    /// Returns the ranges that all sections with bytes in the file had before any change, with their indices.
    pub fn sections(&self) -> impl Iterator<Item = (usize, Range<u64>)> {
        self.ranges.iter().cloned().enumerate().filter_map(|(index, range)| Some((index, range?)))
    }

    /// Moves a section to another range within its old bytes.
    pub fn set_place(&mut self, index: usize, place: Range<u64>) {
        let endian = self.endian;
        let Some(section) = self.sections.get_mut(index) else { return };
        let moved = size_of_range(&(section.sh_offset(endian)..place.start));
        // Sections that are not loaded have no address.
        if section.sh_addr(endian) != 0 {
            section.sh_addr.set(endian, section.sh_addr(endian).wrapping_add(moved));
        }
        section.sh_offset.set(endian, place.start);
        section.sh_size.set(endian, size_of_range(&place));
        self.is_changed = true;
    }

    /// Cuts bytes from the end of a section: at most the bytes in `free`. Returns the range that is cut.
    pub fn cut(&mut self, section: usize, free: Range<u64>) -> Result<Range<u64>, KeepsSize> {
        let endian = self.endian;
        for segment in &self.segments {
            let range = segment_range(segment, endian);
            let is_around = range.start < free.end && free.start < range.end;
            if is_around && range.end > free.end {
                return Err(KeepsSize::Segment);
            }
            if is_around && segment.p_memsz(endian) != segment.p_filesz(endian) {
                return Err(KeepsSize::Memory);
            }
        }
        let alignment = self.places.alignment_behind(free.end).ok_or(KeepsSize::Alignment)?;
        let size = size_of_range(&free) & !alignment.wrapping_sub(1);
        if size == 0 {
            return Err(KeepsSize::Alignment);
        }
        let cut = free.end.checked_sub(size).ok_or(KeepsSize::Alignment)?..free.end;
        for segment in &mut self.segments {
            let range = segment_range(segment, endian);
            if range.start < cut.start && range.end > cut.start {
                // The segment ends where the free bytes end, or in front of that.
                let smaller = size_of_range(&(range.start..range.end.min(cut.start)));
                segment.p_filesz.set(endian, smaller);
                segment.p_memsz.set(endian, smaller);
            }
        }
        self.moves.push((free.end, 0_i64.checked_sub_unsigned(size).ok_or(KeepsSize::Alignment)?));
        if let Some(header) = self.sections.get_mut(section) {
            let own = size_of_range(&(header.sh_offset(endian)..free.start));
            header.sh_size.set(endian, own.min(header.sh_size(endian)));
        }
        let end = free.start;
        self.end_symbols(section, |own| if own > end && own <= free.end { end } else { own });
        self.is_changed = true;
        Ok(cut)
    }

    /// Makes a section of an object end at another offset, at or after its end, and returns the number of bytes that
    /// are inserted where the section and the padding after it have ended.
    pub fn grow(&mut self, section: usize, new_end: u64) -> Option<u64> {
        if !self.is_relocatable() {
            return None;
        }
        let range = self.ranges.get(section)?.clone()?;
        let next = self.next_used(range.end);
        let missing = size_of_range(&(next..new_end));
        let inserted = missing.checked_next_multiple_of(self.places.alignment_behind(next)?)?;
        let header = self.sections.get_mut(section)?;
        header.sh_size.set(self.endian, new_end.checked_sub(range.start)?);
        self.moves.push((next, i64::try_from(inserted).ok()?));
        self.end_symbols(section, |end| if end == range.end { new_end } else { end });
        self.is_changed = true;
        Some(inserted)
    }

    /// Returns the offset of the first byte of a section or table at or after an offset.
    pub fn next_used(&self, end: u64) -> u64 {
        self.places.next_used(end).unwrap_or(self.view.size())
    }

    /// Returns the section around a range, with its own before any change.
    pub fn section_around(&self, range: &Range<u64>) -> Option<(usize, Range<u64>)> {
        self.places.sections.around(range)
    }

    /// Gives symbols of a section new ends. All are offsets in the file before any change.
    fn end_symbols(&mut self, section: usize, new_end: impl Fn(u64) -> u64) {
        let endian = self.endian;
        let Some((header, Some(range))) = self.sections.get(section).zip(self.ranges.get(section)) else { return };
        // Values in objects count from the start of the section.
        let origin = range.start.wrapping_sub(header.sh_addr(endian));
        let symbols = self.symbols.get_or_insert_with(|| sized_symbols(self.view, endian, &self.sections));
        for symbol in symbols.get(&section).into_iter().flatten() {
            let start = symbol.value.wrapping_add(origin);
            let end = offset_from(start, symbol.size);
            let new_end = new_end(end);
            if range.contains(&start) && new_end != end {
                let size = U64::new(endian, size_of_range(&(start..new_end)));
                self.symbol_sizes.extend(patch(symbol.size_at, object::pod::bytes_of(&size)));
            }
        }
    }

    /// Returns the patches of the headers that changed.
    pub fn patches(mut self) -> Vec<Patch<'data>> {
        if !self.is_changed {
            return Vec::new();
        }
        let endian = self.endian;
        let moves = Moves::new(std::mem::take(&mut self.moves));
        let offsets: Vec<u64> = self.sections.iter().map(|section| moves.of(section.sh_offset(endian))).collect();
        for (section, offset) in self.sections.iter_mut().zip(offsets) {
            section.sh_offset.set(endian, offset);
        }
        let offsets: Vec<u64> = self.segments.iter().map(|segment| moves.of(segment.p_offset(endian))).collect();
        for (segment, offset) in self.segments.iter_mut().zip(offsets) {
            segment.p_offset.set(endian, offset);
        }
        let tables = [self.file.e_shoff(endian), self.file.e_phoff(endian)].map(|offset| moves.of(offset));
        let [sections, segments] = tables;
        self.file.e_shoff.set(endian, sections);
        self.file.e_phoff.set(endian, segments);
        let [sections, segments] = self.tables.map(|range| range.start);
        let mut patches = self.symbol_sizes;
        patches.extend(patch(0, object::pod::bytes_of(&self.file)));
        patches.extend(patch(sections, object::pod::bytes_of_slice(&self.sections)));
        patches.extend(patch(segments, object::pod::bytes_of_slice(&self.segments)));
        patches
    }
}

fn segment_range(segment: &ProgramHeader64<Endianness>, endian: Endianness) -> Range<u64> {
    let (start, size) = segment.file_range(endian);
    range_at(start, size)
}

fn patch<'data>(at: u64, bytes: &[u8]) -> Option<Patch<'data>> {
    if bytes.is_empty() {
        return None;
    }
    Patch::in_place(at..at.checked_add(bytes.len() as u64)?, Content::from(bytes.to_vec()))
}
