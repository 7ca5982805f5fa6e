//! Kernels that differ, each with its differences for all archs.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::cells::or_dash;
use fatbin_core::target::natural_order;
use fatbin_ops::check::lock::{KernelDifference, LockedKernel, TargetDifference};

/// A kernel and its difference for each arch.
pub struct Row<'a> {
    pub name: &'a str,
    pub archs: Vec<(String, &'a KernelDifference<'a>)>,
}

/// Returns the kernels that differ, the largest difference first.
pub fn rows<'a>(targets: &[&'a TargetDifference<'a>]) -> Vec<Row<'a>> {
    let mut rows: BTreeMap<&str, Row<'_>> = BTreeMap::new();
    for target in targets {
        let arch = or_dash(target.target.arch.as_deref());
        for difference in &target.kernels {
            let kernel = difference.kernel();
            let row = rows.entry(kernel.name.as_str());
            let row = row.or_insert_with(|| Row { name: kernel.readable_name(), archs: Vec::new() });
            row.archs.push((arch.clone(), difference));
        }
    }
    let mut rows: Vec<_> = rows.into_values().collect();
    for row in &mut rows {
        row.archs.sort_by_cached_key(|(arch, _)| natural_order(arch));
    }
    rows.sort_by_cached_key(|row| Reverse(row.growth().unsigned_abs()));
    rows
}

impl<'a> Row<'a> {
    pub fn arch_names(&self) -> Vec<String> {
        let mut names: Vec<String> = self.archs.iter().map(|(arch, _)| arch.clone()).collect();
        names.dedup();
        names
    }

    /// Code size of one side, summed over the archs with a known size; `None` if there are none.
    pub fn size(&self, side: impl Fn(&KernelDifference<'a>) -> Option<&'a LockedKernel>) -> Option<u64> {
        let sizes = self.archs.iter().filter_map(|(_, it)| side(it)?.code_size());
        sizes.reduce(u64::saturating_add)
    }

    pub fn growth(&self) -> i64 {
        self.archs.iter().map(|(_, it)| it.growth()).fold(0, i64::saturating_add)
    }
}
