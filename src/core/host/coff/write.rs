//! Writes the file in one pass: file header, section headers, section data with relocations, symbols, strings.

use object::pe;
use object::write::coff::{
    AuxSymbolSection, AuxSymbolWeak, FileHeader, Name, Relocation, SectionHeader, Symbol as CoffSymbol, Writer,
};

use super::layout::{CoffLayout, CoffSection, CoffTarget};
use crate::base::content::Content;
use crate::base::io::Sink;
use crate::host::architecture::CoffMachine;
use crate::host::error::HostError;
use crate::host::layout::Code;
use crate::host::plan::ObjectPlan;
use crate::host::symbol::{Definition, Scope, Symbol, SymbolId};

/// Alignment of section data in the file, as LLVM has it.
const DATA_ALIGNMENT: u64 = 4;

/// Name of the symbol that records the source file.
const FILE_SYMBOL: &[u8] = b".file";

/// Places of the parts of the file.
struct FileLayout {
    /// Offset of the data and of the relocations of each section.
    sections: Vec<(u32, u32)>,
    /// Names of the sections.
    section_names: Vec<Name>,
    /// Number of auxiliary records with the name of the source file.
    file_records: u8,
    /// Index of the symbol of each section.
    section_symbols: Vec<u32>,
    /// Index and name of each symbol of the plan.
    symbols: Vec<(u32, Name)>,
    /// Name of each absolute symbol of the plan.
    absolute_symbols: Vec<Name>,
}

/// Writes the sections of a plan into `sink`.
pub fn write(
    plan: &ObjectPlan,
    machine: &CoffMachine,
    code: &Code,
    sections: &[CoffSection],
    sink: &mut Sink,
) -> Result<(), HostError> {
    let mut writer = Writer::new(sink);
    let layout = reserve(&mut writer, plan, sections).map_err(HostError::object_file)?;
    let size = writer.reserved_len();
    if u32::try_from(size).is_err() {
        return Err(HostError::ObjectTooLarge { format: "COFF", size });
    }

    let time_date_stamp = 0;
    let characteristics = pe::FileFlags(0);
    let header = FileHeader { machine: machine.machine, time_date_stamp, characteristics };
    writer.write_file_header(header).map_err(HostError::object_file)?;
    for (index, section) in sections.iter().enumerate() {
        writer.write_section_header(section_header(section, layout.section_names[index], layout.sections[index]));
    }
    for (section, &(data, _)) in sections.iter().zip(&layout.sections) {
        write_section(&mut writer, section, data, &layout);
    }
    write_symbols(&mut writer, plan, code, sections, &layout);
    writer.write_strtab();
    Ok(())
}

/// Reserves all parts in the order of the file.
fn reserve<'a>(
    writer: &mut Writer<'a>,
    plan: &'a ObjectPlan<'_>,
    sections: &'a [CoffSection<'_>],
) -> object::write::Result<FileLayout> {
    writer.reserve_file_header();
    writer.reserve_section_headers(sections.len() as u16);
    let places = sections.iter().map(|section| reserve_section(writer, section)).collect();
    let section_names = sections.iter().map(|section| writer.add_name(section.name.as_bytes())).collect();

    writer.reserve_symbol_index();
    let file_records = writer.reserve_aux_file_name(plan.source_name.as_bytes());
    let section_symbols = sections.iter().map(|_| {
        let index = writer.reserve_symbol_index();
        writer.reserve_aux_section();
        index
    });
    let section_symbols = section_symbols.collect();
    let symbols = plan.symbols.iter().map(|symbol| {
        if symbol.definition == Definition::UndefinedWeak {
            // The default of the weak reference.
            writer.reserve_symbol_index();
        }
        let index = writer.reserve_symbol_index();
        if symbol.definition == Definition::UndefinedWeak {
            writer.reserve_aux_weak_external();
        }
        (index, writer.add_name(symbol.name.as_bytes()))
    });
    let symbols = symbols.collect();
    let absolute_symbols = plan.absolute_symbols.iter().map(|symbol| {
        writer.reserve_symbol_index();
        writer.add_name(symbol.name.as_bytes())
    });
    let absolute_symbols = absolute_symbols.collect();
    writer.reserve_symtab_strtab()?;
    Ok(FileLayout { sections: places, section_names, file_records, section_symbols, symbols, absolute_symbols })
}

/// Reserves data and relocations of a section, and returns their offsets.
fn reserve_section(writer: &mut Writer<'_>, section: &CoffSection) -> (u32, u32) {
    let data = match section.content.in_file() {
        Some(content) if content.size() > 0 => {
            writer.reserve_until(section.content.file_offset(writer.reserved_len(), DATA_ALIGNMENT));
            writer.reserve(content.size(), 1)
        }
        _ => 0,
    };
    (data, writer.reserve_relocations(section.relocations.len()))
}

fn section_header(section: &CoffSection, name: Name, (data, relocations): (u32, u32)) -> SectionHeader {
    // The field holds the binary logarithm plus one.
    let alignment = pe::SectionFlags((section.alignment.trailing_zeros() + 1) << 20);
    SectionHeader {
        name,
        size_of_raw_data: section.content.size() as u32,
        pointer_to_raw_data: data,
        pointer_to_relocations: relocations,
        number_of_relocations: section.relocations.len() as u32,
        characteristics: section.flags | alignment,
        ..Default::default()
    }
}

