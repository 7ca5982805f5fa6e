//! The headers of a 64-bit ELF file, which change when sections lose bytes: places of sections and segments, and sizes of
//! symbols.

use std::ops::Range;

use object::elf::{
    ET_REL, FileHeader64, PT_LOAD, ProgramHeader64, SHT_DYNSYM, SHT_NOBITS, SHT_SYMTAB, SectionHeader64, Sym64,
};
use object::endian::{Endianness, U64};
use object::read::elf::{FileHeader, ProgramHeader, SectionHeader, Sym};

use super::KeepsSize;
use super::patch::Patch;
use crate::bytes::{View, size_of_range};
use crate::content::Content;

/// Headers of a file, changed in memory.
pub struct ElfHeaders<'data> {
    view: View<'data>,
    endian: Endianness,
    file: FileHeader64<Endianness>,
    /// Ranges of the sections before any change.
    ranges: Vec<Option<Range<u64>>>,
    /// The tables, and their places before any change.
    sections: Vec<SectionHeader64<Endianness>>,
    segments: Vec<ProgramHeader64<Endianness>>,
    tables: [Range<u64>; 2],
    symbol_sizes: Vec<Patch<'data>>,
    is_changed: bool,
}

impl<'data> ElfHeaders<'data> {
    /// Reads the headers; `None` for other files.
    pub fn read(view: View<'data>) -> Option<Self> {
        let file = *FileHeader64::<Endianness>::parse(view.data()).ok()?;
        let endian = file.endian().ok()?;
        let sections = file.section_headers(endian, view.data()).ok()?.to_vec();
        let segments = file.program_headers(endian, view.data()).ok()?.to_vec();
        let table = |start: u64, size: usize| start..start.saturating_add(size as u64);
        let tables = [
            table(file.e_shoff(endian), size_of_val(&*sections)),
            table(file.e_phoff(endian), size_of_val(&*segments)),
        ];
        let range = |section: &SectionHeader64<Endianness>| {
            section.file_range(endian).map(|(start, size)| start..start.saturating_add(size))
        };
        let ranges = sections.iter().map(range).collect();
        let (symbol_sizes, is_changed) = (Vec::new(), false);
        Some(ElfHeaders { view, endian, file, ranges, sections, segments, tables, symbol_sizes, is_changed })
    }

    /// Returns whether this is an object, in which nothing has an address.
    pub fn is_relocatable(&self) -> bool {
        self.file.e_type(self.endian) == ET_REL
    }

    /// Returns the ranges that all sections with bytes in the file had before any change, with their indices.
    pub fn sections(&self) -> impl Iterator<Item = (usize, Range<u64>)> {
        self.ranges.iter().cloned().enumerate().filter_map(|(index, range)| Some((index, range?)))
    }

    /// Gives a section another place in the bytes that it had.
    pub fn set_place(&mut self, index: usize, place: Range<u64>) {
        let endian = self.endian;
        let Some(section) = self.sections.get_mut(index) else { return };
        let moved = place.start.saturating_sub(section.sh_offset(endian));
        // Sections that are not loaded have no address.
        if section.sh_addr(endian) != 0 {
            section.sh_addr.set(endian, section.sh_addr(endian).saturating_add(moved));
        }
        section.sh_offset.set(endian, place.start);
        section.sh_size.set(endian, size_of_range(&place));
        self.is_changed = true;
    }

    /// Cuts bytes out of the file, which are the end of a section or follow its last byte: at most those in `free`. Returns the
    /// range that is cut.
    pub fn cut(&mut self, section: usize, free: Range<u64>) -> Result<Range<u64>, KeepsSize> {
        let endian = self.endian;
        let mut alignment = size_of::<U64<Endianness>>() as u64;
        for (other, header) in self.sections.iter().enumerate() {
            let has_bytes = header.sh_type(endian) != SHT_NOBITS;
            if other != section && has_bytes && header.sh_offset(endian) >= free.end {
                alignment = alignment.max(header.sh_addralign(endian));
            }
        }
        for segment in &self.segments {
            let range = segment_range(segment, endian);
            if range.start >= free.end && segment.p_type(endian) == PT_LOAD {
                alignment = alignment.max(segment.p_align(endian));
            }
            let is_around = range.start < free.end && free.start < range.end;
            if is_around && range.end > free.end {
                return Err(KeepsSize::Segment);
            }
            if is_around && segment.p_memsz(endian) != segment.p_filesz(endian) {
                return Err(KeepsSize::Memory);
            }
        }
        let alignment = if alignment.is_power_of_two() { alignment } else { return Err(KeepsSize::Alignment) };
        let size = size_of_range(&free) & !alignment.wrapping_sub(1);
        if size == 0 {
            return Err(KeepsSize::Alignment);
        }
        let cut = free.end.saturating_sub(size)..free.end;
        self.move_after(&cut);
        if let Some(header) = self.sections.get_mut(section) {
            let size = free.start.saturating_sub(header.sh_offset(endian));
            header.sh_size.set(endian, size.min(header.sh_size(endian)));
        }
        self.clamp_symbols(section, free.start);
        Ok(cut)
    }

