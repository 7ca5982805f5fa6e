//! Compile units, and the functions in them that are kernels.

use std::collections::HashSet;

use gimli::{
    AbbreviationsCacheStrategy, AttributeValue, DebugInfoUnitHeadersIter, DebuggingInformationEntry, Reader as _,
    Section as _,
};

use super::budget::{DwarfError, ParseBudget};
use super::lines::{self, Lines};
use super::reader::{Dwarf, Reader, Unit, text};
use super::{CompileUnit, DebugInfo, DebugLevel, KernelSources};
use crate::image::kernel::SourceLine;

/// Reads all units, then the line tables that no unit refers to.
pub fn read(
    dwarf: &mut Dwarf<'_>,
    debug: &mut DebugInfo,
    sources: &mut KernelSources,
    budget: ParseBudget<'_>,
) -> Result<(), DwarfError> {
    let mut lines = Lines::default();
    let mut headers = headers(dwarf, budget)?;
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        debug.units.push(compile_unit(dwarf, &unit, budget)?);
        if functions(dwarf, &unit, sources, budget)? {
            debug.level = DebugLevel::Full;
        }
        if let Some(program) = unit.line_program.clone() {
            lines.run(dwarf, Some(&unit), program, sources, budget)?;
        }
    }
    for table in lines::tables(dwarf) {
        lines.run(dwarf, None, table?, sources, budget)?;
    }
    if lines.has_rows {
        debug.level = debug.level.max(DebugLevel::Lines);
    }
    Ok(())
}

/// Reads the headers of all units, in the order of their offsets.
pub fn all<'a>(dwarf: &mut Dwarf<'a>, budget: ParseBudget<'_>) -> Result<Vec<Unit<'a>>, DwarfError> {
    let mut units = Vec::new();
    let mut headers = headers(dwarf, budget)?;
    while let Some(header) = headers.next()? {
        let unit = dwarf.unit(header)?;
        budget.charge_records(1, size_of::<Unit<'_>>())?;
        units.push(unit);
    }
    Ok(units)
}

/// The headers of all units. Tables of abbreviations that several units share are read once.
fn headers<'a>(
    dwarf: &mut Dwarf<'a>,
    budget: ParseBudget<'_>,
) -> Result<DebugInfoUnitHeadersIter<Reader<'a>>, DwarfError> {
    charge_abbreviations(dwarf, budget)?;
    dwarf.populate_abbreviations_cache(AbbreviationsCacheStrategy::Duplicates);
    Ok(dwarf.units())
}

/// Charges the cost of all abbreviation tables in advance. `gimli` parses each table from the offset in a unit to the
/// end of the table, so overlapping tables cost more than the bytes of the section.
fn charge_abbreviations(dwarf: &Dwarf<'_>, budget: ParseBudget<'_>) -> Result<(), DwarfError> {
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
            budget.charge(0)?;
            table.skip_leb128()?;
            table.read_u8()?;
            loop {
                budget.charge(0)?;
                let name = table.read_uleb128()?;
                let form = table.read_uleb128()?;
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

fn compile_unit(dwarf: &Dwarf<'_>, unit: &Unit<'_>, budget: ParseBudget<'_>) -> Result<CompileUnit, DwarfError> {
    let mut entries = unit.entries();
    let root = entries.next_dfs()?;
    let string = |name| dwarf.attr_string(unit, root.as_ref()?.attr_value(name)?).ok();
    let producer = string(gimli::DW_AT_producer);
    let split_file = string(gimli::DW_AT_dwo_name).or_else(|| string(gimli::DW_AT_GNU_dwo_name));
    let text = |reader: Option<&Reader<'_>>| -> Result<Option<String>, DwarfError> {
        let text = reader.map(|reader| text(reader, budget)).transpose()?;
        Ok(text.filter(|text| !text.is_empty()))
    };
    Ok(CompileUnit {
        name: text(unit.name.as_ref())?,
        directory: text(unit.comp_dir.as_ref())?,
        producer: text(producer.as_ref())?,
        split_file: text(split_file.as_ref())?,
        version: unit.encoding().version,
    })
}

/// Records the source lines of kernels among the functions of a unit. Returns whether the unit has full debug
/// information. A unit with only line information may have inlined functions, but they have neither declarations nor
/// types.
fn functions<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    sources: &mut KernelSources,
    budget: ParseBudget<'_>,
) -> Result<bool, DwarfError> {
    let mut is_full = false;
    let mut entries = unit.entries();
    while let Some(entry) = entries.next_dfs()? {
        budget.charge(entry.attrs().len())?;
        is_full |= entry.has_attr(gimli::DW_AT_decl_line) || entry.has_attr(gimli::DW_AT_type);
        if entry.tag() != gimli::DW_TAG_subprogram {
            continue;
        }
        let Some(low_pc) = entry.attr_value(gimli::DW_AT_low_pc) else { continue };
        let address = dwarf.attr_address(unit, low_pc)?;
        if let Some(address) = address.filter(|&address| sources.is_missing(address))
            && let Some(source) = declaration(dwarf, unit, entry, budget)?
        {
            sources.insert(address, source);
        }
    }
    Ok(is_full)
}

/// Attributes of a function that refer to an entry with its declaration.
pub const REFERENCES: [gimli::DwAt; 2] = [gimli::DW_AT_abstract_origin, gimli::DW_AT_specification];

/// Maximum length of a chain of references: an inlined function refers to its abstract instance, which refers to a
/// declaration in a class.
pub const MAX_REFERENCES: usize = 4;

