//! Kernels of one candidate set by device.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::CoverageCell;
use crate::analyze::select::{CandidateSet, NamedDevice, Preference, RejectReason, Selection};
use crate::image::Inspection;
use crate::scan::inventory::CodeRole;
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
    /// Selections on the devices of each column.
    columns: Vec<Vec<DeviceSelection>>,
}

/// The images that the runtime selects from the whole set on a device. Any number of kernels is judged by it.
struct DeviceSelection {
    device: Device,
    selection: Selection,
    /// The loaded candidates, with their positions in the order of preference.
    loaded: HashMap<usize, usize>,
    /// True if the set has code for the platform of the device.
    has_code: bool,
    /// True if the images that the runtime may launch a kernel from have all been read.
    is_read: bool,
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
        let mut judged =
            SetCoverage { set: set.clone(), inspections, holders, cells: HashMap::new(), columns: Vec::new() };
        if judged.holders.is_empty() {
            return judged;
        }
        let loadable = judged.loadable(columns.iter().chain(own_devices));
        let select_on = |column: &NamedDevice| column.devices.iter().map(|device| judged.select_on(device)).collect();
        judged.columns = columns.iter().map(select_on).collect();
        let groups: BTreeSet<&Vec<usize>> = judged.holders.values().collect();
        let cells = groups.into_iter().map(|holders| {
            let is_loadable = holders.iter().any(|index| loadable.contains(index));
            let cells = judged.columns.iter().map(|column| {
                let cells = column.iter().map(|selected| judged.cell(holders, selected));
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
    /// The device is that of a column.
    pub fn witnesses(&self, kernel: &str, column: usize) -> Option<(usize, usize)> {
        let holders = self.holders.get(kernel)?;
        let is_gap = |selected: &&DeviceSelection| self.cell(holders, selected) == CoverageCell::Gap;
        let (selected, _) = self.columns.get(column)?.iter().find(is_gap)?.selection.selected?;
        let number = |index: usize| self.set.candidates.get(index).map(|candidate| candidate.number);
        Some((number(selected)?, number(*holders.first()?)?))
    }

    /// Selects from the whole set.
    fn select_on(&self, device: &Device) -> DeviceSelection {
        let selection = self.set.select_on(device);
        let is_read = |index: usize| {
            self.inspections.get(index).copied().flatten().is_some_and(|inspection| inspection.not_inspected.is_none())
        };
        let is_read = match self.set.runtime.preference {
            Preference::BestForEachKernel => (0..self.set.candidates.len()).all(is_read),
            _ => loaded(&selection).all(is_read),
        };
        let loaded = loaded(&selection).zip(0..).collect();
        let has_code = self.set.has_code_for(device) || (self.set.is_unregistered && self.set.is_for_platform(device));
        DeviceSelection { device: device.clone(), has_code, is_read, loaded, selection }
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

    /// Judges the kernels that are in `holders` alone. `selected` is the selection from the whole set.
    fn cell(&self, holders: &[usize], selected: &DeviceSelection) -> CoverageCell<'a> {
        let DeviceSelection { device, selection, .. } = selected;
        if self.set.role == CodeRole::LinkInput {
            return self.unlinked_cell(holders, device);
        }
        if selection.is_undecided() {
            return CoverageCell::Unknown;
        }
        let Some((_, method)) = selection.selected else {
            return if selected.has_code { CoverageCell::None } else { CoverageCell::OtherPlatform };
        };
        let runs = |index: usize, method| {
            let arch = self.set.candidates.get(index).and_then(|candidate| candidate.image.arch.as_deref());
            CoverageCell::Runs { method, arch }
        };
        if self.set.runtime.preference == Preference::BestForEachKernel {
            let candidates = holders.iter().filter_map(|&index| self.set.candidates.get(index).copied()).collect();
            let own = CandidateSet { candidates, ..self.set.clone() }.select_on(device);
            if let Some((index, method)) = own.selected {
                return holders.get(index).map_or(CoverageCell::Unknown, |&index| runs(index, method));
            }
        } else if let Some((_, index)) = holders.iter().filter_map(|it| Some((selected.loaded.get(it)?, *it))).min() {
            return runs(index, method);
        }
        if selected.is_read { CoverageCell::Gap } else { CoverageCell::Unknown }
    }

    /// Judges kernels of relocatable code as if its images were linked one by one.
    fn unlinked_cell(&self, holders: &[usize], device: &Device) -> CoverageCell<'a> {
        let candidates = holders.iter().filter_map(|&index| self.set.candidates.get(index).copied()).collect();
        let linked = CandidateSet { candidates, role: CodeRole::Loaded, ..self.set.clone() };
        match linked.select_on(device).selected {
            Some(_) => CoverageCell::Unlinked,
            None if linked.has_code_for(device) => CoverageCell::None,
            None => CoverageCell::OtherPlatform,
        }
    }
}

/// Returns the candidates that are loaded.
fn loaded(selection: &Selection) -> impl Iterator<Item = usize> {
    selection.selected.iter().map(|(index, _)| *index).chain(selection.also_selected.iter().copied())
}
