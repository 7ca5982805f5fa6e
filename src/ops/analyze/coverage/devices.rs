//! Kernels by device: how they run there, and how many.

use std::collections::BTreeMap;

use super::rows::RowNumber;
use super::{Coverage, CoverageCell};
use fatbin_core::target::runs_on::LoadMethod;

/// Numbers of kernels on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// They run as machine code for this processor.
    pub native: usize,
    /// They run as machine code for an earlier or a generic processor.
    pub compatible: usize,
    /// The driver compiles or links them when they are loaded.
    pub compiled: usize,
    /// It is not known whether they run.
    pub unknown: usize,
    /// They are relocatable code of an object. It must be linked first.
    pub unlinked: usize,
    /// Their sets have no code for the device.
    pub none: usize,
    /// The selected image lacks them.
    pub gaps: usize,
}

/// Returns whether a kernel is native code on a device, or for another platform.
pub fn is_native(cell: CoverageCell<'_>) -> bool {
    matches!(cell, CoverageCell::Runs { method: LoadMethod::Exact, .. } | CoverageCell::OtherPlatform)
}

impl<'a> Coverage<'a> {
    /// Returns the different cells of each device and their numbers of kernels, gaps first, then the largest number.
    /// Kernels for other platforms are left out.
    pub fn cells_by_device(&self) -> Vec<Vec<(CoverageCell<'a>, usize)>> {
        let mut kernels_of_rows: BTreeMap<RowNumber, usize> = BTreeMap::new();
        for row in self.kernels.iter().map(|kernel| kernel.row) {
            *kernels_of_rows.entry(row).or_default() += 1;
        }
        let mut devices: Vec<Vec<(CoverageCell<'_>, usize)>> = vec![Vec::new(); self.devices.len()];
        for (row, kernels) in kernels_of_rows {
            for (cells, cell) in devices.iter_mut().zip(self.rows.cells(row)) {
                match cells.iter_mut().find(|(known, _)| *known == cell) {
                    Some((_, count)) => *count += kernels,
                    None if cell == CoverageCell::OtherPlatform => {}
                    None => cells.push((cell, kernels)),
                }
            }
        }
        for cells in &mut devices {
            cells.sort_by_cached_key(|(cell, kernels)| (!cell.is_gap(), std::cmp::Reverse(*kernels)));
        }
        devices
    }

    /// Returns the indexes of the devices that run some of the kernels, and that have no code for others.
    pub fn partly_served(&self) -> Vec<usize> {
        let is_partly = |cells: &[(CoverageCell<'_>, usize)]| {
            let has = |accepts: fn(CoverageCell<'_>) -> bool| cells.iter().any(|(cell, _)| accepts(*cell));
            has(|cell| matches!(cell, CoverageCell::Runs { .. })) && has(|cell| cell == CoverageCell::None)
        };
        let cells = self.cells_by_device();
        cells.iter().enumerate().filter(|(_, cells)| is_partly(cells)).map(|(index, _)| index).collect()
    }

    /// Returns the number of kernels that run as native code on every device of their platforms.
    pub fn native_everywhere(&self) -> usize {
        self.kernels.iter().filter(|kernel| self.cells(kernel).all(is_native)).count()
    }

    /// Returns the number of kernels on each device, by cell.
    pub fn counts(&self) -> Vec<DeviceCounts> {
        let of_device = |cells: Vec<(CoverageCell<'_>, usize)>| {
            let mut count = DeviceCounts::default();
            for (cell, kernels) in cells {
                *match cell {
                    CoverageCell::Runs { method: LoadMethod::Exact, .. } => &mut count.native,
                    CoverageCell::Runs { method, .. } if method.is_at_load_time() => &mut count.compiled,
                    CoverageCell::Runs { .. } => &mut count.compatible,
                    CoverageCell::Unknown => &mut count.unknown,
                    CoverageCell::Unlinked => &mut count.unlinked,
                    CoverageCell::None => &mut count.none,
                    CoverageCell::OtherPlatform => continue,
                    CoverageCell::Gap(_) => &mut count.gaps,
                } += kernels;
            }
            count
        };
        self.cells_by_device().into_iter().map(of_device).collect()
    }
}
