//! Taking sections out of an ELF file.
//!
//! If they stand as they are added here, the file becomes again what it was, to the byte. Else it is put together anew from
//! the sections that stay. Those keep their numbers, because others and symbols refer to them by number.

use object::elf;

use super::{Elf, INDEX_ELSEWHERE, Layout, MOST_IN_HEADER, SH_NAME, SH_TYPE};
use crate::bytes::View;
use crate::content::Content;
use crate::error::Malformed;
use crate::rewrite::broken;

pub fn without_sections<'data>(
    file: View<'data>,
    layout: &'static Layout,
    prefix: &[u8],
) -> Result<Content<'data>, Malformed> {
    let elf = Elf::read(file, layout)?;
    let mut unwanted = Vec::new();
    for section in 1..elf.count {
        if elf.name(section)?.starts_with(prefix) {
            unwanted.push(section);
        }
    }
    if unwanted.is_empty() {
        return Ok(Content::from(file.data()));
    }
    if unwanted.contains(&elf.names_index) {
        return Err(broken(file, "its section names stand in a section that is to go"));
    }
    match elf.as_it_was(&unwanted)? {
        Some(original) => Ok(original),
        None => elf.rebuilt(&unwanted),
    }
}

/// What was added to a file, if it was added here.
struct Added {
    /// How many sections there were before.
    count: u64,
    /// Where the added sections begin in the file.
    start: u64,
    /// The size of the section names before.
    names_size: u64,
}

