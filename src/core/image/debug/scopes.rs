//! Functions and inlined functions of compile units, by the addresses of their code.

use gimli::{AttributeValue, DebuggingInformationEntry, UnitSectionOffset};

use super::budget::{DwarfError, ParseBudget};
use super::collected::{Collected, Position, Scope, ScopeNumber};
use super::lines;
use super::reader::{Dwarf, Reader, Unit, text};
use super::units::{MAX_REFERENCES, REFERENCES};

type Entry<'data> = DebuggingInformationEntry<Reader<'data>>;

/// Attributes with the name that the linker sees.
const LINKAGE_NAMES: [gimli::DwAt; 2] = [gimli::DW_AT_linkage_name, gimli::DW_AT_MIPS_linkage_name];

/// Code of a function, without the code of functions that are inlined into it.
#[derive(Debug, Clone, Copy)]
pub struct Segment {
    pub start: u64,
    pub end: u64,
    pub scope: ScopeNumber,
}

/// Collects the functions of units.
pub struct ScopeReader<'r, 'data> {
    pub dwarf: &'r Dwarf<'data>,
    /// All units, in the order of their offsets: an inlined function may be defined in another unit.
    pub units: &'r [Unit<'data>],
    pub collected: &'r mut Collected,
    pub budget: ParseBudget<'r>,
}

impl<'data> ScopeReader<'_, 'data> {
    /// Reads a unit. Parents precede their children in the result.
    pub fn read(&mut self, unit: &Unit<'data>, segments: &mut Vec<Segment>) -> Result<(), DwarfError> {
        // Functions around the current entry, and their depths.
        let mut parents: Vec<(isize, ScopeNumber)> = Vec::new();
        let mut entries = unit.entries();
        while let Some(entry) = entries.next_dfs()? {
            self.budget.charge(entry.attrs().len())?;
            let depth = entry.depth();
            while parents.last().is_some_and(|(parent, _)| *parent >= depth) {
                parents.pop();
            }
            let is_inlined = match entry.tag() {
                gimli::DW_TAG_subprogram => false,
                gimli::DW_TAG_inlined_subroutine => true,
                _ => continue,
            };
            let mut ranges = self.dwarf.die_ranges(unit, entry)?;
            let mut scope = None;
            while let Some(range) = ranges.next()? {
                self.budget.charge_records(1, size_of::<Segment>())?;
                self.budget.charge(0)?;
                if range.begin >= range.end {
                    continue;
                }
                let number = match scope {
                    Some(number) => number,
                    None => self.scope(unit, entry, is_inlined, parents.last().map(|(_, parent)| *parent))?,
                };
                scope = Some(number);
                segments.push(Segment { start: range.begin, end: range.end, scope: number });
            }
            parents.extend(scope.map(|scope| (depth, scope)));
        }
        Ok(())
    }

    fn scope(
        &mut self,
        unit: &Unit<'data>,
        entry: &Entry<'data>,
        is_inlined: bool,
        parent: Option<ScopeNumber>,
    ) -> Result<ScopeNumber, DwarfError> {
        let name = self.name(unit, entry)?.map(|name| self.collected.number(name));
        if !is_inlined {
            return self.collected.add_scope(Scope { name, call: None, parent: None }, self.budget);
        }
        let number = |name| entry.attr_value(name).and_then(|value| value.udata_value());
        let small = |name| number(name).and_then(|value| u32::try_from(value).ok());
        let file = match (entry.attr_value(gimli::DW_AT_call_file), &unit.line_program) {
            (Some(AttributeValue::FileIndex(file)), Some(program)) => {
                lines::file_name(self.dwarf, Some(unit), program.header(), file, self.budget)?
            }
            _ => None,
        };
        let file = file.map(|file| self.collected.number(file));
        let column = small(gimli::DW_AT_call_column).filter(|column| *column > 0);
        let call = Position { file, line: small(gimli::DW_AT_call_line), column };
        self.collected.add_scope(Scope { name, call: Some(call), parent }, self.budget)
    }

    /// Mangled name of a function; its own name if it has no other.
    fn name(&self, unit: &Unit<'data>, entry: &Entry<'data>) -> Result<Option<String>, DwarfError> {
        let mut unit = unit;
        let mut entry = entry.clone();
        let mut plain = None;
        for _ in 0..MAX_REFERENCES {
            let linkage = LINKAGE_NAMES.iter().find_map(|&name| entry.attr_value(name));
            if let Some(value) = linkage {
                return Ok(Some(text(&self.dwarf.attr_string(unit, value)?, self.budget)?));
            }
            if let (None, Some(value)) = (&plain, entry.attr_value(gimli::DW_AT_name)) {
                plain = Some(text(&self.dwarf.attr_string(unit, value)?, self.budget)?);
            }
            let Some(reference) = REFERENCES.iter().find_map(|&name| entry.attr_value(name)) else { break };
            let Some((other, offset)) = self.resolve(unit, reference) else { break };
            unit = other;
            entry = unit.entry(offset)?;
            self.budget.charge(entry.attrs().len())?;
        }
        Ok(plain)
    }

    fn resolve<'u>(
        &'u self,
        unit: &'u Unit<'data>,
        reference: AttributeValue<Reader<'data>>,
    ) -> Option<(&'u Unit<'data>, gimli::UnitOffset)> {
        match reference {
            AttributeValue::UnitRef(offset) => Some((unit, offset)),
            AttributeValue::DebugInfoRef(target) => {
                let begins_before = |unit: &Unit<'data>| match unit.header.offset() {
                    UnitSectionOffset(offset) => offset <= target.0,
                };
                let next = self.units.partition_point(begins_before);
                let unit = self.units.get(next.checked_sub(1)?)?;
                Some((unit, target.to_unit_offset(&unit.header)?))
            }
            _ => None,
        }
    }
}

/// Splits overlapping segments into the innermost function from each address on, in the order of the addresses.
pub fn innermost(mut segments: Vec<Segment>) -> Vec<(u64, Option<ScopeNumber>)> {
    // The sort is stable, so children follow their parents.
    segments.sort_by_cached_key(|segment| segment.start);
    let mut changes: Vec<(u64, Option<ScopeNumber>)> = Vec::new();
    let mut open: Vec<Segment> = Vec::new();
    let close = |open: &mut Vec<Segment>, changes: &mut Vec<(u64, Option<ScopeNumber>)>, until: u64| {
        while let Some(ended) = open.pop_if(|last| last.end <= until) {
            changes.push((ended.end, open.last().map(|parent| parent.scope)));
        }
    };
    for segment in segments {
        close(&mut open, &mut changes, segment.start);
        changes.push((segment.start, Some(segment.scope)));
        open.push(segment);
    }
    close(&mut open, &mut changes, u64::MAX);
    // Of changes at one address, the last decides.
    changes.sort_by_cached_key(|(address, _)| *address);
    changes.dedup_by(|later, earlier| {
        let is_same = later.0 == earlier.0;
        if is_same {
            *earlier = *later;
        }
        is_same
    });
    changes
}
