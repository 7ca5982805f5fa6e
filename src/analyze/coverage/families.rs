//! Rows of kernels merged into families: the instances of one template, and the overloads of one function.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Coverage, CoverageCell};
use crate::image::family;

/// Kernels of one family.
#[derive(Debug, PartialEq, Eq)]
pub struct KernelFamily<'a> {
    /// Name without template arguments and parameters.
    pub name: String,
    /// Number of kernels.
    pub kernels: usize,
    /// One cell for each device.
    pub cells: Vec<FamilyCell<'a>>,
}

/// The kernels of a family on a device.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct FamilyCell<'a> {
    /// Number of kernels that run.
    pub running: usize,
    /// Number of kernels with a gap.
    pub gaps: usize,
    /// The cell of all kernels, where it is the same.
    pub common: Option<CoverageCell<'a>>,
}

impl<'a> Coverage<'a> {
    /// Returns the kernels by family: those with the most gaps first, then by name.
    pub fn families(&self) -> Vec<KernelFamily<'a>> {
        let mut families: BTreeMap<String, KernelFamily<'_>> = BTreeMap::new();
        for kernel in &self.kernels {
            let name = family(kernel.demangled.unwrap_or(kernel.name));
            let family = families.entry(name.clone()).or_insert_with(|| {
                let cell = |cell: &CoverageCell<'a>| FamilyCell { common: Some(*cell), ..FamilyCell::default() };
                KernelFamily { name, kernels: 0, cells: kernel.cells.iter().map(cell).collect() }
            });
            family.kernels += 1;
            for (own, cell) in family.cells.iter_mut().zip(&kernel.cells) {
                own.running += usize::from(matches!(cell, CoverageCell::Runs { .. }));
                own.gaps += usize::from(*cell == CoverageCell::Gap);
                own.common = own.common.filter(|common| common == cell);
            }
        }
        let mut families: Vec<KernelFamily<'_>> = families.into_values().collect();
        families.sort_by_cached_key(|family| {
            (Reverse(family.cells.iter().map(|cell| cell.gaps).sum::<usize>()), family.name.clone())
        });
        families
    }
}
