//! Removing sections from an ELF file.
//!
//! If [`super::with_sections`] added the sections, the result is the original file, byte for byte. Otherwise a new file
//! is built from the remaining sections. They keep their indices, because other sections and symbols refer to them by
//! index.

use std::collections::BTreeMap;

use aho_corasick::AhoCorasick;
use object::elf;

use super::{Elf, INDEX_ELSEWHERE, MOST_IN_HEADER};
use crate::base::bytes::{Extent, Resource, View, size_of_range};
use crate::base::content::Content;
use crate::base::elf_layout::ElfLayout;
use crate::base::error::Malformed;
use crate::base::range::{Cursor, offset_from, range_at};
use crate::host::rewrite::{broken, bytes_in};

/// Returns the object without the sections whose names `is_unwanted` selects.
pub fn without_sections<'data>(
    file: View<'data>,
    layout: &'static ElfLayout,
    is_unwanted: &dyn Fn(&[u8]) -> bool,
) -> Result<Content<'data>, Malformed> {
    let elf = Elf::read(file, layout)?;
    let mut unwanted = Vec::new();
    for section in 1..elf.count {
        if is_unwanted(elf.name(section)?) {
            unwanted.push(section);
        }
    }
    if unwanted.is_empty() {
        return Ok(Content::from(file.data()));
    }
    if unwanted.contains(&elf.names_index) {
        return Err(broken(file, "has its section names in a section to remove"));
    }
    match elf.original(&unwanted)? {
        Some(original) => Ok(original),
        None => elf.rebuilt(&unwanted),
    }
}

/// Sections that [`super::with_sections`] added to a file.
struct Added {
    /// Number of sections before.
    count: u64,
    /// Offset of the added sections in the file.
    start: u64,
    /// Size of the section names before, in bytes.
    names_size: u64,
}

