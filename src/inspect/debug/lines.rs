//! Line tables: which line of which file an instruction comes from.

use std::collections::HashSet;

use gimli::{DebugLineOffset, IncompleteLineProgram, LineProgramHeader, Reader as _, Section as _};

use super::KernelSources;
use super::budget::{DwarfError, ParseBudget};
use super::reader::{Dwarf, Reader, Unit, text};
use crate::inspect::kernel::SourceLine;

/// The line tables that were looked at.
#[derive(Default)]
pub struct Lines {
    known: HashSet<usize>,
    /// Whether any has more than a header.
    pub has_rows: bool,
}

/// Size of an address on every device.
const ADDRESS_SIZE: u8 = 8;

/// What stands before the length of a table that is not in its length, by the format of DWARF.
fn initial_length_size(header: &LineProgramHeader<Reader<'_>>) -> usize {
    usize::from(header.format().initial_length_size())
}

impl Lines {
    /// Notes the sources of kernels that are wanted still.
    pub fn run(
        &mut self,
        dwarf: &Dwarf<'_>,
        unit: Option<&Unit<'_>>,
        program: IncompleteLineProgram<Reader<'_>>,
        sources: &mut KernelSources,
        budget: &mut ParseBudget,
    ) -> Result<(), DwarfError> {
        let header = program.header();
        budget.charge(header.header_length())?;
        if !self.known.insert(header.offset().0) {
            return Ok(());
        }
        let size = header.raw_program_buf().len();
        budget.charge(size)?;
        self.has_rows |= size > 0;
        if sources.missing > 0 { rows(dwarf, unit, program, sources, budget) } else { Ok(()) }
    }

    /// The tables that belong to no unit. ptxas and clang's `-gline-directives-only` make nothing but those.
    pub fn run_unreferenced(
        &mut self,
        dwarf: &Dwarf<'_>,
        sources: &mut KernelSources,
        budget: &mut ParseBudget,
    ) -> Result<(), DwarfError> {
        let size = dwarf.debug_line.reader().len();
        let mut offset = 0;
        while offset < size {
            let program = dwarf.debug_line.program(DebugLineOffset(offset), ADDRESS_SIZE, None, None)?;
            let header = program.header();
            let behind = offset.saturating_add(header.unit_length()).saturating_add(initial_length_size(header));
            self.run(dwarf, None, program, sources, budget)?;
            offset = behind;
        }
        Ok(())
    }
}

/// Runs a table's program. The row at a kernel's first instruction is the kernel's, or the first after it that has a line:
/// what the compiler made by itself has none.
fn rows(
    dwarf: &Dwarf<'_>,
    unit: Option<&Unit<'_>>,
    program: IncompleteLineProgram<Reader<'_>>,
    sources: &mut KernelSources,
    budget: &mut ParseBudget,
) -> Result<(), DwarfError> {
    let mut rows = program.rows();
    let mut kernel = None;
    while let Some((header, row)) = rows.next_row()? {
        budget.charge(0)?;
        if row.end_sequence() {
            kernel = None;
            continue;
        }
        if sources.is_missing(row.address()) {
            kernel = Some(row.address());
        }
        if let (Some(entry), Some(line)) = (kernel, row.line()) {
            if let Some(file) = file_name(dwarf, unit, header, row.file_index(), budget)? {
                sources.insert(entry, SourceLine { file, line: line.get() });
            }
            kernel = None;
        }
    }
    Ok(())
}

/// A file of a line table's list with its folders, each of which may be relative to the one before.
pub fn file_name(
    dwarf: &Dwarf<'_>,
    unit: Option<&Unit<'_>>,
    header: &LineProgramHeader<Reader<'_>>,
    index: u64,
    budget: &mut ParseBudget,
) -> Result<Option<String>, DwarfError> {
    let Some(file) = header.file(index) else { return Ok(None) };
    let mut string = |value| -> Result<String, DwarfError> {
        let reader = match unit {
            Some(unit) => dwarf.attr_string(unit, value)?,
            None => dwarf.attr_line_string(value)?,
        };
        text(&reader, budget)
    };
    let mut path = string(file.path_name())?;
    let folder = file.directory(header).map(&mut string).transpose()?;
    let unit_folder = unit.and_then(|unit| unit.comp_dir.clone());
    let unit_folder = unit_folder.map(|folder| text(&folder, budget)).transpose()?;
    for folder in folder.into_iter().chain(unit_folder) {
        if path.starts_with('/') || folder.is_empty() {
            break;
        }
        path = format!("{}/{path}", folder.trim_end_matches('/'));
    }
    Ok(Some(path))
}
