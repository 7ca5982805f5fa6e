//! Kernels of one candidate set by device.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::CoverageCell;
use crate::inspect::Inspection;
use crate::select::{CandidateSet, NamedDevice, Preference, RejectReason, Selection};
use crate::target::Device;

/// Kernels of a candidate set, judged on devices.
pub struct SetCoverage<'a> {
    set: CandidateSet<'a>,
    /// Inspection of each candidate.
    inspections: Vec<Option<&'a Inspection>>,
    /// Indexes of the candidates that have a kernel, in order.
    holders: BTreeMap<&'a str, Vec<usize>>,
    /// Cells by the candidates that have the kernel: most kernels of a set are in the same images.
    cells: HashMap<Vec<usize>, Vec<CoverageCell<'a>>>,
}

impl<'a> SetCoverage<'a> {
    /// Judges the kernels of a set. `own_devices` are those that the file has code for.
    pub fn new(
        set: &CandidateSet<'a>,
        inspections: &[Option<&'a Inspection>],
        columns: &[NamedDevice],
        own_devices: &[NamedDevice],
    ) -> Self {
        let inspections: Vec<Option<&Inspection>> =
            set.candidates.iter().map(|candidate| inspections.get(candidate.number).copied().flatten()).collect();
        let mut holders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
        for (index, inspection) in inspections.iter().enumerate() {
            for kernel in inspection.iter().flat_map(|inspection| &inspection.kernels) {
                let holders = holders.entry(&kernel.name).or_default();
                if holders.last() != Some(&index) {
                    holders.push(index);
                }
            }
        }
        let mut judged = SetCoverage { set: set.clone(), inspections, holders, cells: HashMap::new() };
        if judged.holders.is_empty() {
            return judged;
        }
        let loadable = judged.loadable(columns.iter().chain(own_devices));
        let selections: Vec<Vec<(&Device, Selection)>> = columns
            .iter()
            .map(|column| column.devices.iter().map(|device| (device, judged.set.select_on(device))).collect())
            .collect();
        let groups: BTreeSet<&Vec<usize>> = judged.holders.values().collect();
        let cells = groups.into_iter().map(|holders| {
            let is_loadable = holders.iter().any(|index| loadable.contains(index));
            let cells = selections.iter().map(|column| {
                let cells = column.iter().map(|(device, selection)| judged.cell(holders, device, selection));
                match cells.reduce(CoverageCell::on_both) {
                    Some(CoverageCell::Gap) if !is_loadable => CoverageCell::None,
                    cell => cell.unwrap_or(CoverageCell::None),
                }
            });
            (holders.clone(), cells.collect())
        });
        judged.cells = cells.collect();
        judged
    }

    /// Returns each kernel and its cells.
    pub fn kernels(&self) -> impl Iterator<Item = (&'a str, &[CoverageCell<'a>])> {
        self.holders.iter().map(|(name, holders)| (*name, self.cells.get(holders).map_or(&[][..], Vec::as_slice)))
    }

    /// Returns the numbers of the image that is selected on a device where a kernel has a gap, and of one that has the kernel.
    pub fn witnesses(&self, kernel: &str, device: &NamedDevice) -> Option<(usize, usize)> {
        let holders = self.holders.get(kernel)?;
        let selections = device.devices.iter().map(|device| (device, self.set.select_on(device)));
        let (_, selection) =
            selections.into_iter().find(|(device, it)| self.cell(holders, device, it) == CoverageCell::Gap)?;
        let (selected, _) = selection.selected?;
        let number = |index: usize| self.set.candidates.get(index).map(|candidate| candidate.number);
        Some((number(selected)?, number(*holders.first()?)?))
    }

    /// Returns the candidates that a runtime loads on some device, or would if it did not prefer another.
    fn loadable<'d>(&self, devices: impl Iterator<Item = &'d NamedDevice>) -> BTreeSet<usize> {
        let mut loadable = BTreeSet::new();
        for device in devices.flat_map(|named| &named.devices) {
            let selection = self.set.select_on(device);
            loadable.extend(loaded(&selection));
            let outranked =
                selection.rejected.iter().filter(|(_, reason)| matches!(reason, RejectReason::Outranked { .. }));
            loadable.extend(outranked.map(|(index, _)| *index));
        }
        loadable
    }

    /// Judges the kernels that are in `holders` alone. `selection` is that of the whole set on the device.
    fn cell(&self, holders: &[usize], device: &Device, selection: &Selection) -> CoverageCell<'a> {
        if selection.is_undecided() {
            return CoverageCell::Unknown;
        }
        let Some((_, method)) = selection.selected else {
            let is_for_platform = self.set.has_code_for(device);
            return if is_for_platform { CoverageCell::None } else { CoverageCell::OtherPlatform };
        };
        let runs = |index: usize, method| {
            let arch = self.set.candidates.get(index).and_then(|candidate| candidate.image.arch.as_deref());
            CoverageCell::Runs { method, arch }
        };
        let mut selected: Vec<usize> = loaded(selection).collect();
        if self.set.runtime.preference == Preference::BestForEachKernel {
            let candidates = holders.iter().filter_map(|&index| self.set.candidates.get(index).copied()).collect();
            let own = CandidateSet { candidates, ..self.set.clone() }.select_on(device);
            if let Some((index, method)) = own.selected {
                return holders.get(index).map_or(CoverageCell::Unknown, |&index| runs(index, method));
            }
            selected = (0..self.set.candidates.len()).collect();
        } else if let Some(&index) = selected.iter().find(|index| holders.contains(index)) {
            return runs(index, method);
        }
        let is_read = |index: &usize| {
            self.inspections.get(*index).copied().flatten().is_some_and(|inspection| inspection.not_inspected.is_none())
        };
        if selected.iter().all(is_read) { CoverageCell::Gap } else { CoverageCell::Unknown }
    }
}

/// Returns the candidates that are loaded.
fn loaded(selection: &Selection) -> impl Iterator<Item = usize> {
    selection.selected.iter().map(|(index, _)| *index).chain(selection.also_selected.iter().copied())
}
