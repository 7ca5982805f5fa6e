//! Writes the file in one pass: file header, section data, relocations, symbols, strings, section headers. The file
//! header is complete only at the end and then replaces the first bytes.

use std::borrow::Cow;
use std::collections::HashMap;

use object::elf;
use object::write::elf::{FileHeader, Rel, SectionHeader, SectionIndex, SinglePhaseWriter, Sym};

use super::layout::{ElfSection, ObjectLayout, RelocationTarget};
use crate::base::content::Content;
use crate::base::io::Sink;
use crate::host::architecture::Architecture;
use crate::host::plan::ObjectPlan;
use crate::host::symbol::{Definition, Scope, Symbol, SymbolId};

/// The tables come first, after the null section, so that their indices are known when others refer to them.
const SYMBOL_TABLE: SectionIndex = SectionIndex(3);
const FIRST_SECTION: u32 = 4;

/// Writes a laid-out object into `sink`.
pub fn write(
    plan: &ObjectPlan,
    architecture: &Architecture,
    layout: &ObjectLayout,
    sections: &[ElfSection],
    sink: &mut Sink,
) -> object::write::Result<()> {
    let symbols = SymbolTable::new(plan, architecture, layout, sections);
    let indices = section_indices(sections);
    let rela_names: Vec<String> = sections.iter().map(|section| format!(".rela{}", section.name)).collect();

    let mut writer = SinglePhaseWriter::new_single_phase(architecture.endianness, true, sink);
    writer.write_file_header(&file_header(plan, architecture))?;

    let offsets: Vec<u64> = sections.iter().map(|section| write_contents(&mut writer, section)).collect();
    let rela_offsets: Vec<u64> =
        sections.iter().map(|section| write_relocations(&mut writer, section, &symbols)).collect();
    write_symbols(&mut writer, &indices, &symbols)?;

    let names: Vec<_> = sections.iter().map(|section| writer.add_section_name(section.name.as_bytes())).collect();
    let rela_names: Vec<_> = sections
        .iter()
        .zip(&rela_names)
        .map(|(section, name)| (!section.relocations.is_empty()).then(|| writer.add_section_name(name.as_bytes())))
        .collect();
    writer.write_shstrtab()?;

    writer.write_null_section_header();
    writer.write_shstrtab_section_header();
    writer.write_strtab_section_header();
    writer.write_symtab_section_header(symbols.local_count);
    for (place, section) in sections.iter().enumerate() {
        let name = writer.section_name_offset(Some(names[place]));
        let index = writer.write_section_header(&section_header(section, name, offsets[place]));
        debug_assert_eq!(index.0, indices[place]);
        if let Some(name) = rela_names[place] {
            let count = section.relocations.len();
            writer.write_relocation_section_header(name, index, SYMBOL_TABLE, rela_offsets[place], count, true);
        }
    }
    let mut header = Vec::new();
    writer.write_file_header_to(&mut header)?;
    drop(writer);
    sink.replace_start(&header);
    Ok(())
}

/// Returns the fields of the file header that do not depend on the layout.
fn file_header(plan: &ObjectPlan, architecture: &Architecture) -> FileHeader {
    // GNU ld 2.40 keeps SHF_GNU_RETAIN only in objects of this OS ABI. gas sets it; LLVM's wrapper objects do not have
    // it.
    let is_gnu = plan.is_divisible && plan.sections.iter().any(|section| section.kind.is_retained());
    let os_abi = if is_gnu { elf::ELFOSABI_GNU } else { elf::ELFOSABI_NONE };
    let e_type = elf::ET_REL;
    let e_machine = architecture.elf.machine;
    let e_flags = architecture.elf.flags;
    FileHeader { os_abi, e_type, e_machine, e_flags, ..Default::default() }
}

/// Writes the contents of a section, and returns their offset in the file.
fn write_contents(writer: &mut SinglePhaseWriter<'_>, section: &ElfSection) -> u64 {
    let offset = section.content.file_offset(writer.len(), section.alignment);
    writer.pad_until(offset);
    for run in section.content.in_file().into_iter().flat_map(Content::runs) {
        writer.write(run);
    }
    offset
}

