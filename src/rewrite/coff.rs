//! COFF, with 16-bit and with 32-bit section numbers (`/bigobj`).
//!
//! The section table follows the file header, and everything else follows the section table, at offsets without required
//! alignment. So adding sections moves everything after the table, and removing them cuts: the headers at the end of the
//! section table, the sections' bytes wherever they are, and their names at the end of the string table.

use std::ops::Range;

use super::{NewSection, broken};
use crate::bytes::View;
use crate::content::Content;
use crate::error::Malformed;

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

/// Size of a section header, and offsets of its fields. A name of more than eight bytes is stored in the string table, and the
/// field holds `/` and a decimal offset of at most seven digits.
const SECTION_HEADER_SIZE: u64 = 40;
const NAME_SIZE: usize = 8;
const RAW_SIZE: u64 = 16;
const RAW_POINTER: u64 = 20;
/// Offsets of the pointers to bytes, relocations and line numbers.
const POINTERS: [u64; 3] = [RAW_POINTER, 24, 28];
const CHARACTERISTICS: u64 = 36;

/// Characteristics `IMAGE_SCN_LNK_REMOVE` and `IMAGE_SCN_MEM_READ`, as llvm-objcopy sets them for `readonly,exclude`.
const REMOVED_BY_LINKERS: u32 = 0x800 | 0x4000_0000;

/// Size of the field at the start of the string table, which holds the table's size.
const STRINGS_HEADER_SIZE: u64 = 4;

/// Largest section number; larger values have other meanings (`IMAGE_SYM_SECTION_MAX`).
const MOST_SECTIONS: u64 = 0xfeff;

struct Coff<'data> {
    layout: &'static CoffLayout,
    file: View<'data>,
    count: u64,
    /// Offset of the section table.
    table: u64,
    /// Offset of the symbols; 0 without symbols.
    symbols: u64,
    /// Range of the string table with its size field; empty and at the end of the file without one.
    strings: Range<u64>,
}

impl<'data> Coff<'data> {
    fn read(file: View<'data>, layout: &'static CoffLayout) -> Result<Self, Malformed> {
        let word = |at| file.u32("COFF header", at).map(u64::from);
        let optional = layout.optional_size.map_or(Ok(0), |at| file.u16("COFF header", at))?;
        let table = layout.header_size + u64::from(optional);
        let count = match layout.section_count_width {
            2 => file.u16("COFF number of sections", layout.section_count)?.into(),
            _ => word(layout.section_count)?,
        };
        file.part("COFF number of sections", layout.section_count, table, count * SECTION_HEADER_SIZE)?;
        let symbols = word(layout.symbols)?;
        let mut strings = file.size()..file.size();
        if symbols == 0 && word(layout.symbol_count)? > 0 {
            return Err(broken(file, "has symbols without an offset"));
        }
        if symbols != 0 {
            if symbols < table + count * SECTION_HEADER_SIZE {
                return Err(broken(file, "has symbols that overlap its section table"));
            }
            let size = word(layout.symbol_count)? * layout.symbol_size;
            file.part("COFF symbol table", layout.symbols, symbols, size)?;
            let start = symbols + size;
            let size = word(start)?;
            file.part("COFF string table size", start, start, size)?;
            strings = start..start + size.max(STRINGS_HEADER_SIZE);
        }
        Ok(Coff { layout, file, count, table, symbols, strings })
    }

