//! Rows of cells, each stored once: most kernels of a library run from the same images on the same devices.
//!
//! A row has a cell for each setting that the name of a device leaves open. The device has the worst of them.

use std::collections::HashMap;
use std::sync::Arc;

use super::CoverageCell;
use fatbin_core::base::bytes::{Budget, Resource, record_memory};
use fatbin_core::base::error::Cause;

/// Number of a row.
pub type RowNumber = usize;

/// Cells that are compared or copied in one step of work.
const CELLS_PER_STEP: u64 = 4;

/// Distinct rows of cells.
#[derive(Debug, Default)]
pub struct Rows<'a> {
    /// Number of settings of each device.
    widths: Vec<usize>,
    cells: Vec<CoverageCell<'a>>,
    numbers_of_cells: HashMap<CoverageCell<'a>, u32>,
    rows: Vec<Row>,
    numbers_of_rows: HashMap<Arc<[u32]>, RowNumber>,
    /// Rows of kernels that are in two sets, by the rows of the sets.
    merged: HashMap<(RowNumber, RowNumber, Merge), RowNumber>,
}

/// How the rows of a kernel in two sets are merged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Merge {
    /// A program may use either set, and uses the better.
    Either,
    /// A program uses both.
    Both,
}

/// A row of cells: one for each device.
#[derive(Debug)]
struct Row {
    /// Numbers of the cells.
    cells: Arc<[u32]>,
    /// Number of devices with a gap.
    gaps: usize,
    /// Number of devices that the kernel runs on.
    served: usize,
}

impl<'a> Rows<'a> {
    /// Creates rows with this number of cells for each device.
    pub fn new(widths: Vec<usize>) -> Self {
        Rows { widths, ..Rows::default() }
    }

    /// Returns the number of a row with a cell for each setting. Adds the row if it is new.
    pub fn add(
        &mut self,
        cells: impl ExactSizeIterator<Item = CoverageCell<'a>>,
        budget: &Budget,
    ) -> Result<RowNumber, Cause> {
        budget.charge(Resource::Work, (cells.len() as u64).div_ceil(CELLS_PER_STEP))?;
        let numbers = cells.map(|cell| {
            let next = self.cells.len() as u32;
            *self.numbers_of_cells.entry(cell).or_insert_with(|| {
                self.cells.push(cell);
                next
            })
        });
        let cells: Arc<[u32]> = numbers.collect();
        if let Some(&known) = self.numbers_of_rows.get(&cells) {
            return Ok(known);
        }
        budget.charge(Resource::Memory, record_memory(size_of::<Row>(), [size_of_val(&*cells)]))?;
        let number = self.rows.len();
        self.numbers_of_rows.insert(Arc::clone(&cells), number);
        self.rows.push(Row { cells, gaps: 0, served: 0 });
        let gaps = self.cells(number).filter(|cell| cell.is_gap()).count();
        let served = self.cells(number).filter(|cell| matches!(cell, CoverageCell::Runs { .. })).count();
        if let Some(row) = self.rows.last_mut() {
            (row.gaps, row.served) = (gaps, served);
        }
        Ok(number)
    }

    /// Returns the row of a kernel that is in two sets.
    pub fn merge(
        &mut self,
        one: RowNumber,
        other: RowNumber,
        merge: Merge,
        budget: &Budget,
    ) -> Result<RowNumber, Cause> {
        if one == other {
            return Ok(one);
        }
        if let Some(&known) = self.merged.get(&(one, other, merge)) {
            return Ok(known);
        }
        let pairs = self.settings(one).zip(self.settings(other));
        let merged: Vec<_> = match merge {
            Merge::Either => pairs.map(|(one, other)| one.in_either(other)).collect(),
            Merge::Both => pairs.map(|(one, other)| one.on_both(other)).collect(),
        };
        let number = self.add(merged.into_iter(), budget)?;
        budget.charge(Resource::Memory, size_of::<[RowNumber; 4]>() as u64)?;
        self.merged.insert((one, other, merge), number);
        Ok(number)
    }