/// Writes the relocations of a section, and returns their offset in the file.
fn write_relocations(writer: &mut SinglePhaseWriter<'_>, section: &ElfSection, symbols: &SymbolTable) -> u64 {
    let offset = writer.write_align_relocation();
    for relocation in &section.relocations {
        let r_sym = symbols.index_of(relocation.target);
        let r_offset = relocation.offset;
        let r_type = relocation.kind;
        let r_addend = relocation.addend;
        writer.write_relocation(true, &Rel { r_offset, r_sym, r_type, r_addend });
    }
    offset
}

/// Writes the symbol table and its strings.
fn write_symbols<'a>(
    writer: &mut SinglePhaseWriter<'a>,
    indices: &[u32],
    symbols: &'a SymbolTable<'_>,
) -> object::write::Result<()> {
    writer.write_null_symbol();
    for entry in &symbols.entries {
        let name = (!entry.name.is_empty()).then(|| writer.add_string(entry.name.as_bytes()));
        writer.write_symbol(&Sym {
            section: entry.section.map(|section| indices[section]),
            st_name: writer.string_offset(name),
            st_info: elf::SymbolInfo::new(entry.bind, entry.kind),
            st_other: entry.other,
            st_shndx: entry.special_section,
            st_value: entry.value,
            st_size: entry.size,
        });
    }
    writer.write_strtab()?;
    Ok(())
}

/// Returns the header of a section. `name` is an offset in the table of names.
fn section_header(section: &ElfSection, name: u32, offset: u64) -> SectionHeader {
    SectionHeader {
        sh_name: name,
        sh_type: section.kind,
        sh_flags: section.flags,
        sh_addr: 0,
        sh_offset: offset,
        sh_size: section.content.size(),
        sh_link: 0,
        sh_info: 0,
        sh_addralign: section.alignment,
        sh_entsize: 0,
    }
}

/// Returns the index of each section in the section header table: it is followed by its relocations, if it has any.
fn section_indices(sections: &[ElfSection]) -> Vec<u32> {
    let next = |next: &mut u32, section: &ElfSection| {
        let index = *next;
        *next += if section.relocations.is_empty() { 1 } else { 2 };
        Some(index)
    };
    sections.iter().scan(FIRST_SECTION, next).collect()
}

/// Symbols in the order of the file: the source's name, sections, the object's local symbols, then the global symbols,
/// defined ones before undefined ones.
struct SymbolTable<'plan> {
    entries: Vec<SymbolEntry<'plan>>,
    /// Indices of the plan's symbols; 0, the null symbol, for a symbol without an entry.
    of_symbols: Vec<u32>,
    /// Indices for all other targets.
    of_others: HashMap<RelocationTarget, u32>,
    /// Number of local symbols, including the null symbol.
    local_count: u32,
}

struct SymbolEntry<'plan> {
    name: Cow<'plan, str>,
    section: Option<usize>,
    special_section: elf::SymbolSection,
    bind: elf::SymbolBind,
    kind: elf::SymbolType,
    other: elf::SymbolOther,
    value: u64,
    size: u64,
}

impl<'plan> SymbolTable<'plan> {
    fn new(
        plan: &'plan ObjectPlan,
        architecture: &Architecture,
        layout: &ObjectLayout,
        sections: &[ElfSection],
    ) -> Self {
        let of_symbols = vec![0; plan.symbols.len()];
        let mut table = SymbolTable { entries: Vec::new(), of_symbols, of_others: HashMap::new(), local_count: 0 };
        table.entries.push(SymbolEntry {
            name: plan.source_name.into(),
            special_section: elf::SHN_ABS,
            kind: elf::STT_FILE,
            ..SymbolEntry::local(None)
        });
        if let Some(name) = architecture.elf.code_symbol {
            table.entries.push(SymbolEntry { name: name.into(), ..SymbolEntry::local(Some(ObjectLayout::TEXT)) });
        }
        let targets = || sections.iter().flat_map(|section| &section.relocations).map(|relocation| relocation.target);
        for target in targets() {
            let entry = match target {
                RelocationTarget::Section(section) => {
                    SymbolEntry { kind: elf::STT_SECTION, ..SymbolEntry::local(Some(section)) }
                }
                RelocationTarget::Label(value) => SymbolEntry {
                    name: format!(".L{value:x}").into(),
                    value,
                    ..SymbolEntry::local(Some(ObjectLayout::TEXT))
                },
                RelocationTarget::Symbol(_) | RelocationTarget::Abi(_) => continue,
            };
            table.refer_to(target, entry);
        }
        table.define(plan, architecture, layout, |scope| scope == Scope::Local);
        table.local_count = table.entries.len() as u32 + 1;
        table.define(plan, architecture, layout, |scope| scope != Scope::Local);
        table.add_outside_of_sections(plan, targets());
        table
    }