impl<'data> Elf<'data> {
    /// Returns the file before [`super::with_sections`], byte for byte; `None` if another tool added the sections.
    fn original(&self, unwanted: &[u64]) -> Result<Option<Content<'data>>, Malformed> {
        let Some(added) = self.added(unwanted)? else { return Ok(None) };
        let others = (1..added.count).filter(|&section| section != self.names_index);
        let others_end = self.end_of(others)?;
        if self.has_segments()? || others_end > added.start {
            return Ok(None);
        }
        for place in self.old_table_offsets(others_end, &added) {
            if self.has_original_tables(&added, place)? {
                let mut content = Content::from(self.header_for(place, added.count));
                content.push(self.after_header(added.start));
                return Ok(Some(content));
            }
        }
        // Otherwise the tables were replaced, and began where the added sections begin.
        if self.table.range_in(self.file).end != self.file.size() {
            return Ok(None);
        }
        let mut body = Content::from(self.after_header(added.start));
        body.push(bytes_in(self.names, 0..added.names_size));
        let names = range_at(added.start, added.names_size);
        self.assemble(body, added.count, self.headers_with_names(added.count, names)).map(Some)
    }

    /// Returns possible offsets of an unused section table: some assemblers write it after the file header, and other
    /// unused bytes follow the original sections.
    fn old_table_offsets(&self, others_end: u64, added: &Added) -> Vec<u64> {
        // An entry that identifies the table. The entries of the names and of section 0 may have changed.
        let known = if self.names_index == 1 { 2 } else { 1 };
        if known >= added.count {
            return Vec::new();
        }
        let unused = bytes_in(self.file, others_end..added.start);
        let searcher = AhoCorasick::new([self.header(known)]).expect("one short text");
        let entries = searcher.find_iter(unused).map(|entry| offset_from(others_end, entry.start() as u64));
        let tables = entries.filter_map(|at| at.checked_sub(self.offset_in_table(known, 0)));
        let size = self.offset_in_table(added.count, 0);
        let fits = |place: &u64| *place >= self.layout.header_size && range_at(*place, size).end <= added.start;
        tables.chain([self.layout.header_size]).filter(fits).collect()
    }

    /// Returns the added sections if their layout matches [`super::with_sections`]. They must be last in the table,
    /// back to back in the file, and followed by the section names. Those end with the added names, which nothing else
    /// uses.
    fn added(&self, unwanted: &[u64]) -> Result<Option<Added>, Malformed> {
        let Some(&count) = unwanted.first().filter(|&&first| (first..self.count).eq(unwanted.iter().copied())) else {
            return Ok(None);
        };
        let start = self.word(count, self.layout.sh_offset)?;
        let names_size = self.section_field(count, self.layout.sh_name, 4)?;
        let mut places = Cursor::at(start);
        let mut names = Vec::<u8>::new();
        for section in count..self.count {
            let name_at = self.section_field(section, self.layout.sh_name, 4)?;
            let is_next = self.word(section, self.layout.sh_offset)? == places.end();
            if !is_next || name_at != offset_from(names_size, names.len() as u64) {
                return Ok(None);
            }
            places.take(self.word(section, self.layout.sh_size)?);
            names.extend(self.name(section)?.iter().chain(&[0]));
        }
        for section in 0..count {
            if self.section_field(section, self.layout.sh_name, 4)? >= names_size.max(1) {
                return Ok(None);
            }
        }
        let names_follow = self.names_offset() == places.end() && self.names.from(names_size).data() == names;
        Ok(names_follow.then_some(Added { count, start, names_size }))
    }

    /// Returns whether the original section table is still at `place`, and the original section names at their offset.
    fn has_original_tables(&self, added: &Added, place: u64) -> Result<bool, Malformed> {
        let size = self.offset_in_table(added.count, 0);
        let table = self.file.part("ELF section header offset", Extent { offset: place, size })?;
        // A file may have any number of places with the same header, and names that are equal for long.
        let compared: u64 = [size, added.names_size].iter().sum();
        table.charge("ELF section header", Resource::Work, compared / BYTES_PER_STEP)?;
        let old = Elf { table, count: added.count, ..*self };
        let names_offset = old.word(self.names_index, self.layout.sh_offset)?;
        let names = self.file.part("ELF section offset", Extent { offset: names_offset, size: added.names_size });
        let names_range = range_at(names_offset, added.names_size);
        let has_names = names_range.end <= added.start && names.is_ok_and(|names| self.names.starts_with(names.data()));
        let mut rest = old.headers(1..added.count);
        Ok(has_names
            && old.header(0) == self.section_0(added.count)
            && self.headers_with_names(added.count, names_range).runs().all(|run| {
                let after = rest.strip_prefix(run);
                rest = after.unwrap_or_default();
                after.is_some()
            }))
    }

    /// Returns an equivalent file without the unwanted sections. Sections at the end of the table are removed; others
    /// become empty sections without a name.
    fn rebuilt(&self, unwanted: &[u64]) -> Result<Content<'data>, Malformed> {
        let layout = self.layout;
        let is_unwanted = |section: &u64| unwanted.binary_search(section).is_ok();
        let mut count = (0..self.count).rev().skip_while(is_unwanted).count() as u64;
        if self.symbols_reach(count)? {
            count = self.count;
        }
        let (body, places) = self.packed((1..count).filter(|section| !is_unwanted(section)).collect())?;
        let mut headers = Content::new();
        for section in 1..count {
            if let Some(&place) = places.get(&section) {
                let size = self.word(section, layout.sh_size)?;
                headers.push(self.placed(section, place, size));
            } else {
                let mut empty = vec![0; layout.section_header_size as usize];
                self.set(&mut empty, self.layout.sh_type, 4, elf::SHT_PROGBITS.0.into());
                self.set_word(&mut empty, layout.sh_addralign, 1);
                headers.push(empty);
            }
        }
        self.assemble(body, count, headers)
    }

    /// Returns the bytes after the file header with only these sections, in their order in the file, and the offset of
    /// each. A file with segments stays unchanged up to the end of the last section, because segments have offsets too.
    fn packed(&self, kept: Vec<u64>) -> Result<(Content<'data>, BTreeMap<u64, u64>), Malformed> {
        let layout = self.layout;
        let mut places = BTreeMap::new();
        if self.has_segments()? {
            let end = self.end_of(kept.iter().copied().filter(|&section| section != self.names_index))?;
            for section in kept {
                let offset = self.word(section, layout.sh_offset)?;
                // A section without bytes can be beyond the remaining sections.
                let is_empty = self.content(section)?.size() == 0;
                places.insert(section, if is_empty { offset.min(end) } else { offset });
            }
            let mut body = Content::from(self.after_header(end));
            // No segment contains the names. Where they are last, they follow the sections that remain.
            if self.names.range_in(self.file).end > end {
                places.insert(self.names_index, end);
                body.push(self.names.data());
            }
            return Ok((body, places));
        }
        let mut contents = Vec::new();
        for section in kept {
            contents.push((section, self.content(section)?));
        }
        contents.sort_by_cached_key(|(section, view)| (view.start(), *section));
        let mut body = Content::new();
        let mut end = 0;
        for (section, view) in contents {
            if view.size() > 0 && view.start() < end {
                return Err(broken(self.file, "has overlapping sections"));
            }
            end = end.max(view.range().end);
            let alignment = match self.word(section, layout.sh_addralign)? {
                alignment if alignment.is_power_of_two() => alignment.min(LARGEST_ALIGNMENT),
                _ => 1,
            };
            let unaligned = self.end_of_body(&body);
            let place = unaligned.next_multiple_of(alignment);
            body.push(vec![0; size_of_range(&(unaligned..place)) as usize]);
            body.push(view.data());
            places.insert(section, place);
        }
        Ok((body, places))
    }

    /// Returns whether a symbol refers to a section with this index or a larger one.
    fn symbols_reach(&self, number: u64) -> Result<bool, Malformed> {
        for section in 1..self.count {
            if self.section_type(section)? != elf::SHT_SYMTAB {
                continue;
            }
            let symbols = self.content(section)?;
            for symbol in symbols.data().chunks_exact(self.layout.symbol_size as usize) {
                let index = self.field(symbols.derived(symbol), "ELF symbol", self.layout.st_shndx, 2)?;
                // An index that does not fit may be any.
                if index == INDEX_ELSEWHERE || (number..MOST_IN_HEADER).contains(&index) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// Number of bytes that are compared in a step of work.
const BYTES_PER_STEP: u64 = 64;

/// Largest alignment in the file, in bytes; more than any section of an object file needs.
const LARGEST_ALIGNMENT: u64 = 4096;