impl<'data> Elf<'data> {
    /// The file as it was before [`super::with_sections`], to the byte; `None` where it was not that which added these.
    fn as_it_was(&self, unwanted: &[u64]) -> Result<Option<Content<'data>>, Malformed> {
        let Some(added) = self.added(unwanted)? else { return Ok(None) };
        let others = (1..added.count).filter(|&section| section != self.names_index);
        let others_end = self.end_of(others)?;
        if self.has_segments()? || others_end > added.start {
            return Ok(None);
        }
        for place in self.places_of_old_table(others_end, &added) {
            if self.kept_its_tables(&added, place)? {
                let mut content = Content::from(self.header_for(place, added.count));
                content.push(self.behind_header(added.start));
                return Ok(Some(content));
            }
        }
        // Else they gave way, and stood where the added sections begin.
        if self.table_offset() + self.table.size() != self.file.size() {
            return Ok(None);
        }
        let mut body = Content::from(self.behind_header(added.start));
        body.push(&self.names.data()[..added.names_size as usize]);
        let mut table = Content::from(self.section_0(added.count));
        table.push(self.headers(1, self.names_index));
        table.push(self.placed(self.names_index, added.start, added.names_size));
        table.push(self.headers(self.names_index + 1, added.count));
        self.assemble(body, table).map(Some)
    }

    /// Where a section table may be that is not used any more: some assemblers put it behind the file header, and what else
    /// is not used stands behind the sections that were there before.
    fn places_of_old_table(&self, others_end: u64, added: &Added) -> Vec<u64> {
        let entry_size = self.layout.section_header_size;
        // An entry by which the table is known: those of the names and of section 0 may have changed.
        let known = if self.names_index == 1 { 2 } else { 1 };
        if known >= added.count {
            return Vec::new();
        }
        let unused = &self.file.data()[others_end as usize..added.start as usize];
        let entries = memchr::memmem::find_iter(unused, self.header(known)).map(|at| others_end + at as u64);
        let tables = entries.filter_map(|at| at.checked_sub(known * entry_size));
        let table_size = added.count * entry_size;
        let fits = |place: &u64| *place >= self.layout.header_size && place + table_size <= added.start;
        tables.chain([self.layout.header_size]).filter(fits).collect()
    }

    /// Whether the unwanted sections stand as they are added here: the last in the table, one behind the other in the file
    /// and behind them the section names, at the end of which are theirs, which nothing else uses.
    fn added(&self, unwanted: &[u64]) -> Result<Option<Added>, Malformed> {
        let count = self.count - unwanted.len() as u64;
        let start = self.word(unwanted[0], self.layout.sh_offset)?;
        let names_size = self.section_field(unwanted[0], SH_NAME, 4)?;
        let (mut end, mut names) = (start, Vec::<u8>::new());
        for (&section, number) in unwanted.iter().zip(count..) {
            let name_at = self.section_field(section, SH_NAME, 4)?;
            let is_next = section == number && self.word(section, self.layout.sh_offset)? == end;
            if !is_next || name_at != names_size + names.len() as u64 {
                return Ok(None);
            }
            end = end.saturating_add(self.word(section, self.layout.sh_size)?);
            names.extend(self.name(section)?.iter().chain(&[0]));
        }
        for section in 0..count {
            if self.section_field(section, SH_NAME, 4)? >= names_size.max(1) {
                return Ok(None);
            }
        }
        let names_follow = self.names_offset() == end && self.names.from(names_size).data() == names;
        Ok(names_follow.then_some(Added { count, start, names_size }))
    }

    /// Whether there still is at `place` the section table that this one continues, and the section names that these do.
    fn kept_its_tables(&self, added: &Added, place: u64) -> Result<bool, Malformed> {
        let table =
            self.file.part("ELF section header offset", 0, place, added.count * self.layout.section_header_size)?;
        let old = Elf { table, count: added.count, ..*self };
        let names_offset = old.word(self.names_index, self.layout.sh_offset)?;
        let names = self.file.part("ELF section offset", 0, names_offset, added.names_size);
        let names_are_there = names_offset.saturating_add(added.names_size) <= added.start
            && names.is_ok_and(|names| self.names.starts_with(names.data()));
        Ok(names_are_there
            && old.header(0) == self.section_0(added.count)
            && old.headers(1, self.names_index) == self.headers(1, self.names_index)
            && old.header(self.names_index) == self.placed(self.names_index, names_offset, added.names_size)
            && old.headers(self.names_index + 1, added.count) == self.headers(self.names_index + 1, added.count))
    }

    /// A file that means the same without the unwanted sections. Those at the end of the table go, others become empty ones
    /// without a name.
    fn rebuilt(&self, unwanted: &[u64]) -> Result<Content<'data>, Malformed> {
        let layout = self.layout;
        let tail = (0..self.count).rev().take_while(|section| unwanted.contains(section)).count() as u64;
        let mut count = self.count - tail;
        if self.symbols_reach(count)? {
            count = self.count;
        }
        let kept: Vec<u64> = (1..count).filter(|section| !unwanted.contains(section)).collect();
        let (body, places) = self.packed(&kept)?;
        let mut table = Content::from(self.section_0(count));
        for section in 1..count {
            match kept.binary_search(&section) {
                Ok(index) => {
                    let size = self.word(section, layout.sh_size)?;
                    table.push(self.placed(section, places[index], size));
                }
                Err(_) => {
                    let mut empty = vec![0; layout.section_header_size as usize];
                    self.set(&mut empty, SH_TYPE, 4, elf::SHT_PROGBITS.0.into());
                    self.set_word(&mut empty, layout.sh_addralign, 1);
                    table.push(empty);
                }
            }
        }
        self.assemble(body, table)
    }

    /// What stands behind the file header if only these sections are kept, in their order in the file, and the offset of
    /// each. A file with segments stays as it is up to the end of what is kept, for segments have offsets too.
    fn packed(&self, kept: &[u64]) -> Result<(Content<'data>, Vec<u64>), Malformed> {
        let layout = self.layout;
        if self.has_segments()? {
            let body = Content::from(self.behind_header(self.end_of(kept.iter().copied())?));
            let places = kept.iter().map(|&section| self.word(section, layout.sh_offset)).collect::<Result<_, _>>()?;
            return Ok((body, places));
        }
        let mut contents = Vec::new();
        for &section in kept {
            contents.push(self.content(section)?);
        }
        let mut order: Vec<usize> = (0..kept.len()).collect();
        order.sort_by_key(|&index| (contents[index].start(), index));
        let (mut body, mut places) = (Content::new(), vec![0; kept.len()]);
        let mut end = 0;
        for index in order {
            let view = contents[index];
            if view.size() > 0 && view.start() < end {
                return Err(broken(self.file, "has sections that share bytes"));
            }
            end = end.max(view.start() + view.size());
            let alignment = match self.word(kept[index], layout.sh_addralign)? {
                alignment if alignment.is_power_of_two() => alignment.min(LARGEST_ALIGNMENT),
                _ => 1,
            };
            let place = layout.header_size + body.size();
            body.push(vec![0; (place.next_multiple_of(alignment) - place) as usize]);
            places[index] = layout.header_size + body.size();
            body.push(view.data());
        }
        Ok((body, places))
    }

    /// Whether a symbol refers to a section with this number or a larger one.
    fn symbols_reach(&self, number: u64) -> Result<bool, Malformed> {
        for section in 1..self.count {
            if self.section_type(section)? != elf::SHT_SYMTAB {
                continue;
            }
            let symbols = self.content(section)?;
            for symbol in 0..symbols.size() / self.layout.symbol_size {
                let at = symbol * self.layout.symbol_size + self.layout.st_shndx;
                let index = self.field(symbols, "ELF symbol", at, 2)?;
                // One that does not fit may be anything.
                if index == INDEX_ELSEWHERE || (number..MOST_IN_HEADER).contains(&index) {
                    return Ok(true);
                }
            }
        }
        Ok(false)
    }
}

/// More than any section of an object file needs in the file.
const LARGEST_ALIGNMENT: u64 = 4096;