    /// Adds the absolute symbols, the undefined ones, and the ones that the ABI defines.
    fn add_outside_of_sections(&mut self, plan: &'plan ObjectPlan, targets: impl Iterator<Item = RelocationTarget>) {
        for symbol in &plan.absolute_symbols {
            let name = symbol.name.as_str().into();
            let value = symbol.value;
            let entry = SymbolEntry { name, value, special_section: elf::SHN_ABS, ..SymbolEntry::local(None) };
            self.entries.push(entry.with_scope(symbol.scope));
        }
        for (id, symbol) in plan.symbols.iter().enumerate() {
            if let Some(entry) = SymbolEntry::undefined(symbol) {
                self.refer_to(RelocationTarget::Symbol(SymbolId(id)), entry);
            }
        }
        for target in targets {
            if let RelocationTarget::Abi(name) = target {
                let entry = SymbolEntry { name: name.into(), bind: elf::STB_GLOBAL, ..SymbolEntry::local(None) };
                self.refer_to(target, entry);
            }
        }
    }

    /// Adds the symbols of some scopes that the plan defines in sections.
    fn define(
        &mut self,
        plan: &'plan ObjectPlan,
        architecture: &Architecture,
        layout: &ObjectLayout,
        has_scope: impl Fn(Scope) -> bool,
    ) {
        for (id, symbol) in plan.symbols.iter().enumerate().filter(|(_, symbol)| has_scope(symbol.scope)) {
            let Some((section, value, size)) = layout.place(symbol.definition) else { continue };
            let (kind, other) = match symbol.definition {
                Definition::Function(_) => (elf::STT_FUNC, elf::SymbolOther(architecture.elf.function_other)),
                _ => (elf::STT_OBJECT, elf::STV_DEFAULT.into()),
            };
            let name = symbol.name.as_str().into();
            let entry = SymbolEntry { name, kind, other, value, size, ..SymbolEntry::local(Some(section)) };
            self.refer_to(RelocationTarget::Symbol(SymbolId(id)), entry.with_scope(symbol.scope));
        }
    }

    /// Adds the symbol of a target unless it has one.
    fn refer_to(&mut self, target: RelocationTarget, entry: SymbolEntry<'plan>) {
        let index = match target {
            RelocationTarget::Symbol(symbol) => &mut self.of_symbols[symbol.0],
            other => self.of_others.entry(other).or_default(),
        };
        if *index == 0 {
            *index = self.entries.len() as u32 + 1;
            self.entries.push(entry);
        }
    }

    fn index_of(&self, target: RelocationTarget) -> u32 {
        match target {
            RelocationTarget::Symbol(symbol) => self.of_symbols[symbol.0],
            other => self.of_others[&other],
        }
    }
}

impl<'plan> SymbolEntry<'plan> {
    fn local(section: Option<usize>) -> Self {
        SymbolEntry {
            name: "".into(),
            section,
            special_section: elf::SHN_UNDEF,
            bind: elf::STB_LOCAL,
            kind: elf::STT_NOTYPE,
            other: elf::STV_DEFAULT.into(),
            value: 0,
            size: 0,
        }
    }

    /// Sets the binding and visibility of a scope. A local symbol keeps its own.
    fn with_scope(self, scope: Scope) -> Self {
        let other = match scope {
            Scope::Local => return self,
            Scope::Global => elf::STV_DEFAULT,
            Scope::Hidden => elf::STV_HIDDEN,
        };
        SymbolEntry { bind: elf::STB_GLOBAL, other: other.into(), ..self }
    }

    fn undefined(symbol: &'plan Symbol) -> Option<Self> {
        let (bind, other) = match symbol.definition {
            Definition::Undefined => (elf::STB_GLOBAL, elf::STV_DEFAULT.into()),
            Definition::UndefinedWeak => (elf::STB_WEAK, elf::STV_DEFAULT.into()),
            Definition::UndefinedHidden => (elf::STB_GLOBAL, elf::STV_HIDDEN.into()),
            Definition::Data { .. } | Definition::Function(_) => return None,
        };
        Some(SymbolEntry { name: symbol.name.as_str().into(), bind, other, ..SymbolEntry::local(None) })
    }
}
