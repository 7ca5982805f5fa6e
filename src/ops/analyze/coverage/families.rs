//! Rows of kernels merged into families: the instances of one template, and the overloads of one function.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::rows::RowNumber;
use super::{Coverage, CoverageCell};
use fatbin_core::image::family;

/// Kernels of one family.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelFamily {
    /// Name without template arguments and parameters.
    pub name: String,
    /// Number of kernels.
    pub kernels: usize,
    /// Rows of the kernels, and their numbers of kernels.
    rows: BTreeMap<RowNumber, usize>,
}

/// The kernels of a family on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FamilyCell<'a> {
    /// Number of kernels that run.
    pub running: usize,
    /// Number of kernels with a gap.
    pub gaps: usize,
    /// The cell of all kernels, if they agree.
    pub common: Option<CoverageCell<'a>>,
}

impl<'a> Coverage<'a> {
    /// Returns the kernels by family. Families with the most gaps are first, then by name.
    pub fn families(&self) -> Vec<KernelFamily> {
        let mut families: BTreeMap<String, KernelFamily> = BTreeMap::new();
        for kernel in &self.kernels {
            let name = family(&self.names.shown(kernel.name));
            let family = families.entry(name.clone());
            let family = family.or_insert_with(|| KernelFamily { name, kernels: 0, rows: BTreeMap::new() });
            family.kernels += 1;
            *family.rows.entry(kernel.row).or_default() += 1;
        }
        let mut families: Vec<KernelFamily> = families.into_values().collect();
        let gaps = |(row, kernels): (&RowNumber, &usize)| self.rows.gaps(*row) * kernels;
        families
            .sort_by_cached_key(|family| (Reverse(family.rows.iter().map(gaps).sum::<usize>()), family.name.clone()));
        families
    }

    /// Returns the cells of a family: one for each device.
    pub fn family_cells(&self, family: &KernelFamily) -> Vec<FamilyCell<'a>> {
        let mut merged: Option<Vec<FamilyCell<'a>>> = None;
        for (&row, &kernels) in &family.rows {
            let cells = self.rows.cells(row).map(|cell| FamilyCell {
                running: if matches!(cell, CoverageCell::Runs { .. }) { kernels } else { 0 },
                gaps: if cell.is_gap() { kernels } else { 0 },
                common: Some(cell),
            });
            match &mut merged {
                None => merged = Some(cells.collect()),
                Some(merged) => {
                    for (own, cell) in merged.iter_mut().zip(cells) {
                        own.running += cell.running;
                        own.gaps += cell.gaps;
                        own.common = own.common.filter(|common| Some(*common) == cell.common);
                    }
                }
            }
        }
        merged.unwrap_or_default()
    }
}
