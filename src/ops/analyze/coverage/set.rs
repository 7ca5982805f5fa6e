//! Kernels of one candidate set by device.

use std::collections::{BTreeMap, BTreeSet, HashMap, HashSet};
use std::sync::Arc;

use super::archs::{Archs, KnownArchs};
use super::rows::{RowNumber, Rows};
use super::wavefront::Wavefront;
use super::{Absence, CoverageCell, ImageKernels};
use crate::analyze::select::{CandidateSet, NamedDevice, Preference, RejectReason, Selection};
use fatbin_core::base::bytes::{Budget, Resource, record_memory, total};
use fatbin_core::base::error::Cause;
use fatbin_core::image::Stub;
use fatbin_core::scan::inventory::CodeRole;
use fatbin_core::target::Device;
use fatbin_core::target::runs_on::LoadMethod;

/// Kernels of a candidate set, judged on devices.
#[derive(Debug)]
pub struct SetCoverage<'a> {
    set: CandidateSet<'a>,
    /// Inspection of each candidate.
    inspections: Vec<Option<ImageKernels<'a>>>,
    /// What decides the row of each kernel.
    kernels: BTreeMap<&'a str, Group>,
    /// Rows by group: most kernels of a set are in the same images.
    rows: HashMap<Group, RowNumber>,
    /// Selections on the devices of each column.
    columns: Vec<Vec<DeviceSelection>>,
}

/// Kernels that are judged alike.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
struct Group {
    /// Indexes of the candidates that have the kernels, in order. Candidates with stubs count if no other has a body.
    holders: Vec<usize>,
    /// The candidates that have stubs instead, in order.
    stubs: Vec<(usize, Stub)>,
    /// Size of wavefronts in their names.
    wavefront: Option<Wavefront>,
}

/// The images that the runtime selects from the whole set on a device. Any number of kernels is judged by it.
#[derive(Debug)]
struct DeviceSelection {
    device: Device,
    /// The selected candidate, and how it is loaded.
    selected: Option<(usize, LoadMethod)>,
    /// The selected candidate, also if all of its kernels are stubs.
    taken: Option<usize>,
    is_undecided: bool,
    /// The loaded candidates, with their positions in the order of preference.
    loaded: HashMap<usize, usize>,
    /// True if the set has code for the platform of the device.
    has_code: bool,
    /// True if the images that the runtime may launch a kernel from have all been read.
    is_read: bool,
}

/// Images that prove a gap, by their numbers.
#[derive(Debug, Clone, Copy)]
pub struct Witnesses {
    /// The image that the runtime selects.
    pub selected: usize,
    /// What it has instead of the body.
    pub absence: Absence,
    /// An image that has the kernel.
    pub holder: usize,
}

/// The devices that kernels are judged on.
#[derive(Debug, Clone, Copy)]
pub struct Columns<'d> {
    /// The requested devices.
    pub devices: &'d [NamedDevice],
    /// Devices that the files have code for.
    pub own_devices: &'d [NamedDevice],
}

