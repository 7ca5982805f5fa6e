//! COFF, with 16-bit and with 32-bit section numbers (`/bigobj`).
//!
//! The section table follows the file header, and everything else follows the section table, at offsets without
//! required alignment. So adding sections moves everything after the table. Removing sections cuts out the headers at
//! the end of the section table, the sections' bytes, and their names at the end of the string table.

use std::cmp::Reverse;
use std::ops::Range;

use super::{NewSection, broken, bytes_in, set};
use crate::base::bytes::{Extent, Resource, View, entries_size, size_of_range, text_work};
use crate::base::content::Content;
use crate::base::error::Malformed;
use crate::base::range::{Cursor, offset_from, range_at};

/// Offsets of fields in the file header (PE Format, COFF File Header; winnt.h, ANON_OBJECT_HEADER_BIGOBJ).
pub struct CoffLayout {
    header_size: u64,
    /// Size of an optional header, which only images have.
    optional_size: Option<u64>,
    section_count: u64,
    section_count_width: u64,
    symbols: u64,
    symbol_count: u64,
    symbol_size: u64,
}

pub static SMALL: CoffLayout = CoffLayout {
    header_size: 20,
    optional_size: Some(16),
    section_count: 2,
    section_count_width: 2,
    symbols: 8,
    symbol_count: 12,
    symbol_size: 18,
};

pub static BIG: CoffLayout = CoffLayout {
    header_size: 56,
    optional_size: None,
    section_count: 44,
    section_count_width: 4,
    symbols: 48,
    symbol_count: 52,
    symbol_size: 20,
};

/// Size of a section header, and offsets of its fields. A name of more than eight bytes is stored in the string table,
/// and the field holds `/` and a decimal offset of at most seven digits.
const SECTION_HEADER_SIZE: u64 = 40;
const NAME_SIZE: usize = 8;
const RAW_SIZE: u64 = 16;
const RAW_POINTER: u64 = 20;
/// Offsets of the pointers to bytes, relocations and line numbers.
const POINTERS: [u64; 3] = [RAW_POINTER, 24, 28];
const CHARACTERISTICS: u64 = 36;

/// Size of a field with an offset or a size.
const WORD: u64 = 4;

/// Characteristics `IMAGE_SCN_LNK_REMOVE` and `IMAGE_SCN_MEM_READ`, as llvm-objcopy sets them for `readonly,exclude`.
const REMOVED_BY_LINKERS: u32 = 0x800 | 0x4000_0000;

/// Size of the field at the start of the string table, which holds the table's size.
const STRINGS_HEADER_SIZE: u64 = 4;

/// Largest section number; larger values have other meanings (`IMAGE_SYM_SECTION_MAX`).
const MOST_SECTIONS: u64 = 0xfeff;

/// A section by its header.
struct CoffSection<'data> {
    /// Bytes from the section header to the end of the section table.
    header: View<'data>,
    /// Name; for an invalid reference to the string table, the reference.
    name: &'data [u8],
    /// Range of the name with its NUL, if it is in the string table.
    name_range: Option<Range<u64>>,
}

struct Coff<'data> {
    layout: &'static CoffLayout,
    file: View<'data>,
    /// Section headers.
    table: View<'data>,
    count: u64,
    /// Offset of the symbols; 0 without symbols.
    symbols: u64,
    /// String table with its size field; empty and at the end of the file without one.
    strings: View<'data>,
}

impl<'data> Coff<'data> {
    fn read(file: View<'data>, layout: &'static CoffLayout) -> Result<Self, Malformed> {
        let word = |at| file.u32("COFF header", at).map(u64::from);
        let optional = layout.optional_size.map_or(Ok(0), |at| file.u16("COFF header", at))?;
        let table = offset_from(layout.header_size, optional.into());
        let count = match layout.section_count_width {
            2 => file.u16("COFF number of sections", layout.section_count)?.into(),
            _ => word(layout.section_count)?,
        };
        let table = file.part(
            file.field("COFF number of sections", layout.section_count),
            Extent { offset: table, size: headers_size(count) },
        )?;
        let symbols = word(layout.symbols)?;
        let symbol_count = word(layout.symbol_count)?;
        let mut strings = file.from(file.size());
        if symbols == 0 && symbol_count > 0 {
            return Err(broken(file, "has symbols without an offset"));
        }
        if symbols != 0 {
            if symbols < table.range_in(file).end {
                return Err(broken(file, "has symbols that overlap its section table"));
            }
            let size = entries_size(symbol_count, layout.symbol_size);
            let start = file
                .part(file.field("COFF symbol table", layout.symbols), Extent { offset: symbols, size })?
                .range_in(file)
                .end;
            let size = word(start)?.max(STRINGS_HEADER_SIZE);
            strings = file.record("COFF string table size", Extent { offset: start, size })?;
        }
        Ok(Coff { layout, file, table, count, symbols, strings })
    }

