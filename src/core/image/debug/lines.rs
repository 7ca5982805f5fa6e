//! Line tables: source lines of instructions.

use std::collections::HashSet;
use std::iter;

use gimli::{DebugLineOffset, IncompleteLineProgram, LineProgramHeader, Reader as _, Section as _};

use super::KernelSources;
use super::budget::{DwarfError, ParseBudget};
use super::reader::{Dwarf, Reader, Unit, text};
use crate::image::kernel::SourceLine;

/// Line tables that were read.
#[derive(Debug, Default)]
pub struct Lines {
    known: HashSet<usize>,
    /// True if any table has rows.
    pub has_rows: bool,
}

/// Size of an address on every device.
const ADDRESS_SIZE: u8 = 8;

/// Reads all tables, including those that no unit refers to: ptxas and clang's `-gline-directives-only` emit only such
/// tables. Ends after the first error.
pub fn tables<'a>(dwarf: &Dwarf<'a>) -> impl Iterator<Item = Result<IncompleteLineProgram<Reader<'a>>, DwarfError>> {
    let size = dwarf.debug_line.reader().len();
    let mut offset = 0;
    iter::from_fn(move || {
        if offset >= size {
            return None;
        }
        let table = dwarf.debug_line.program(DebugLineOffset(offset), ADDRESS_SIZE, None, None);
        let table = table.map_err(DwarfError::from).and_then(|table| {
            offset = next_table(offset, table.header())?;
            Ok(table)
        });
        if table.is_err() {
            offset = size;
        }
        Some(table)
    })
}

/// Offset of the table after the one at an offset. The length of a table does not count its own field.
fn next_table(offset: usize, header: &LineProgramHeader<Reader<'_>>) -> Result<usize, DwarfError> {
    let length_size = usize::from(header.format().initial_length_size());
    let size = header.unit_length().checked_add(length_size);
    let next = size.and_then(|size| offset.checked_add(size));
    Ok(next.ok_or(gimli::Error::OffsetOutOfBounds(offset as u64))?)
}

impl Lines {
    /// Runs a line program and records the source lines of kernels.
    pub fn run(
        &mut self,
        dwarf: &Dwarf<'_>,
        unit: Option<&Unit<'_>>,
        program: IncompleteLineProgram<Reader<'_>>,
        sources: &mut KernelSources,
        budget: ParseBudget<'_>,
    ) -> Result<(), DwarfError> {
        let header = program.header();
        budget.charge(header.header_length())?;
        if !self.known.insert(header.offset().0) {
            return Ok(());
        }
        let size = header.raw_program_buf().len();
        budget.charge(size)?;
        self.has_rows |= size > 0;
        if sources.missing.is_empty() { Ok(()) } else { rows(dwarf, unit, program, sources, budget) }
    }

    /// Time stamps of the source files in all tables, without 0, which is none. Only DWARF before version 5 has them.
    pub fn time_stamps(dwarf: &Dwarf<'_>, budget: ParseBudget<'_>) -> Result<Vec<u64>, DwarfError> {
        let mut stamps = Vec::new();
        for table in tables(dwarf) {
            let table = table?;
            budget.charge(table.header().header_length())?;
            let files = table.header().file_names().iter();
            stamps.extend(files.map(gimli::FileEntry::timestamp).filter(|&stamp| stamp != 0));
        }
        Ok(stamps)
    }
}

/// Runs a line program. The source line of a kernel is the line of its first instruction that has one.
/// Compiler-generated code has none.
fn rows(
    dwarf: &Dwarf<'_>,
    unit: Option<&Unit<'_>>,
    program: IncompleteLineProgram<Reader<'_>>,
    sources: &mut KernelSources,
    budget: ParseBudget<'_>,
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
            let index = row.file_index();
            match file_name(dwarf, unit, header, index, budget)? {
                Some(file) => sources.insert(entry, SourceLine { file, line: line.get() }),
                None if index == 0 => {}
                None => return Err(DwarfError::UnknownFile { index, count: header.file_names().len() }),
            }
            kernel = None;
        }
    }
    Ok(())
}

/// Path of a file in the list of a line table. Each of its directories may be relative to the next.
pub fn file_name(
    dwarf: &Dwarf<'_>,
    unit: Option<&Unit<'_>>,
    header: &LineProgramHeader<Reader<'_>>,
    index: u64,
    budget: ParseBudget<'_>,
) -> Result<Option<String>, DwarfError> {
    let Some(file) = header.file(index) else { return Ok(None) };
    let string = |value| -> Result<String, DwarfError> {
        let reader = match unit {
            Some(unit) => dwarf.attr_string(unit, value)?,
            None => dwarf.attr_line_string(value)?,
        };
        text(&reader, budget)
    };
    let mut path = string(file.path_name())?;
    let directory = file.directory(header).map(string).transpose()?;
    let unit_directory = unit.and_then(|unit| unit.comp_dir.clone());
    let unit_directory = unit_directory.map(|directory| text(&directory, budget)).transpose()?;
    for directory in directory.into_iter().chain(unit_directory) {
        if path.starts_with('/') || directory.is_empty() {
            break;
        }
        path = format!("{}/{path}", directory.trim_end_matches('/'));
    }
    Ok(Some(path))
}