    fn header(&self, section: u64) -> View<'data> {
        let at = self.table + section * SECTION_HEADER_SIZE;
        self.file.part("COFF section header", at, at, SECTION_HEADER_SIZE).expect("the table is there")
    }

    /// Returns the name of a section and, if it is in the string table, its range in the file with its NUL. For an invalid
    /// reference to the string table it returns the reference.
    fn name(&self, section: u64) -> (&'data [u8], Option<Range<u64>>) {
        let short = &self.header(section).data()[..NAME_SIZE];
        let short = short.split(|&byte| byte == 0).next().unwrap_or_default();
        let offset = short.strip_prefix(b"/").and_then(|digits| std::str::from_utf8(digits).ok()?.parse::<u64>().ok());
        let Some(start) = offset.map(|offset| self.strings.start + offset) else { return (short, None) };
        let rest = self.bytes(start.min(self.strings.end)..self.strings.end);
        match rest.iter().position(|&byte| byte == 0) {
            Some(size) => (&rest[..size], Some(start..start + size as u64 + 1)),
            None => (short, None),
        }
    }

    /// Returns the range of a section's bytes in the file.
    fn content(&self, section: u64) -> Result<Range<u64>, Malformed> {
        let header = self.header(section);
        let (offset, size) =
            (header.u32("COFF section", RAW_POINTER)?.into(), header.u32("COFF section", RAW_SIZE)?.into());
        if offset == 0 || size == 0 {
            return Ok(0..0);
        }
        let stated_at = header.start() - self.file.start() + RAW_POINTER;
        self.file.part("COFF section", stated_at, offset, size).map(|_| offset..offset + size)
    }

    /// Returns everything up to the end of the first `count` section headers, with every offset mapped by `place`.
    fn moved(&self, count: u64, new_count: u64, place: impl Fn(u64) -> u64) -> Result<Vec<u8>, Malformed> {
        let end = self.table + count * SECTION_HEADER_SIZE;
        let mut front = self.file.data()[..end as usize].to_vec();
        let width = self.layout.section_count_width as usize;
        if new_count > if width == 2 { MOST_SECTIONS } else { u64::from(i32::MAX as u32) } {
            return Err(broken(self.file, "too many sections"));
        }
        put(&mut front, self.layout.section_count, &new_count.to_le_bytes()[..width]);
        let sections = (0..count).map(|section| self.table + section * SECTION_HEADER_SIZE);
        let pointers = sections.flat_map(|header| POINTERS.map(|pointer| header + pointer));
        for at in pointers.chain([self.layout.symbols]) {
            let offset = u64::from(self.file.u32("COFF offset", at)?);
            if offset != 0 {
                put(&mut front, at, &self.offset(place(offset))?.to_le_bytes());
            }
        }
        Ok(front)
    }

    fn offset(&self, offset: u64) -> Result<u32, Malformed> {
        u32::try_from(offset).map_err(|_| broken(self.file, "too large for a COFF file"))
    }

    fn bytes(&self, range: Range<u64>) -> &'data [u8] {
        &self.file.data()[range.start as usize..range.end as usize]
    }
}

fn put(bytes: &mut [u8], at: u64, value: &[u8]) {
    bytes[at as usize..at as usize + value.len()].copy_from_slice(value);
}