    fn sections(&self) -> Result<Vec<CoffSection<'data>>, Malformed> {
        (0..self.count).map(|section| self.section(self.table.from(headers_size(section)))).collect()
    }

    fn section(&self, header: View<'data>) -> Result<CoffSection<'data>, Malformed> {
        let short = header.data().get(..NAME_SIZE).unwrap_or_default();
        let short = short.split(|&byte| byte == 0).next().unwrap_or_default();
        let offset = short.strip_prefix(b"/").and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
        let Some(start) = offset else { return Ok(CoffSection { header, name: short, name_range: None }) };
        let with_nul = self.strings.from(start).data().split_inclusive(|&byte| byte == 0).next().unwrap_or_default();
        // Any number of sections may share a name of any length.
        header.charge("COFF section name", Resource::Work, text_work(with_nul.len()))?;
        let name_range = range_at(start, with_nul.len() as u64);
        Ok(match with_nul.strip_suffix(&[0]) {
            Some(name) => CoffSection { header, name, name_range: Some(name_range) },
            None => CoffSection { header, name: short, name_range: None },
        })
    }

    fn content(&self, header: View<'data>) -> Result<Range<u64>, Malformed> {
        let offset = header.u32("COFF section", RAW_POINTER)?.into();
        let size = header.u32("COFF section", RAW_SIZE)?.into();
        if offset == 0 || size == 0 {
            return Ok(0..0);
        }
        let stated_at = header.from(RAW_POINTER).range_in(self.file).start;
        Ok(self.file.part(self.file.field("COFF section", stated_at), Extent { offset, size })?.range_in(self.file))
    }

    /// Returns everything up to `end`, where a section header ends, with `count` as the number of sections and with
    /// every offset mapped by `place`.
    fn moved(&self, end: u64, count: u64, place: impl Fn(u64) -> u64) -> Result<Vec<u8>, Malformed> {
        let mut front = bytes_in(self.file, 0..end).to_vec();
        let width = self.layout.section_count_width;
        if count > if width == 2 { MOST_SECTIONS } else { u64::from(i32::MAX as u32) } {
            return Err(broken(self.file, "too many sections"));
        }
        set(&mut front, self.layout.section_count, width, count);
        let headers = (self.table.range_in(self.file).start..end).step_by(SECTION_HEADER_SIZE as usize);
        let pointers = headers.flat_map(|header| POINTERS.map(|pointer| offset_from(header, pointer)));
        for at in pointers.chain([self.layout.symbols]) {
            let offset = u64::from(self.file.u32("COFF offset", at)?);
            if offset != 0 {
                set(&mut front, at, WORD, self.offset(place(offset))?);
            }
        }
        Ok(front)
    }

    /// Returns the header of an added section, whose name is at `name` in the string table.
    fn added_header(&self, name: u64, place: Range<u64>) -> Result<Vec<u8>, Malformed> {
        let mut header = format!("/{name}").into_bytes();
        if header.len() > NAME_SIZE {
            return Err(broken(self.file, "string table too large for more section names"));
        }
        header.resize(SECTION_HEADER_SIZE as usize, 0);
        set(&mut header, RAW_SIZE, WORD, self.offset(size_of_range(&place))?);
        set(&mut header, RAW_POINTER, WORD, self.offset(place.start)?);
        set(&mut header, CHARACTERISTICS, WORD, REMOVED_BY_LINKERS.into());
        Ok(header)
    }

    /// Returns an offset or a size, if it fits into a field.
    fn offset(&self, offset: u64) -> Result<u64, Malformed> {
        if offset > u32::MAX.into() { Err(broken(self.file, "too large for a COFF file")) } else { Ok(offset) }
    }

    /// Returns the size of the string table without these names, if they are at its end. Other names stay, because
    /// sections and symbols refer to strings after them.
    fn strings_size_without(&self, mut names: Vec<Range<u64>>) -> u64 {
        names.sort_by_cached_key(|name| Reverse(name.start));
        let mut size = self.strings.size();
        for name in names {
            if name.start >= STRINGS_HEADER_SIZE && name.end == size {
                size = name.start;
            }
        }
        size
    }

    /// Returns the size field of a string table.
    fn strings_header(&self, size: u64) -> Result<Vec<u8>, Malformed> {
        let mut field = vec![0; STRINGS_HEADER_SIZE as usize];
        set(&mut field, 0, STRINGS_HEADER_SIZE, self.offset(size)?);
        Ok(field)
    }
}

fn headers_size(count: u64) -> u64 {
    entries_size(count, SECTION_HEADER_SIZE)
}