fn declaration<'a>(
    dwarf: &Dwarf<'a>,
    unit: &Unit<'a>,
    entry: &DebuggingInformationEntry<Reader<'a>>,
    budget: ParseBudget<'_>,
) -> Result<Option<SourceLine>, DwarfError> {
    let mut entry = entry.clone();
    for _ in 0..MAX_REFERENCES {
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let file = match entry.attr_value(gimli::DW_AT_decl_file) {
            Some(AttributeValue::FileIndex(file)) => Some(file),
            _ => None,
        };
        if let (Some(file), Some(line)) = (file, number(gimli::DW_AT_decl_line))
            && let Some(program) = &unit.line_program
        {
            let file = lines::file_name(dwarf, Some(unit), program.header(), file, budget)?;
            return Ok(file.map(|file| SourceLine { file, line }));
        }
        let reference = REFERENCES.iter().find_map(|&name| entry.attr_value(name));
        let Some(AttributeValue::UnitRef(offset)) = reference else { return Ok(None) };
        entry = unit.entry(offset)?;
        budget.charge(entry.attrs().len())?;
    }
    Ok(None)
}

#[cfg(test)]
mod tests {
    use gimli::{DwarfSections, RunTimeEndian, SectionId};

    use super::*;
    use crate::base::bytes::{Budget, Limits, View};
    use crate::image::debug::sections::DebugSection;

    /// Reads these sections with the budget of a small file.
    fn read_sections(sections: &[(SectionId, &[u8])]) -> (Result<(), DwarfError>, DebugInfo) {
        let section = |id| sections.iter().find(|(known, _)| *known == id).map_or(&[][..], |(_, bytes)| bytes);
        let Ok(loaded) = DwarfSections::load(|id| Ok::<_, std::convert::Infallible>(DebugSection::of(section(id))));
        let mut dwarf = loaded.borrow(|section| section.reader(RunTimeEndian::Little));
        let budget = Budget::new(Limits::default(), 0);
        let mut debug = DebugInfo::default();
        let mut sources = KernelSources::new([0].into_iter());
        (read(&mut dwarf, &mut debug, &mut sources, ParseBudget(View::with_budget(&[], &budget))), debug)
    }

    /// A unit of version 4 with one entry of the first abbreviation.
    fn unit(abbreviations: u32, entry: &[u8]) -> Vec<u8> {
        let length = 7 + entry.len() as u32;
        [&length.to_le_bytes()[..], &[4, 0], &abbreviations.to_le_bytes(), &[8], entry].concat()
    }

    #[test]
    fn stops_at_overlapping_abbreviation_tables() {
        // Abbreviations for compile units without attributes, and for each of them a unit whose table begins there.
        let count = 3000_u32;
        let table: Vec<u8> = (0..count).flat_map(|_| [1, 0x11, 0, 0, 0]).chain([0]).collect();
        let units: Vec<u8> = (0..count).flat_map(|number| unit(number * 5, &[1])).collect();
        let (result, debug) = read_sections(&[(SectionId::DebugAbbrev, &table), (SectionId::DebugInfo, &units)]);
        assert!(matches!(result, Err(DwarfError::BudgetExhausted(_))));
        assert!(debug.units.is_empty());
        let one = [(SectionId::DebugAbbrev, &[1, 0x11, 0, 0, 0, 0][..]), (SectionId::DebugInfo, &unit(0, &[1]))];
        let (result, debug) = read_sections(&one);
        assert!(result.is_ok() && debug.units.len() == 1);
    }

    #[test]
    fn units_name_the_file_of_split_debug_information() {
        // DW_AT_GNU_dwo_name, or DW_AT_dwo_name of DWARF 5, as DW_FORM_string.
        for name in [&[0xb0, 0x42][..], &[0x76]] {
            let abbreviations = [&[1, 0x11, 0][..], name, &[0x08, 0, 0, 0]].concat();
            let unit = unit(0, b"\x01k.dwo\0");
            let sections = [(SectionId::DebugAbbrev, &abbreviations[..]), (SectionId::DebugInfo, &unit)];
            let (result, debug) = read_sections(&sections);
            assert!(result.is_ok());
            assert_eq!(debug.units[0].split_file.as_deref(), Some("k.dwo"));
        }
    }

    #[test]
    fn stops_at_a_line_table_shared_by_too_many_units() {
        // DW_AT_stmt_list as DW_FORM_sec_offset.
        let abbreviations = [1, 0x11, 0, 0x10, 0x17, 0, 0, 0];
        // Version 3 with standard opcodes of one operand each, a directory with a long name, a file, and many rows.
        let name = vec![b'x'; 5000];
        let front =
            [&[1, 1, 0xfb, 14, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1][..], &name, &[0, 0, b'f', 0, 0, 0, 0, 0]].concat();
        let program = vec![1; 5000];
        let body = [&3_u16.to_le_bytes()[..], &(front.len() as u32).to_le_bytes(), &front, &program].concat();
        let table = [&(body.len() as u32).to_le_bytes()[..], &body].concat();
        let read_units = |count| {
            let units: Vec<u8> = (0..count).flat_map(|_| unit(0, &[1, 0, 0, 0, 0])).collect();
            let sections = [
                (SectionId::DebugAbbrev, &abbreviations[..]),
                (SectionId::DebugInfo, &units),
                (SectionId::DebugLine, &table),
            ];
            read_sections(&sections)
        };
        let (result, debug) = read_units(10);
        assert!(
            result.is_ok() && debug.level == DebugLevel::Lines,
            "{:?}",
            result.err().map(|error| error.to_string())
        );
        assert!(matches!(read_units(2000).0, Err(DwarfError::BudgetExhausted(_))));
    }
}