impl<'a> SetCoverage<'a> {
    /// Judges the kernels of a set, and adds their cells to `rows`.
    pub fn new(
        set: CandidateSet<'a>,
        inspections: &[Option<ImageKernels<'a>>],
        columns: Columns<'_>,
        rows: &mut Rows<'a>,
        budget: &Budget,
    ) -> Result<Self, Cause> {
        let inspections: Vec<Option<ImageKernels<'_>>> =
            set.candidates.iter().map(|candidate| inspections.get(candidate.number).copied().flatten()).collect();
        let kernels = groups(&inspections);
        let mut judged = SetCoverage { set, inspections, kernels, rows: HashMap::new(), columns: Vec::new() };
        if judged.kernels.is_empty() {
            return Ok(judged);
        }
        let loadable = judged.select(columns, budget)?;
        let groups: BTreeSet<&Group> = judged.kernels.values().collect();
        let mut numbers = HashMap::new();
        for group in groups {
            judged.charge_group(&group.holders, budget)?;
            let is_loadable = group.holders.iter().any(|index| loadable.contains(index));
            let settings = judged.columns.iter().flatten().map(|selected| match judged.cell(group, selected) {
                CoverageCell::Gap(_) if !is_loadable => CoverageCell::None,
                cell => cell,
            });
            let cells: Vec<CoverageCell<'_>> = settings.collect();
            numbers.insert(group.clone(), rows.add(cells.into_iter(), budget)?);
        }
        judged.rows = numbers;
        Ok(judged)
    }

    /// Returns each kernel and its row.
    pub fn kernels(&self) -> impl Iterator<Item = (&'a str, RowNumber)> {
        self.kernels.iter().filter_map(|(name, group)| Some((*name, *self.rows.get(group)?)))
    }

    /// Returns the architectures and forms of the images that have each kernel, and that `is_code` accepts by their
    /// numbers. Kernels in the same images share one set.
    pub fn archs(&self, is_code: &dyn Fn(usize) -> bool, known: &mut KnownArchs) -> HashMap<&'a str, Archs> {
        let mut of_groups: HashMap<&Group, Archs> = HashMap::new();
        let mut of_kernels = HashMap::with_capacity(self.kernels.len());
        for (name, group) in &self.kernels {
            let archs = of_groups.entry(group).or_insert_with(|| {
                let holders = group.holders.iter().filter_map(|index| self.set.candidates.get(*index));
                let code = holders.filter(|candidate| is_code(candidate.number));
                known.stored(code.map(|candidate| candidate.image.arch_and_form()).collect())
            });
            of_kernels.insert(*name, Arc::clone(archs));
        }
        of_kernels
    }

    /// Returns the row of a kernel.
    pub fn row(&self, kernel: &str) -> Option<RowNumber> {
        self.rows.get(self.kernels.get(kernel)?).copied()
    }

    /// Returns the images that prove the gap of a kernel on a device. `column` is the device's column.
    pub fn witnesses(&self, kernel: &str, column: usize) -> Option<Witnesses> {
        let group = self.kernels.get(kernel)?;
        let gap = |selected: &DeviceSelection| match self.cell(group, selected) {
            CoverageCell::Gap(absence) => Some((selected.taken?, absence)),
            _ => None,
        };
        let (selected, absence) = self.columns.get(column)?.iter().find_map(gap)?;
        let number = |index: usize| self.set.candidates.get(index).map(|candidate| candidate.number);
        Some(Witnesses { selected: number(selected)?, absence, holder: number(*group.holders.first()?)? })
    }

    /// Selects from the whole set on the devices of each column. Returns the candidates that a runtime loads on some
    /// device, or would if it did not prefer another.
    fn select(&mut self, columns: Columns<'_>, budget: &Budget) -> Result<BTreeSet<usize>, Cause> {
        let mut loadable = BTreeSet::new();
        let asked: HashSet<&Device> = columns.devices.iter().flat_map(|named| &named.devices).collect();
        let own = columns.own_devices.iter().flat_map(|named| &named.devices);
        let own: Vec<&Device> = own.filter(|device| !asked.contains(device)).collect();
        let asked = columns.devices.iter().map(|named| named.devices.len()).sum::<usize>();
        self.set.charge([asked, own.len()].iter().sum(), budget)?;
        for column in columns.devices {
            let mut selections = Vec::with_capacity(column.devices.len());
            for device in &column.devices {
                let selection = self.set.select_on(device);
                loadable.extend(loadable_of(&selection));
                let selected = self.device_selection(device, &selection);
                let loaded = record_memory(0, selected.loaded.keys().map(|_| size_of::<[usize; 2]>()));
                budget.charge(Resource::Memory, total([loaded, size_of::<DeviceSelection>() as u64]))?;
                selections.push(selected);
            }
            self.columns.push(selections);
        }
        for device in own {
            loadable.extend(loadable_of(&self.set.select_on(device)));
        }
        Ok(loadable)
    }

    fn device_selection(&self, device: &Device, selection: &Selection) -> DeviceSelection {
        let is_read = |index: usize| {
            self.inspections.get(index).copied().flatten().is_some_and(|inspection| inspection.not_inspected.is_none())
        };
        let is_read = match self.set.runtime.preference {
            Preference::BestForEachKernel => (0..self.set.candidates.len()).all(is_read),
            _ => loaded(selection).all(is_read),
        };
        DeviceSelection {
            device: device.clone(),
            selected: selection.selected,
            taken: selection.selected.map(|(index, _)| index).or_else(|| selection.taken_stubs()),
            is_undecided: selection.is_undecided(),
            loaded: loaded(selection).zip(0..).collect(),
            has_code: self.set.has_code_for(device) || (self.set.is_unregistered && self.set.is_for_platform(device)),
            is_read,
        }
    }