    /// Returns the row of a kernel that is in two sets with the same answers: on each device both run in the same way,
    /// or one has code for other platforms only. `None` if their answers differ.
    pub fn joined(&mut self, one: RowNumber, other: RowNumber, budget: &Budget) -> Result<Option<RowNumber>, Cause> {
        let is_other = |cell: CoverageCell<'_>| cell == CoverageCell::OtherPlatform;
        let agree =
            |(one, other): (CoverageCell<'_>, CoverageCell<'_>)| one == other || is_other(one) || is_other(other);
        if one != other && !self.settings(one).zip(self.settings(other)).all(agree) {
            return Ok(None);
        }
        self.merge(one, other, Merge::Either, budget).map(Some)
    }

    /// Returns the cells of a row, one for each device.
    pub fn cells(&self, row: RowNumber) -> impl ExactSizeIterator<Item = CoverageCell<'a>> + Clone {
        let numbers = self.rows.get(row).map_or(&[][..], |row| &row.cells);
        let mut start = 0;
        self.widths.iter().map(move |width| {
            let settings = numbers.get(start..start + width).unwrap_or_default();
            start += width;
            settings
                .iter()
                .map(|&number| self.numbered(number))
                .reduce(CoverageCell::on_both)
                .unwrap_or(CoverageCell::None)
        })
    }

    /// Returns the cells of a row, one for each setting.
    fn settings(&self, row: RowNumber) -> impl Iterator<Item = CoverageCell<'a>> {
        let numbers = self.rows.get(row).map_or(&[][..], |row| &row.cells);
        numbers.iter().map(|&number| self.numbered(number))
    }

    fn numbered(&self, number: u32) -> CoverageCell<'a> {
        self.cells.get(number as usize).copied().unwrap_or(CoverageCell::Unknown)
    }

    /// Returns the cell of a device.
    pub fn cell(&self, row: RowNumber, column: usize) -> Option<CoverageCell<'a>> {
        self.rows.get(row)?;
        self.cells(row).nth(column)
    }

    /// Returns the number of devices with a gap.
    pub fn gaps(&self, row: RowNumber) -> usize {
        self.rows.get(row).map_or(0, |row| row.gaps)
    }

    /// Number of devices that the kernel runs on.
    pub fn served(&self, row: RowNumber) -> usize {
        self.rows.get(row).map_or(0, |row| row.served)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Absence;
    use super::*;
    use fatbin_core::base::bytes::Limits;
    use fatbin_core::target::runs_on::LoadMethod;

    #[test]
    fn equal_rows_are_stored_once_and_merged_once() {
        let mut rows = Rows::new(vec![1; 2]);
        let budget = Budget::new(Limits::default(), 0);
        let runs = CoverageCell::Runs { method: LoadMethod::Exact, arch: Some("sm_90") };
        let one = rows.add([runs, CoverageCell::None].into_iter(), &budget).unwrap();
        let other = rows.add([CoverageCell::Gap(Absence::Absent), CoverageCell::None].into_iter(), &budget).unwrap();
        assert_eq!(rows.add([runs, CoverageCell::None].into_iter(), &budget), Ok(one));
        let merged = rows.merge(one, other, Merge::Either, &budget).unwrap();
        assert_eq!((merged, rows.merge(one, other, Merge::Either, &budget), rows.rows.len()), (other, Ok(other), 2));
        assert!(rows.cells(one).eq([runs, CoverageCell::None]));
        assert_eq!((rows.gaps(other), rows.served(one), rows.cell(one, 1)), (1, 1, Some(CoverageCell::None)));
    }

    #[test]
    fn rows_are_charged() {
        let mut rows = Rows::new(vec![1; 1 << 16]);
        let budget = Budget::new(Limits::default(), 0);
        let mut add = |first: usize| {
            let cells = (0..1 << 16)
                .map(|column| if column == first { CoverageCell::Gap(Absence::Absent) } else { CoverageCell::None });
            rows.add(cells.collect::<Vec<_>>().into_iter(), &budget)
        };
        let failed = (0..1000).find_map(|first| add(first).err()).unwrap();
        assert!(failed.to_string().starts_with("exceeds the limit of "), "{failed}");
    }
}
