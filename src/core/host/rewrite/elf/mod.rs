//! ELF, in both widths and byte orders: the tables of a file.
//!
//! The layout is data, because the four kinds of files differ in nothing else, and because fields are written as well
//! as read.

mod add;
mod remove;
mod rename;

use std::ops::Range;

use object::elf;

use super::{broken, bytes_in};
use crate::base::bytes::{Extent, Resource, View, entries_size, size_of_range, text_work};
use crate::base::content::Content;
use crate::base::elf_layout::{ElfLayout, is_big_endian};
use crate::base::error::{Cause, Malformed};
use crate::base::range::{offset_from, range_at};

pub use add::with_sections;
pub use remove::without_sections;
pub use rename::{Rename, renamed};

/// Smallest number of sections that is stored in section 0 and not in the file header (`SHN_LORESERVE`).
const MOST_IN_HEADER: u64 = elf::SHN_LORESERVE as u64;
/// Value of the index of the section names that means that section 0 holds the index (`SHN_XINDEX`).
const INDEX_ELSEWHERE: u64 = elf::SHN_XINDEX.0 as u64;

/// A file with valid tables.
#[derive(Clone, Copy)]
struct Elf<'data> {
    layout: &'static ElfLayout,
    big_endian: bool,
    file: View<'data>,
    /// Section table, from section 0 on.
    table: View<'data>,
    count: u64,
    /// Index of the section with the sections' names.
    names_index: u64,
    names: View<'data>,
}

impl<'data> Elf<'data> {
    fn read(file: View<'data>, layout: &'static ElfLayout) -> Result<Self, Malformed> {
        let big_endian = is_big_endian(file.data());
        let mut this = Elf { layout, big_endian, file, table: file, count: 0, names_index: 0, names: file };
        let header = |at| this.field(file, "ELF header", at, 2);
        let shentsize = header(layout.e_shentsize)?;
        let shnum = header(layout.e_shnum)?;
        let shstrndx = header(layout.e_shstrndx)?;
        let table_offset = this.field(file, "ELF section header offset", layout.e_shoff, layout.word)?;
        if table_offset == 0 || shstrndx == 0 {
            return Err(broken(file, "has no section headers with names"));
        }
        if shentsize != layout.section_header_size {
            return Err(broken(
                file,
                format!("has section headers of {shentsize} bytes, expected {}", layout.section_header_size),
            ));
        }
        let part = |size| {
            file.part(file.field("ELF section header offset", layout.e_shoff), Extent { offset: table_offset, size })
        };
        this.table = part(layout.section_header_size)?;
        this.count = if shnum == 0 { this.word(0, layout.sh_size)? } else { shnum };
        this.names_index = if shstrndx == INDEX_ELSEWHERE { this.section_link(0)? } else { shstrndx };
        this.table = part(this.offset_in_table(this.count, 0))?;
        if !(1..this.count).contains(&this.names_index) {
            let cause = Cause::Unexpected { value: this.names_index, expected: "a section index" };
            return Err(file.malformed("ELF section name table index", layout.e_shstrndx, cause));
        }
        this.names = this.content(this.names_index)?;
        if this.section_type(this.names_index)? != elf::SHT_STRTAB || this.names.data().last() != Some(&0) {
            return Err(broken(file, "has section names outside a string table"));
        }
        Ok(this)
    }

    /// Reads an unsigned integer in the byte order of the file.
    fn field(&self, view: View, field: &'static str, at: u64, width: u64) -> Result<u64, Malformed> {
        let bytes = view.record(field, Extent { offset: at, size: width })?.data();
        let add = |value: u64, byte: &u8| value << 8 | u64::from(*byte);
        Ok(if self.big_endian { bytes.iter().fold(0, add) } else { bytes.iter().rev().fold(0, add) })
    }

    /// Sets an unsigned integer in a copy of bytes of the file.
    fn set(&self, bytes: &mut [u8], at: u64, width: u64, value: u64) {
        let field = super::set(bytes, at, width, value);
        if self.big_endian {
            field.reverse();
        }
    }

    fn set_word(&self, bytes: &mut [u8], at: u64, value: u64) {
        self.set(bytes, at, self.layout.word, value);
    }

    /// Reads a field of a section header that is as wide as an offset.
    fn word(&self, section: u64, at: u64) -> Result<u64, Malformed> {
        self.section_field(section, at, self.layout.word)
    }

    fn section_field(&self, section: u64, at: u64, width: u64) -> Result<u64, Malformed> {
        self.field(self.table, "ELF section header", self.offset_in_table(section, at), width)
    }

    /// Returns the offset in the section table of a field of a section header. A number of sections that no file can
    /// have gives an offset that no table has.
    fn offset_in_table(&self, section: u64, at: u64) -> u64 {
        offset_from(entries_size(section, self.layout.section_header_size), at)
    }

    fn section_type(&self, section: u64) -> Result<elf::SectionType, Malformed> {
        self.section_field(section, self.layout.sh_type, 4).map(|value| elf::SectionType(value as u32))
    }

