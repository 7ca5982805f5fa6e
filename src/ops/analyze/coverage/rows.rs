//! Rows of cells, each stored once: most kernels of a library run from the same images on the same devices.

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
    cells: Vec<CoverageCell<'a>>,
    numbers_of_cells: HashMap<CoverageCell<'a>, u32>,
    rows: Vec<Row>,
    numbers_of_rows: HashMap<Arc<[u32]>, RowNumber>,
    /// Rows of kernels that are in two sets, by the rows of the sets.
    merged: HashMap<(RowNumber, RowNumber), RowNumber>,
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
    /// Returns the number of a row. Adds the row if it is new.
    pub fn add(
        &mut self,
        cells: impl ExactSizeIterator<Item = CoverageCell<'a>>,
        budget: &Budget,
    ) -> Result<RowNumber, Cause> {
        budget.charge(Resource::Work, (cells.len() as u64).div_ceil(CELLS_PER_STEP))?;
        let mut gaps = 0;
        let mut served = 0;
        let numbers = cells.map(|cell| {
            gaps += usize::from(cell == CoverageCell::Gap);
            served += usize::from(matches!(cell, CoverageCell::Runs { .. }));
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
        self.rows.push(Row { cells, gaps, served });
        Ok(number)
    }

    /// Returns the row of a kernel that is in two sets.
    pub fn merge(&mut self, one: RowNumber, other: RowNumber, budget: &Budget) -> Result<RowNumber, Cause> {
        if one == other {
            return Ok(one);
        }
        if let Some(&known) = self.merged.get(&(one, other)) {
            return Ok(known);
        }
        let merged: Vec<_> = self.cells(one).zip(self.cells(other)).map(|(one, other)| one.in_both(other)).collect();
        let number = self.add(merged.into_iter(), budget)?;
        budget.charge(Resource::Memory, size_of::<[RowNumber; 3]>() as u64)?;
        self.merged.insert((one, other), number);
        Ok(number)
    }

    /// Returns the cells of a row.
    pub fn cells(&self, row: RowNumber) -> impl ExactSizeIterator<Item = CoverageCell<'a>> + Clone {
        let numbers = self.rows.get(row).map_or(&[][..], |row| &row.cells);
        numbers.iter().map(|&number| self.cells.get(number as usize).copied().unwrap_or(CoverageCell::Unknown))
    }

    /// Returns a cell of a row.
    pub fn cell(&self, row: RowNumber, column: usize) -> Option<CoverageCell<'a>> {
        let number = *self.rows.get(row)?.cells.get(column)?;
        self.cells.get(number as usize).copied()
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
    use super::*;
    use fatbin_core::base::bytes::Limits;
    use fatbin_core::target::runs_on::LoadMethod;

    #[test]
    fn equal_rows_are_stored_once_and_merged_once() {
        let mut rows = Rows::default();
        let budget = Budget::new(Limits::default(), 0);
        let runs = CoverageCell::Runs { method: LoadMethod::Exact, arch: Some("sm_90") };
        let one = rows.add([runs, CoverageCell::None].into_iter(), &budget).unwrap();
        let other = rows.add([CoverageCell::Gap, CoverageCell::None].into_iter(), &budget).unwrap();
        assert_eq!(rows.add([runs, CoverageCell::None].into_iter(), &budget), Ok(one));
        let merged = rows.merge(one, other, &budget).unwrap();
        assert_eq!((merged, rows.merge(one, other, &budget), rows.rows.len()), (other, Ok(other), 2));
        assert!(rows.cells(one).eq([runs, CoverageCell::None]));
        assert_eq!((rows.gaps(other), rows.served(one), rows.cell(one, 1)), (1, 1, Some(CoverageCell::None)));
    }

    #[test]
    fn rows_are_charged() {
        let mut rows = Rows::default();
        let budget = Budget::new(Limits::default(), 0);
        let mut add = |first: usize| {
            let cells = (0..1 << 16).map(|column| if column == first { CoverageCell::Gap } else { CoverageCell::None });
            rows.add(cells.collect::<Vec<_>>().into_iter(), &budget)
        };
        let failed = (0..1000).find_map(|first| add(first).err()).unwrap();
        assert!(failed.to_string().starts_with("exceeds the limit of "), "{failed}");
    }
}
