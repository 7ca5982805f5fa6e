//! Renaming of sections and symbols in an ELF file.
//!
//! String tables are written again at the end, extended by the new names. Old names stay in them, because other names
//! may share their bytes. All other bytes keep their offsets.

use std::collections::BTreeMap;

use object::elf;

use super::Elf;
use crate::base::bytes::View;
use crate::base::content::Content;
use crate::base::elf_layout::ElfLayout;
use crate::base::error::Malformed;
use crate::base::range::offset_from;
use crate::host::rewrite::{broken, bytes_in};

/// Returns the new name of a section or a symbol, unless it keeps its name.
pub type Rename<'a> = &'a dyn Fn(&[u8]) -> Option<Vec<u8>>;

/// Size of the field with the offset of a name, in section headers and symbols of either width.
const NAME_SIZE: u64 = 4;

/// Returns the object with other names.
pub fn renamed<'data>(
    file: View<'data>,
    layout: &'static ElfLayout,
    rename: Rename<'_>,
) -> Result<Content<'data>, Malformed> {
    let elf = Elf::read(file, layout)?;
    let mut tables = StringTables { elf, added: BTreeMap::new() };
    let mut section_names = BTreeMap::new();
    for section in 1..elf.count {
        if let Some(name) = rename(elf.name(section)?) {
            section_names.insert(section, tables.add(elf.names_index, name)?);
        }
    }
    let symbol_names = symbol_names(elf, rename, &mut tables)?;
    let mut body = patched(elf, &symbol_names);
    let mut places = BTreeMap::new();
    for (&table, added) in &tables.added {
        let start = elf.end_of_body(&body);
        body.push(elf.content(table)?.data());
        body.push(added.clone());
        places.insert(table, start..elf.end_of_body(&body));
    }
    let mut headers = Content::new();
    for section in 1..elf.count {
        let mut header = match places.get(&section) {
            Some(place) => elf.placed(section, place.start, crate::base::bytes::size_of_range(place)),
            None => elf.header(section).to_vec(),
        };
        if let Some(&name) = section_names.get(&section) {
            elf.set(&mut header, layout.sh_name, NAME_SIZE, name);
        }
        headers.push(header);
    }
    elf.assemble(body, elf.count, headers)
}

/// Names that are added to the string tables of a file.
struct StringTables<'data> {
    elf: Elf<'data>,
    /// Added bytes by the index of the table's section.
    added: BTreeMap<u64, Vec<u8>>,
}

impl StringTables<'_> {
    /// Adds a name to a table, and returns its offset.
    fn add(&mut self, table: u64, name: Vec<u8>) -> Result<u64, Malformed> {
        let size = self.elf.content(table)?.size();
        let added = self.added.entry(table).or_default();
        let offset = offset_from(size, added.len() as u64);
        added.extend(name.into_iter().chain([0]));
        if u32::try_from(offset).is_err() {
            return Err(broken(self.elf.file, "string table too large for more names"));
        }
        Ok(offset)
    }
}

/// Returns the new offsets of the names of symbols, by the offsets of the symbols in the file.
fn symbol_names(
    elf: Elf<'_>,
    rename: Rename<'_>,
    tables: &mut StringTables<'_>,
) -> Result<BTreeMap<u64, u64>, Malformed> {
    let mut names = BTreeMap::new();
    for section in 1..elf.count {
        if elf.section_type(section)? != elf::SHT_SYMTAB {
            continue;
        }
        let symbols = elf.content(section)?;
        let table = elf.section_link(section)?;
        let strings = elf.content(table)?;
        let mut rest = symbols;
        while rest.size() >= elf.layout.symbol_size {
            let symbol = rest;
            rest = symbol.from(elf.layout.symbol_size);
            let name = strings.from(elf.field(symbol, "ELF symbol", 0, NAME_SIZE)?);
            if let Some(name) = rename(super::text("ELF symbol name", name)?) {
                names.insert(symbol.range_in(elf.file).start, tables.add(table, name)?);
            }
        }
    }
    Ok(names)
}

/// Returns the bytes after the file header with the names of symbols replaced.
fn patched<'data>(elf: Elf<'data>, symbol_names: &BTreeMap<u64, u64>) -> Content<'data> {
    let mut body = Content::new();
    let mut end = elf.layout.header_size;
    for (&at, &name) in symbol_names {
        let mut field = vec![0; NAME_SIZE as usize];
        elf.set(&mut field, 0, NAME_SIZE, name);
        body.push(bytes_in(elf.file, end..at.max(end)));
        body.push(field);
        end = offset_from(at, NAME_SIZE);
    }
    body.push(bytes_in(elf.file, end..elf.file.size()));
    body
}
