//! Rows of line tables for lookups by address, with the inlined calls that ptxas states in them.

use std::collections::HashMap;

use gimli::{DwLne, IncompleteLineProgram, LineInstruction, LineRow, Reader as _, Section as _};

use super::budget::{DwarfError, ParseBudget};
use super::collected::{Collected, Position, Row, Scope, ScopeNumber};
use super::lines;
use super::reader::{Dwarf, Reader, Unit, text};

/// Opcode of ptxas that makes the following rows belong to an inlined function. Its operands are the number of the row
/// that is the call, counted from 1 in the sequence, or 0 for no function, and the offset of the function's name in
/// `.debug_str`. Source: `nvdisasm -gi` and `.debug_line` of ptxas 13.0 for `.loc … function_name …, inlined_at …`;
/// elfutils' name for the opcode.
const INLINED_CALL: DwLne = DwLne(0x90);

/// Runs line programs and collects their rows.
pub struct RowReader<'r, 'data> {
    pub dwarf: &'r Dwarf<'data>,
    pub collected: &'r mut Collected,
    pub budget: ParseBudget<'r>,
}

impl<'data> RowReader<'_, 'data> {
    pub fn run(
        &mut self,
        unit: Option<&Unit<'data>>,
        mut program: IncompleteLineProgram<Reader<'data>>,
    ) -> Result<(), DwarfError> {
        self.budget.charge(program.header().raw_program_buf().len())?;
        let mut files = HashMap::new();
        let mut row = LineRow::new(program.header());
        let mut rows = Rows::default();
        let mut instructions = program.header().instructions();
        while let Some(instruction) = instructions.next_instruction(program.header())? {
            self.budget.charge(0)?;
            if let LineInstruction::UnknownExtended(INLINED_CALL, mut operands) = instruction.clone() {
                let caller = usize::try_from(operands.read_uleb128()?).unwrap_or(usize::MAX);
                let name = operands.read_uleb128()?;
                rows.scope = match caller.checked_sub(1).and_then(|index| rows.rows.get(index)).copied() {
                    Some(caller) => Some(self.inlined(&mut rows, caller, name)?),
                    None => None,
                };
            }
            if !row.execute(instruction, &mut program)? {
                continue;
            }
            if row.end_sequence() {
                self.collected.add_sequence(row.address(), std::mem::take(&mut rows.rows), self.budget)?;
                rows = Rows::default();
            } else {
                let file = self.file(unit, &program, &mut files, row.file_index())?;
                let line = row.line().and_then(|line| u32::try_from(line.get()).ok());
                let column = match row.column() {
                    gimli::ColumnType::LeftEdge => None,
                    gimli::ColumnType::Column(column) => u32::try_from(column.get()).ok(),
                };
                let position = Position { file, line, column };
                rows.rows.push(Row { address: row.address(), position, scope: rows.scope });
            }
            row.reset(program.header());
        }
        Ok(())
    }

    /// Scope of a function that is inlined at the position of the row `caller`.
    fn inlined(&mut self, rows: &mut Rows, caller: Row, name: u64) -> Result<ScopeNumber, DwarfError> {
        let key = (caller.scope, caller.position, name);
        if let Some(&known) = rows.known.get(&key) {
            return Ok(known);
        }
        let offset = usize::try_from(name).map_err(|_| gimli::Error::OffsetOutOfBounds(name))?;
        let mut strings = self.dwarf.debug_str.reader().clone();
        strings.skip(offset)?;
        let name = text(&strings.read_null_terminated_slice()?, self.budget)?;
        let name = Some(self.collected.number(name));
        let scope =
            self.collected.add_scope(Scope { name, call: Some(caller.position), parent: caller.scope }, self.budget)?;
        rows.known.insert(key, scope);
        Ok(scope)
    }

    fn file(
        &mut self,
        unit: Option<&Unit<'data>>,
        program: &IncompleteLineProgram<Reader<'data>>,
        files: &mut HashMap<u64, Option<u32>>,
        index: u64,
    ) -> Result<Option<u32>, DwarfError> {
        if let Some(&known) = files.get(&index) {
            return Ok(known);
        }
        let path = lines::file_name(self.dwarf, unit, program.header(), index, self.budget)?;
        let number = path.map(|path| self.collected.number(path));
        files.insert(index, number);
        Ok(number)
    }
}

/// State of a sequence.
#[derive(Default)]
struct Rows {
    rows: Vec<Row>,
    scope: Option<ScopeNumber>,
    known: HashMap<(Option<ScopeNumber>, Position, u64), ScopeNumber>,
}