    fn section_link(&self, section: u64) -> Result<u64, Malformed> {
        self.section_field(section, self.layout.sh_link, 4)
    }

    fn content(&self, section: u64) -> Result<View<'data>, Malformed> {
        let offset = self.word(section, self.layout.sh_offset)?;
        let size = self.word(section, self.layout.sh_size)?;
        if [elf::SHT_NOBITS, elf::SHT_NULL].contains(&self.section_type(section)?) {
            return Ok(self.file.from(self.file.size()));
        }
        let stated_at = offset_from(self.table_offset(), self.offset_in_table(section, self.layout.sh_offset));
        self.file.part(self.file.field("ELF section offset", stated_at), Extent { offset, size })
    }

    fn name(&self, section: u64) -> Result<&'data [u8], Malformed> {
        text("ELF section name", self.names.from(self.section_field(section, self.layout.sh_name, 4)?))
    }

    fn header(&self, section: u64) -> &'data [u8] {
        self.headers(range_at(section, 1))
    }

    /// Returns the file with another section table: the file header, then `body`, then section 0 for `count` sections,
    /// then the other section headers.
    fn assemble(&self, body: Content<'data>, count: u64, headers: Content<'data>) -> Result<Content<'data>, Malformed> {
        let layout = self.layout;
        let table_offset = self.end_of_body(&body).next_multiple_of(layout.word);
        let largest = if layout.word == 4 { u64::from(u32::MAX) } else { u64::MAX };
        if offset_from(table_offset, self.offset_in_table(count, 0)) > largest {
            return Err(broken(self.file, "too large for a 32-bit ELF file"));
        }
        let mut content = Content::from(self.header_for(table_offset, count));
        content.append(body);
        content.align(layout.word);
        content.push(self.section_0(count));
        content.append(headers);
        Ok(content)
    }

    /// Returns the end of `body` if it follows the file header.
    fn end_of_body(&self, body: &Content) -> u64 {
        offset_from(self.layout.header_size, body.size())
    }

    /// Returns a copy of the file header that refers to a section table.
    fn header_for(&self, table_offset: u64, count: u64) -> Vec<u8> {
        let mut header = bytes_in(self.file, 0..self.layout.header_size).to_vec();
        self.set_word(&mut header, self.layout.e_shoff, table_offset);
        self.set(&mut header, self.layout.e_shnum, 2, if count < MOST_IN_HEADER { count } else { 0 });
        header
    }

    fn has_segments(&self) -> Result<bool, Malformed> {
        Ok(self.field(self.file, "ELF header", self.layout.e_phnum, 2)? > 0)
    }

    /// Returns a copy of section 0, which holds the number of sections where the file header cannot.
    fn section_0(&self, count: u64) -> Vec<u8> {
        let mut header = self.header(0).to_vec();
        self.set_word(&mut header, self.layout.sh_size, if count < MOST_IN_HEADER { 0 } else { count });
        header
    }

    fn headers(&self, sections: Range<u64>) -> &'data [u8] {
        bytes_in(self.table, self.offset_in_table(sections.start, 0)..self.offset_in_table(sections.end, 0))
    }

    /// Returns the headers after section 0 of the first `count` sections, with the section names in another range.
    fn headers_with_names(&self, count: u64, names: Range<u64>) -> Content<'data> {
        let mut headers = Content::from(self.headers(1..self.names_index));
        headers.push(self.placed(self.names_index, names.start, size_of_range(&names)));
        headers.push(self.headers(range_at(self.names_index, 1).end..count));
        headers
    }

    fn table_offset(&self) -> u64 {
        self.table.range_in(self.file).start
    }

    fn names_offset(&self) -> u64 {
        self.names.range_in(self.file).start
    }

    /// Returns the bytes from the end of the file header up to an offset.
    fn after_header(&self, end: u64) -> &'data [u8] {
        bytes_in(self.file, self.layout.header_size..end)
    }

    /// Returns the largest end of any of these sections.
    fn end_of(&self, sections: impl IntoIterator<Item = u64>) -> Result<u64, Malformed> {
        let mut end = self.layout.header_size;
        for section in sections {
            let content = self.content(section)?;
            if content.size() > 0 {
                end = end.max(content.range_in(self.file).end);
            }
        }
        Ok(end)
    }

    /// Returns a copy of a section header with another offset and size.
    fn placed(&self, section: u64, offset: u64, size: u64) -> Vec<u8> {
        let mut header = self.header(section).to_vec();
        self.set_word(&mut header, self.layout.sh_offset, offset);
        self.set_word(&mut header, self.layout.sh_size, size);
        header
    }
}

/// Returns the text at the start of a string table. Any number of sections and symbols may share one of any length.
fn text<'data>(field: &'static str, strings: View<'data>) -> Result<&'data [u8], Malformed> {
    let text = strings.data().split(|&byte| byte == 0).next().unwrap_or_default();
    strings.charge(field, Resource::Work, text_work(text.len()))?;
    Ok(text)
}
