//! Adding sections to an ELF file.
//!
//! The file ends with the added sections, the extended section names, and the extended section table, in that order.
//! Compilers and assemblers end an object with names and table: those are replaced, and the file grows only by the additions.
//! In a file that ends otherwise both are copied, and the old ones stay in place, unused. Either form can be undone byte for
//! byte.

use object::elf;

use super::{Elf, ElfLayout, SH_FLAGS, SH_NAME, SH_TYPE};
use crate::bytes::View;
use crate::content::Content;
use crate::error::Malformed;
use crate::rewrite::{NewSection, broken};

/// Returns the object with sections added.
pub fn with_sections<'data>(
    file: View<'data>,
    layout: &'static ElfLayout,
    sections: &[NewSection<'_, 'data>],
) -> Result<Content<'data>, Malformed> {
    let elf = Elf::read(file, layout)?;
    for section in 0..elf.count {
        // An offset beyond the table would refer to an added name.
        if elf.section_field(section, SH_NAME, 4)? >= elf.names.size() {
            return Err(broken(file, format!("section {section} has a name outside the string table")));
        }
    }
    let kept = if elf.ends_in_tables()? { elf.names_offset() } else { file.size() };
    let mut body = Content::from(elf.after_header(kept));
    let mut names = Vec::new();
    let mut headers = Vec::new();
    for section in sections {
        let name = elf.names.size() + names.len() as u64;
        let name = u32::try_from(name).map_err(|_| broken(file, "string table too large for more section names"))?;
        names.extend(section.name.bytes().chain([0]));
        let mut header = vec![0; layout.section_header_size as usize];
        elf.set(&mut header, SH_NAME, 4, name.into());
        elf.set(&mut header, SH_TYPE, 4, elf::SHT_PROGBITS.0.into());
        elf.set_word(&mut header, SH_FLAGS, elf::SHF_EXCLUDE.0);
        elf.set_word(&mut header, layout.sh_offset, layout.header_size + body.size());
        elf.set_word(&mut header, layout.sh_size, section.content.len() as u64);
        elf.set_word(&mut header, layout.sh_addralign, 1);
        body.push(section.content);
        headers.extend(header);
    }
    let names_offset = layout.header_size + body.size();
    body.push(elf.names.data());
    body.push(names);
    let names_size = layout.header_size + body.size() - names_offset;

    let mut table = Content::from(elf.section_0(elf.count + sections.len() as u64));
    table.push(elf.headers(1, elf.names_index));
    table.push(elf.placed(elf.names_index, names_offset, names_size));
    table.push(elf.headers(elf.names_index + 1, elf.count));
    table.push(headers);
    elf.assemble(body, table)
}

impl Elf<'_> {
    /// Returns whether the file ends with the section names and then the section table, with only padding between them.
    fn ends_in_tables(&self) -> Result<bool, Malformed> {
        let names_end = self.names_offset() + self.names.size();
        let padding_and_table = self.file.from(names_end).data();
        let padding = names_end.next_multiple_of(self.layout.word) - names_end;
        let tables_end_it = self.table_offset() == names_end + padding
            && padding_and_table.len() as u64 == padding + self.table.size()
            && padding_and_table.iter().take(padding as usize).all(|&byte| byte == 0);
        let others = (1..self.count).filter(|&section| section != self.names_index);
        // Evaluated first, because it also checks that all sections lie within the file.
        let others_end = self.end_of(others)?;
        Ok(tables_end_it && !self.has_segments()? && others_end <= self.names_offset())
    }
}