/// Returns the object with sections added.
pub fn with_sections<'data>(
    file: View<'data>,
    layout: &'static CoffLayout,
    sections: &[NewSection<'_, 'data>],
) -> Result<Content<'data>, Malformed> {
    let coff = Coff::read(file, layout)?;
    for section in 0..coff.count {
        // An offset beyond the table would refer to an added name.
        if coff.name(section).0.starts_with(b"/") {
            return Err(broken(file, format!("section {} has a name outside the string table", section + 1)));
        }
    }
    let strings_size = (coff.strings.end - coff.strings.start).max(STRINGS_HEADER_SIZE);
    let names: Vec<u8> = sections.iter().flat_map(|section| section.name.bytes().chain([0])).collect();
    let headers_size = sections.len() as u64 * SECTION_HEADER_SIZE;
    let table_end = coff.table + coff.count * SECTION_HEADER_SIZE;
    let new_strings = if coff.symbols == 0 { STRINGS_HEADER_SIZE } else { 0 };
    let after_names = headers_size + new_strings + names.len() as u64;
    let place = |offset: u64| offset + if offset < coff.strings.end { headers_size } else { after_names };
    let mut front = coff.moved(coff.count, coff.count + sections.len() as u64, place)?;
    if coff.symbols == 0 {
        put(&mut front, layout.symbols, &coff.offset(file.size() + headers_size)?.to_le_bytes());
    }

    let (mut name, mut offset) = (strings_size, file.size() + after_names);
    for section in sections {
        let mut header = [0; SECTION_HEADER_SIZE as usize];
        let text = format!("/{name}");
        if text.len() > NAME_SIZE {
            return Err(broken(file, "string table too large for more section names"));
        }
        put(&mut header, 0, text.as_bytes());
        let size = section.content.len() as u64;
        put(&mut header, RAW_SIZE, &coff.offset(size)?.to_le_bytes());
        put(&mut header, RAW_POINTER, &coff.offset(offset)?.to_le_bytes());
        put(&mut header, CHARACTERISTICS, &REMOVED_BY_LINKERS.to_le_bytes());
        front.extend(header);
        name += section.name.len() as u64 + 1;
        offset += size;
    }
    coff.offset(offset)?;

    let mut content = Content::from(front);
    content.push(coff.bytes(table_end..coff.strings.start));
    content.push(coff.offset(strings_size + names.len() as u64)?.to_le_bytes().to_vec());
    content.push(coff.bytes(coff.strings.end.min(coff.strings.start + STRINGS_HEADER_SIZE)..coff.strings.end));
    content.push(names);
    content.push(coff.bytes(coff.strings.end..file.size()));
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
    let unwanted = |section: &u64| coff.name(*section).0.starts_with(prefix);
    let count = coff.count - (0..coff.count).rev().take_while(unwanted).count() as u64;
    if (0..count).any(|section| unwanted(&section)) {
        // Symbols refer to sections by number, so only the last sections can be removed.
        return Err(broken(file, "has other sections after those to remove"));
    }
    if count == coff.count {
        return Ok(Content::from(file.data()));
    }
    let table = coff.table + count * SECTION_HEADER_SIZE..coff.table + coff.count * SECTION_HEADER_SIZE;
    let mut cuts = vec![table.clone()];
    let mut names = Vec::new();
    for section in count..coff.count {
        cuts.push(coff.content(section)?);
        names.extend(coff.name(section).1);
    }
    // Names at the end of the string table are removed; others stay, because strings after them are referred to.
    names.sort_by_key(|name| std::cmp::Reverse(name.start));
    let mut strings_end = coff.strings.end;
    for name in names.into_iter().filter(|name| name.start >= coff.strings.start + STRINGS_HEADER_SIZE) {
        if name.end == strings_end {
            strings_end = name.start;
        }
    }
    cuts.push(strings_end..coff.strings.end);
    cuts.retain(|cut| !cut.is_empty());
    cuts.sort_by_key(|cut| cut.start);
    if cuts.windows(2).any(|pair| pair[0].end > pair[1].start) {
        return Err(broken(file, "has overlapping sections"));
    }

    let place = |offset: u64| offset - cuts.iter().map(|cut| cut.end.min(offset) - cut.start.min(offset)).sum::<u64>();
    let mut content = Content::from(coff.moved(count, count, place)?);
    let mut end = table.end;
    let strings_size = coff.offset(strings_end - coff.strings.start)?.to_le_bytes().to_vec();
    // The string table's size field is replaced, so it is cut out as well.
    let field = (coff.strings.start..coff.strings.start + STRINGS_HEADER_SIZE, strings_size);
    let cuts = cuts.iter().filter(|cut| **cut != table).map(|cut| (cut.clone(), Vec::new()));
    let mut cuts: Vec<(Range<u64>, Vec<u8>)> = cuts.chain((coff.symbols != 0).then_some(field)).collect();
    cuts.sort_by_key(|(cut, _)| cut.start);
    for (cut, instead) in cuts {
        if cut.start < end {
            return Err(broken(file, "has overlapping sections"));
        }
        content.push(coff.bytes(end..cut.start));
        content.push(instead);
        end = cut.end;
    }
    content.push(coff.bytes(end..file.size()));
    Ok(content)
}
