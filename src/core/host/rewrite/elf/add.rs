//! Adding sections to an ELF file.
//!
//! The file ends with the added sections, the extended section names, and the extended section table, in that order.
//! Compilers and assemblers end an object with names and table. These are replaced, and the file grows only by the
//! additions. In a file that ends differently, both are copied, and the old ones stay in place, unused. Either form can
//! be undone byte for byte.

use object::elf;

use super::Elf;
use crate::base::bytes::View;
use crate::base::content::Content;
use crate::base::elf_layout::ElfLayout;
use crate::base::error::Malformed;
use crate::base::range::offset_from;
use crate::host::rewrite::{NewSection, broken, bytes_in};

/// Returns the object with sections added.
pub fn with_sections<'data>(
    file: View<'data>,
    layout: &'static ElfLayout,
    sections: &[NewSection<'_, 'data>],
) -> Result<Content<'data>, Malformed> {
    let elf = Elf::read(file, layout)?;
    for section in 0..elf.count {
        // An offset beyond the table would refer to an added name.
        if elf.section_field(section, layout.sh_name, 4)? >= elf.names.size() {
            return Err(broken(file, format!("section {section} has a name outside the string table")));
        }
    }
    let kept = if elf.ends_in_tables()? { elf.names_offset() } else { file.size() };
    let mut body = Content::from(elf.after_header(kept));
    let mut names = Vec::new();
    let mut headers = Vec::new();
    for section in sections {
        let name = offset_from(elf.names.size(), names.len() as u64);
        let name = u32::try_from(name).map_err(|_| broken(file, "string table too large for more section names"))?;
        names.extend(section.name.bytes().chain([0]));
        let mut header = vec![0; layout.section_header_size as usize];
        elf.set(&mut header, layout.sh_name, 4, name.into());
        elf.set(&mut header, layout.sh_type, 4, elf::SHT_PROGBITS.0.into());
        elf.set_word(&mut header, layout.sh_flags, elf::SHF_EXCLUDE.0);
        elf.set_word(&mut header, layout.sh_offset, elf.end_of_body(&body));
        elf.set_word(&mut header, layout.sh_size, section.content.len() as u64);
        elf.set_word(&mut header, layout.sh_addralign, 1);
        body.push(section.content);
        headers.extend(header);
    }
    let names_offset = elf.end_of_body(&body);
    body.push(elf.names.data());
    body.push(names);

    let mut table = elf.headers_with_names(elf.count, names_offset..elf.end_of_body(&body));
    table.push(headers);
    elf.assemble(body, [elf.count, sections.len() as u64].iter().sum(), table)
}

impl Elf<'_> {
    /// Returns whether the file ends with the section names and then the section table, with only padding between them.
    fn ends_in_tables(&self) -> Result<bool, Malformed> {
        let names = self.names.range_in(self.file);
        let table = self.table.range_in(self.file);
        let tables_end_it = table.start == names.end.next_multiple_of(self.layout.word)
            && table.end == self.file.size()
            && bytes_in(self.file, names.end..table.start).iter().all(|&byte| byte == 0);
        let others = (1..self.count).filter(|&section| section != self.names_index);
        // Evaluated first, because it also checks that all sections lie within the file.
        let others_end = self.end_of(others)?;
        Ok(tables_end_it && !self.has_segments()? && others_end <= names.start)
    }
}