/// Returns the object with sections added.
pub fn with_sections<'data>(
    file: View<'data>,
    layout: &'static CoffLayout,
    sections: &[NewSection<'_, 'data>],
) -> Result<Content<'data>, Malformed> {
    let coff = Coff::read(file, layout)?;
    for (number, section) in (1_u64..).zip(coff.sections()?) {
        // An offset beyond the table would refer to an added name.
        if section.name.starts_with(b"/") {
            return Err(broken(file, format!("section {number} has a name outside the string table")));
        }
    }
    let table = coff.table.range_in(file);
    let strings = coff.strings.range_in(file);
    let names: Vec<Vec<u8>> = sections.iter().map(|section| [section.name.as_bytes(), &[0]].concat()).collect();
    let strings_size = coff.strings.size().max(STRINGS_HEADER_SIZE);
    let names_size: usize = names.iter().map(Vec::len).sum();
    let new_strings_size = offset_from(strings_size, names_size as u64);
    // The headers move everything after the section table, and the names everything after the string table.
    let added_count = sections.len() as u64;
    let added_size = headers_size(added_count);
    let growth = [added_size, size_of_range(&(coff.strings.size()..new_strings_size))].iter().sum();
    let place = |offset: u64| offset_from(offset, if offset < strings.end { added_size } else { growth });
    let count = [coff.count, added_count].iter().sum();
    let mut front = coff.moved(table.end, count, place)?;
    if coff.symbols == 0 {
        set(&mut front, layout.symbols, WORD, coff.offset(offset_from(file.size(), added_size))?);
    }

    let mut name_places = Cursor::at(strings_size);
    let mut places = Cursor::at(place(file.size()));
    for (section, name) in sections.iter().zip(&names) {
        let name = name_places.take(name.len() as u64);
        front.extend(coff.added_header(name.start, places.take(section.content.len() as u64))?);
    }
    coff.offset(places.end())?;

    let mut content = Content::from(front);
    content.push(bytes_in(file, table.end..strings.start));
    content.push(coff.strings_header(new_strings_size)?);
    content.push(coff.strings.from(STRINGS_HEADER_SIZE).data());
    content.push(names.concat());
    content.push(file.from(strings.end).data());
    for section in sections {
        content.push(section.content);
    }
    Ok(content)
}

/// Returns the object without the sections whose names begin with `prefix`.
pub fn without_sections<'data>(
    file: View<'data>,
    layout: &'static CoffLayout,
    prefix: &[u8],
) -> Result<Content<'data>, Malformed> {
    let coff = Coff::read(file, layout)?;
    let mut kept = coff.sections()?;
    let mut unwanted = Vec::new();
    while let Some(section) = kept.pop_if(|section| section.name.starts_with(prefix)) {
        unwanted.push(section);
    }
    if kept.iter().any(|section| section.name.starts_with(prefix)) {
        // Symbols refer to sections by number, so only the last sections can be removed.
        return Err(broken(file, "has other sections after those to remove"));
    }
    let Some(first) = unwanted.last() else { return Ok(Content::from(file.data())) };
    let table = first.header.range_in(file);
    let mut cuts = vec![table.clone()];
    let mut names = Vec::new();
    for section in unwanted.into_iter().rev() {
        cuts.push(coff.content(section.header)?);
        names.extend(section.name_range);
    }
    let strings_size = coff.strings_size_without(names);
    cuts.push(coff.strings.from(strings_size).range_in(file));
    cuts.retain(|cut| !cut.is_empty());
    cuts.sort_by_cached_key(|cut| cut.start);
    if !cuts.is_sorted_by(|cut, next| cut.end <= next.start) {
        return Err(broken(file, "has overlapping sections"));
    }

    // Each offset is compared with each cut.
    let steps = entries_size(kept.len() as u64, cuts.len() as u64);
    file.charge("COFF section table", Resource::Work, steps)?;
    let cut_before =
        |offset: u64| cuts.iter().map(move |cut| size_of_range(&(cut.start.min(offset)..cut.end.min(offset))));
    let place = |offset: u64| cut_before(offset).fold(offset, u64::saturating_sub);
    let mut content = Content::from(coff.moved(table.start, kept.len() as u64, place)?);
    let mut end = table.end;
    // The string table's size field is replaced, so it is cut out as well.
    let strings = coff.strings.range_in(file).start;
    let field = (range_at(strings, STRINGS_HEADER_SIZE), coff.strings_header(strings_size)?);
    let cuts = cuts.iter().filter(|cut| **cut != table).map(|cut| (cut.clone(), Vec::new()));
    let mut cuts: Vec<(Range<u64>, Vec<u8>)> = cuts.chain((coff.symbols != 0).then_some(field)).collect();
    cuts.sort_by_cached_key(|(cut, _)| cut.start);
    for (cut, instead) in cuts {
        if cut.start < end {
            return Err(broken(file, "has overlapping sections"));
        }
        content.push(bytes_in(file, end..cut.start));
        content.push(instead);
        end = cut.end;
    }
    content.push(file.from(end).data());
    Ok(content)
}
