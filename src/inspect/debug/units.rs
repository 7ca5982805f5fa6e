//! Compile units, and the functions in them that are kernels.

use std::collections::HashSet;

use gimli::{AbbreviationsCacheStrategy, AttributeValue, DebuggingInformationEntry, Reader as _, Section as _, Unit};

use super::lines::{self, Lines};
use super::work::{Stop, Work};
use super::{CompileUnit, Debug, DebugLevel, Reader, Sources};
use crate::inspect::kernel::SourceLine;

pub type Dwarf<'a> = gimli::Dwarf<Reader<'a>>;
pub type UnitOf<'a> = Unit<Reader<'a>>;

/// Reads all units, and then what line tables there are besides.
pub fn read(dwarf: &mut Dwarf<'_>, debug: &mut Debug, sources: &mut Sources, work: &mut Work) -> Result<(), Stop> {
    pay_for_abbreviations(dwarf, work)?;
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
    let mut lines = Lines::default();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        debug.units.push(compile_unit(dwarf, &unit, work)?);
        if functions(dwarf, &unit, sources, work)? {
            debug.level = DebugLevel::Full;
        }
        if let Some(program) = unit.line_program.clone() {
            lines.run(dwarf, Some(&unit), program, sources, work)?;
        }
    }
    lines.run_others(dwarf, sources, work)?;
    if lines.has_rows {
        debug.level = debug.level.max(DebugLevel::Lines);
    }
    Ok(())
}

/// Tables of abbreviations are read whole, one for each offset that a unit states. Where they begin within one another
/// that is more than the section has bytes, and here it is paid for beforehand.
fn pay_for_abbreviations(dwarf: &Dwarf<'_>, work: &mut Work) -> Result<(), Stop> {
    let mut known = HashSet::new();
    let mut headers = dwarf.units();
    while let Some(header) = headers.next()? {
        let offset = header.debug_abbrev_offset().0;
        if !known.insert(offset) {
            continue;
        }
        let mut table = dwarf.debug_abbrev.reader().clone();
        table.skip(offset)?;
        while table.read_uleb128()? != 0 {
            work.spend(0)?;
            table.skip_leb128()?;
            table.read_u8()?;
            loop {
                work.spend(0)?;
                let (name, form) = (table.read_uleb128()?, table.read_uleb128()?);
                if form == u64::from(gimli::DW_FORM_implicit_const.0) {
                    table.skip_leb128()?;
                }
                if (name, form) == (0, 0) {
                    break;
                }
            }
        }
    }
    Ok(())
}

fn compile_unit(dwarf: &Dwarf<'_>, unit: &UnitOf<'_>, work: &mut Work) -> Result<CompileUnit, Stop> {
    let mut entries = unit.entries();
    let producer = match entries.next_dfs()? {
        Some(root) => root.attr_value(gimli::DW_AT_producer),
        None => None,
    };
    let producer = producer.and_then(|value| dwarf.attr_string(unit, value).ok());
    let mut text = |reader: Option<&Reader<'_>>| reader.map(|reader| text(reader, work)).transpose();
    Ok(CompileUnit {
        name: text(unit.name.as_ref())?,
        directory: text(unit.comp_dir.as_ref())?,
        producer: text(producer.as_ref())?,
        version: unit.encoding().version,
    })
}

/// A string of the file.
pub fn text(reader: &Reader<'_>, work: &mut Work) -> Result<String, Stop> {
    work.spend(reader.len())?;
    Ok(reader.to_string_lossy()?.into_owned())
}

/// Notes the sources of kernels among the functions of a unit; true if the unit has more than lines. A unit for lines only
/// may have functions too, those that were inlined, but they are not said to be declared anywhere and have no types.
fn functions<'a>(dwarf: &Dwarf<'a>, unit: &UnitOf<'a>, sources: &mut Sources, work: &mut Work) -> Result<bool, Stop> {
    let mut is_full = false;
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        work.spend(entry.attrs().len())?;
        is_full |= entry.has_attr(gimli::DW_AT_decl_line) || entry.has_attr(gimli::DW_AT_type);
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let Some(low_pc) = entry.attr_value(gimli::DW_AT_low_pc) else { continue };
        let address = dwarf.attr_address(unit, low_pc)?;
        if let Some(address) = address.filter(|&address| sources.wants(address))
            && let Some(source) = declaration(dwarf, unit, entry, work)?
        {
            sources.note(address, source);
        }
    }
    Ok(is_full)
}

/// What a function may have instead of saying itself where it is declared.
const REFERENCES: [gimli::DwAt; 2] = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];

/// An inlined function refers to its abstract form and that to a declaration in a class.
const MOST_REFERENCES: usize = 4;

fn declaration<'a>(
    dwarf: &Dwarf<'a>,
    unit: &UnitOf<'a>,
    entry: &DebuggingInformationEntry<Reader<'a>>,
    work: &mut Work,
) -> Result<Option<SourceLine>, Stop> {
    let mut entry = entry.clone();
    for _ in 0..MOST_REFERENCES {
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let file = match entry.attr_value(gimli::DW_AT_decl_file) {
            Some(AttributeValue::FileIndex(file)) => Some(file),
            _ => None,
        };
        if let (Some(file), Some(line)) = (file, number(gimli::DW_AT_decl_line))
            && let Some(program) = &unit.line_program
        {
            let file = lines::file_name(dwarf, Some(unit), program.header(), file, work)?;
            return Ok(file.map(|file| SourceLine { file, line }));
        }
        let reference = REFERENCES.iter().find_map(|&name| entry.attr_value(name));
        let Some(AttributeValue::UnitRef(offset)) = reference else { return Ok(None) };
        entry = unit.entry(offset)?;
        work.spend(entry.attrs().len())?;
    }
    Ok(None)
}