    /// Moves everything behind a range to the start of the range.
    fn move_after(&mut self, cut: &Range<u64>) {
        let (endian, size) = (self.endian, size_of_range(cut));
        let moved = |offset: u64| if offset >= cut.end { offset.saturating_sub(size) } else { offset };
        for section in &mut self.sections {
            section.sh_offset.set(endian, moved(section.sh_offset(endian)));
        }
        for segment in &mut self.segments {
            let range = segment_range(segment, endian);
            if range.start < cut.start && range.end > cut.start {
                let smaller = size_of_range(&range).saturating_sub(size);
                segment.p_filesz.set(endian, smaller);
                segment.p_memsz.set(endian, smaller);
            }
            segment.p_offset.set(endian, moved(range.start));
        }
        self.file.e_shoff.set(endian, moved(self.file.e_shoff(endian)));
        self.file.e_phoff.set(endian, moved(self.file.e_phoff(endian)));
        self.is_changed = true;
    }

    /// Makes symbols end where their section ends.
    fn clamp_symbols(&mut self, section: usize, end: u64) {
        let endian = self.endian;
        let Some(header) = self.sections.get(section) else { return };
        let (address, size) = (header.sh_addr(endian), end.saturating_sub(header.sh_offset(endian)));
        let is_table = |it: &&SectionHeader64<Endianness>| [SHT_SYMTAB, SHT_DYNSYM].contains(&it.sh_type(endian));
        // Patches are at the offsets before the change.
        let original = FileHeader64::<Endianness>::parse(self.view.data()).ok();
        let original = original.and_then(|file| file.section_headers(endian, self.view.data()).ok());
        for table in original.unwrap_or_default().iter().filter(is_table) {
            let symbols: &[Sym64<Endianness>] = table.data_as_array(endian, self.view.data()).unwrap_or_default();
            for (index, symbol) in symbols.iter().enumerate() {
                let value = symbol.st_value(endian).wrapping_sub(address);
                let is_beyond = value < size && value.saturating_add(symbol.st_size(endian)) > size;
                if usize::from(symbol.st_shndx(endian).0) == section && is_beyond {
                    let at = table.sh_offset(endian).saturating_add((index as u64).saturating_mul(SYMBOL));
                    let new_size = U64::new(endian, size.saturating_sub(value));
                    self.symbol_sizes.extend(patch(at.saturating_add(SYMBOL_SIZE), object::pod::bytes_of(&new_size)));
                }
            }
        }
    }

    /// Returns the patches of the headers that changed.
    pub fn patches(self) -> Vec<Patch<'data>> {
        if !self.is_changed {
            return Vec::new();
        }
        let [sections, segments] = self.tables.map(|range| range.start);
        let mut patches = self.symbol_sizes;
        patches.extend(patch(0, object::pod::bytes_of(&self.file)));
        patches.extend(patch(sections, object::pod::bytes_of_slice(&self.sections)));
        patches.extend(patch(segments, object::pod::bytes_of_slice(&self.segments)));
        patches
    }
}

/// Size of a symbol, and offset of its size.
const SYMBOL: u64 = 24;
const SYMBOL_SIZE: u64 = 16;

fn segment_range(segment: &ProgramHeader64<Endianness>, endian: Endianness) -> Range<u64> {
    let (start, size) = segment.file_range(endian);
    start..start.saturating_add(size)
}

fn patch<'data>(at: u64, bytes: &[u8]) -> Option<Patch<'data>> {
    if bytes.is_empty() {
        return None;
    }
    Patch::in_place(at..at.checked_add(bytes.len() as u64)?, Content::from(bytes.to_vec()))
}