    /// Charges the selections for the kernels that are in `holders`, if they are judged by these alone.
    fn charge_group(&self, holders: &[usize], budget: &Budget) -> Result<(), Cause> {
        let is_alone =
            self.set.role == CodeRole::LinkInput || self.set.runtime.preference == Preference::BestForEachKernel;
        let judged = if is_alone { holders.len() } else { 1 };
        let devices = self.columns.iter().map(Vec::len).sum::<usize>();
        budget.charge(Resource::Work, (judged as u64).saturating_mul(devices as u64))
    }

    /// Judges the kernels of a group. `selected` is the selection from the whole set.
    fn cell(&self, group: &Group, selected: &DeviceSelection) -> CoverageCell<'a> {
        let holders = &group.holders;
        let device = &selected.device;
        if self.set.role == CodeRole::LinkInput {
            return self.unlinked_cell(holders, device);
        }
        if selected.is_undecided {
            return CoverageCell::Unknown;
        }
        let Some((_, method)) = selected.selected else {
            return match selected.taken.and_then(|taken| group.stub(taken)) {
                Some(stub) => CoverageCell::Gap(Absence::Stub(stub)),
                None if selected.has_code => CoverageCell::None,
                None => CoverageCell::OtherPlatform,
            };
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
        if group.wavefront.is_some_and(|wavefront| !wavefront.is_of(device)) {
            return CoverageCell::OtherPlatform;
        }
        let stub = group.stubs.iter().find(|(index, _)| selected.loaded.contains_key(index));
        match stub {
            Some((_, stub)) => CoverageCell::Gap(Absence::Stub(*stub)),
            None if selected.is_read => CoverageCell::Gap(Absence::Absent),
            None => CoverageCell::Unknown,
        }
    }

    /// Judges kernels of relocatable code as if its images were linked one by one.
    fn unlinked_cell(&self, holders: &[usize], device: &Device) -> CoverageCell<'a> {
        let candidates = holders.iter().filter_map(|&index| self.set.candidates.get(index).copied()).collect();
        let linked = CandidateSet { candidates, role: CodeRole::Relinked, ..self.set.clone() };
        match linked.select_on(device).selected {
            Some(_) => CoverageCell::Unlinked,
            None if linked.is_for_platform(device) => CoverageCell::None,
            None => CoverageCell::OtherPlatform,
        }
    }
}

impl Group {
    /// Returns what the kernels do in a candidate that has only stubs.
    fn stub(&self, candidate: usize) -> Option<Stub> {
        self.stubs.iter().find(|(index, _)| *index == candidate).map(|(_, stub)| *stub)
    }
}

/// Returns the group of each kernel.
fn groups<'a>(inspections: &[Option<ImageKernels<'a>>]) -> BTreeMap<&'a str, Group> {
    let mut kernels: BTreeMap<&str, Group> = BTreeMap::new();
    for (index, inspection) in inspections.iter().enumerate() {
        for (name, stub) in inspection.iter().flat_map(|inspection| inspection.names()) {
            let group = kernels
                .entry(name)
                .or_insert_with(|| Group { wavefront: Wavefront::of_name(name), ..Group::default() });
            match stub {
                Some(stub) if group.stubs.last().is_none_or(|(last, _)| *last != index) => {
                    group.stubs.push((index, stub));
                }
                None if group.holders.last() != Some(&index) => group.holders.push(index),
                _ => {}
            }
        }
    }
    for group in kernels.values_mut().filter(|group| group.holders.is_empty()) {
        group.holders = std::mem::take(&mut group.stubs).into_iter().map(|(index, _)| index).collect();
    }
    kernels
}

/// Returns the candidates that are loaded, or would be if no other was preferred.
fn loadable_of(selection: &Selection) -> impl Iterator<Item = usize> {
    let outranked = selection.rejected.iter().filter(|(_, reason)| matches!(reason, RejectReason::Outranked { .. }));
    loaded(selection).chain(outranked.map(|(index, _)| *index))
}

fn loaded(selection: &Selection) -> impl Iterator<Item = usize> {
    selection.selected.iter().map(|(index, _)| *index).chain(selection.also_selected.iter().copied())
}