fn write_section(writer: &mut Writer<'_>, section: &CoffSection, data: u32, layout: &FileLayout) {
    if data > 0 {
        writer.pad_until(data.into());
    }
    for run in section.content.in_file().into_iter().flat_map(Content::runs) {
        writer.write(run);
    }
    writer.write_relocations_count(section.relocations.len());
    for relocation in &section.relocations {
        let symbol = match relocation.target {
            CoffTarget::Symbol(SymbolId(id)) => layout.symbols[id].0,
            CoffTarget::Section(index) => layout.section_symbols[index],
        };
        writer.write_relocation(Relocation { virtual_address: relocation.offset as u32, symbol, typ: relocation.kind });
    }
}

/// Writes the symbols: the source's name, the sections, and the plan's own. The plan's names stay unchanged: neither
/// x64 nor ARM64 puts an underscore before them.
fn write_symbols(
    writer: &mut Writer<'_>,
    plan: &ObjectPlan,
    code: &Code,
    sections: &[CoffSection],
    layout: &FileLayout,
) {
    let mut file_name = [0; 8];
    file_name[..FILE_SYMBOL.len()].copy_from_slice(FILE_SYMBOL);
    writer.write_symbol(CoffSymbol {
        name: Name::Short(file_name),
        section_number: pe::IMAGE_SYM_DEBUG,
        storage_class: pe::IMAGE_SYM_CLASS_FILE,
        number_of_aux_symbols: layout.file_records,
        ..Default::default()
    });
    writer.write_aux_file_name(plan.source_name.as_bytes(), layout.file_records);
    for (index, section) in sections.iter().enumerate() {
        writer.write_symbol(CoffSymbol {
            name: layout.section_names[index],
            section_number: section_number(index),
            storage_class: pe::IMAGE_SYM_CLASS_STATIC,
            number_of_aux_symbols: 1,
            ..Default::default()
        });
        writer.write_aux_section(AuxSymbolSection {
            length: section.content.size() as u32,
            number_of_relocations: section.relocations.len() as u32,
            // Two definitions of one symbol are an error, as they are in other sections.
            selection: if section.is_comdat { pe::IMAGE_COMDAT_SELECT_NODUPLICATES } else { pe::ComdatSelection(0) },
            ..Default::default()
        });
    }
    for (symbol, &(index, name)) in plan.symbols.iter().zip(&layout.symbols) {
        write_symbol(writer, symbol, name, index, code);
    }
    for (symbol, &name) in plan.absolute_symbols.iter().zip(&layout.absolute_symbols) {
        writer.write_symbol(CoffSymbol {
            name,
            value: symbol.value as u32,
            section_number: pe::IMAGE_SYM_ABSOLUTE,
            storage_class: storage_class(symbol.scope),
            ..Default::default()
        });
    }
}

/// Returns the storage class of a symbol that the object defines. Libraries export only the symbols that they list, so
/// hidden symbols are treated like global ones.
fn storage_class(scope: Scope) -> pe::SymbolClass {
    match scope {
        Scope::Local => pe::IMAGE_SYM_CLASS_STATIC,
        Scope::Global | Scope::Hidden => pe::IMAGE_SYM_CLASS_EXTERNAL,
    }
}

fn write_symbol(writer: &mut Writer<'_>, symbol: &Symbol, name: Name, index: u32, code: &Code) {
    let (section_number, value, typ, storage_class) = match symbol.definition {
        Definition::Data { section, offset, .. } => (
            section_number(CoffLayout::TEXT + 1 + section.0),
            offset as u32,
            pe::SymbolType(0),
            storage_class(symbol.scope),
        ),
        Definition::Function(function) => (
            section_number(CoffLayout::TEXT),
            code.starts[function] as u32,
            pe::IMAGE_SYM_DTYPE_FUNCTION.into(),
            storage_class(symbol.scope),
        ),
        Definition::Undefined | Definition::UndefinedHidden => {
            (pe::IMAGE_SYM_UNDEFINED, 0, pe::SymbolType(0), pe::IMAGE_SYM_CLASS_EXTERNAL)
        }
        Definition::UndefinedWeak => return write_weak_reference(writer, name, index),
    };
    writer.write_symbol(CoffSymbol { name, value, section_number, typ, storage_class, number_of_aux_symbols: 0 });
}

/// Writes the default of a weak reference, the address 0, and the reference itself at `index`.
fn write_weak_reference(writer: &mut Writer<'_>, name: Name, index: u32) {
    writer.write_symbol(CoffSymbol {
        name: Name::Short(*b".default"),
        section_number: pe::IMAGE_SYM_ABSOLUTE,
        storage_class: pe::IMAGE_SYM_CLASS_STATIC,
        ..Default::default()
    });
    writer.write_symbol(CoffSymbol {
        name,
        section_number: pe::IMAGE_SYM_UNDEFINED,
        storage_class: pe::IMAGE_SYM_CLASS_WEAK_EXTERNAL,
        number_of_aux_symbols: 1,
        ..Default::default()
    });
    let weak_search_type = pe::IMAGE_WEAK_EXTERN_SEARCH_ALIAS;
    writer.write_aux_weak_external(AuxSymbolWeak { weak_default_sym_index: index - 1, weak_search_type });
}

/// Returns the number of a section in the symbol table, which begins with 1.
fn section_number(index: usize) -> pe::SymbolSection {
    pe::SymbolSection(index as i32 + 1)
}
