//! Selections on several devices, grouped where they are equal.

use std::collections::BTreeMap;

use super::kpack::AnsweredReference;
use super::service::{self, Service, Supply};
use super::{Candidate, CandidateSet, DriverCheck, Runtime, Selection, candidate_sets, selected_by_program};
use fatbin_core::scan::inventory::{CodeRole, File};
use fatbin_core::target::{Device, Platform, natural_order};

/// A file and the selections from all of its candidate sets.
#[derive(Debug)]
pub struct AnsweredFile<'a> {
    /// The file.
    pub file: &'a File,
    /// The settings that the name of a device leaves open.
    pub devices: &'a [Device],
    /// All candidate sets, in the order of their containers.
    pub sets: Vec<AnsweredSet<'a>>,
    /// Code in the file's kpack archives.
    pub kpack: Vec<AnsweredReference<'a>>,
    /// Images for the platform of the devices. The program selects from them by its own rules.
    pub selected_by_program: Vec<Candidate<'a>>,
    /// What the best of these images supplies in each setting; `None` without such images that hold kernels.
    pub(super) supplied_by_program: Option<Vec<Supply>>,
}

/// A candidate set and the selections from it: one for all devices, or several where the name of the device is
/// ambiguous and the selections differ.
#[derive(Debug)]
pub struct AnsweredSet<'a> {
    /// The candidate set.
    pub set: CandidateSet<'a>,
    /// True if it has code for the platform of the devices that a runtime may load.
    pub is_relevant: bool,
    /// True if it has code for the platform of the devices that nothing in the file registers.
    pub is_unregistered: bool,
    /// The different selections.
    pub answers: Vec<DeviceAnswer<'a>>,
}

/// Candidate sets with code for the same processors, and none for some of the devices.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SelectionGap<'a> {
    /// The processors that their code is for, in order.
    pub archs: Vec<&'a str>,
    /// Number of sets.
    pub choices: usize,
    /// Numbers of their images among the device images of the file.
    pub images: Vec<usize>,
}

/// The selection of a runtime on one or several devices.
#[derive(Debug)]
pub struct DeviceAnswer<'a> {
    /// The devices.
    pub devices: Vec<&'a Device>,
    /// The selection of the current release.
    pub selection: Selection,
    /// The selection of earlier releases, where it differs.
    pub earlier: Option<(&'static Runtime, Selection)>,
}

/// Returns the architectures and forms of relocatable code with a purpose, for a platform: `sm_90`, `sm_90 ptx`.
pub fn relocatable_archs(file: &File, role: CodeRole, platform: Platform) -> Vec<String> {
    let sets = candidate_sets(file).into_iter().filter(|set| set.role == role);
    let candidates = sets.flat_map(|set| set.candidates).filter(|candidate| candidate.platform() == Some(platform));
    let mut archs: Vec<String> = candidates.map(|candidate| candidate.image.arch_and_form()).collect();
    archs.sort_by_cached_key(|arch| natural_order(arch));
    archs.dedup();
    archs
}

impl<'a> AnsweredFile<'a> {
    /// Selects from all candidate sets of a file.
    pub fn new(file: &'a File, devices: &'a [Device]) -> Self {
        AnsweredFile::with_driver(file, devices, None)
    }

    /// Selects from all candidate sets of a file, with a driver of NVIDIA.
    pub fn with_driver(file: &'a File, devices: &'a [Device], check: Option<DriverCheck<'_>>) -> Self {
        let sets = candidate_sets(file).into_iter().map(|it| AnsweredSet::new(it, devices, check));
        let kpack = file.kpack.iter().map(|it| AnsweredReference::new(it, devices));
        let kpack = kpack.filter(|it| !it.devices.is_empty());
        let selected_by_program =
            selected_by_program(file).filter(|it| devices.iter().any(|device| it.is_for(device))).collect();
        let supplied_by_program = service::of_program(file, devices);
        AnsweredFile {
            file,
            devices,
            sets: sets.collect(),
            kpack: kpack.collect(),
            selected_by_program,
            supplied_by_program,
        }
    }

    /// Returns what the images supply that the program selects from, in the worst setting.
    pub fn service_by_program(&self) -> Option<Service> {
        self.supplied_by_program.iter().flatten().map(|(service, _)| *service).max()
    }

    /// Returns whether there is code for the platform of the devices that a runtime or the program selects.
    pub fn has_code(&self) -> bool {
        self.is_relevant() || self.supplied_by_program.is_some()
    }

    /// Returns whether an image is selected from each set with kernels and code for the platform of the devices, every
    /// release of the loader finds each code object in kpack archives, and the program has an image to select.
    pub fn is_served_everywhere(&self) -> bool {
        self.relevant().all(AnsweredSet::always_selects)
            && self.kpack.iter().all(AnsweredReference::always_loads)
            && self.service_by_program().is_none_or(Service::runs)
    }

    /// Returns the sets that supply nothing for some of the devices, grouped by the processors that their code is for.
    pub fn gaps(&self) -> Vec<SelectionGap<'a>> {
        let mut gaps: BTreeMap<Vec<&str>, SelectionGap<'_>> = BTreeMap::new();
        for answered in self.relevant().filter(|set| set.selects_nothing()) {
            let candidates = answered.set.own_code();
            let with_kernels = candidates.iter().filter(|it| it.image.content == answered.set.content);
            let mut archs: Vec<&str> = with_kernels.filter_map(|it| it.image.arch.as_deref()).collect();
            archs.sort_by_cached_key(|arch| natural_order(arch));
            archs.dedup();
            let gap = gaps.entry(archs.clone()).or_insert(SelectionGap { archs, choices: 0, images: Vec::new() });
            gap.choices += 1;
            gap.images.extend(candidates.iter().map(|candidate| candidate.number));
        }
        gaps.into_values().collect()
    }

    /// Returns whether there is code for the platform of the devices.
    pub fn is_relevant(&self) -> bool {
        self.relevant().next().is_some() || !self.kpack.is_empty()
    }

    /// Returns the number of candidate sets with code for the platform of the devices that nothing in the file
    /// registers.
    pub fn unregistered(&self) -> usize {
        self.sets.iter().filter(|set| set.is_unregistered).count()
    }

    /// Returns the candidate sets with kernels and code for the platform of the devices that a runtime may load.
    pub fn relevant(&self) -> impl Iterator<Item = &AnsweredSet<'a>> {
        self.listed().filter(|answered| answered.set.has_kernels())
    }

    /// Returns the candidate sets with code for the platform of the devices that a runtime may load. No device needs
    /// the sets without kernels.
    pub fn listed(&self) -> impl Iterator<Item = &AnsweredSet<'a>> {
        self.sets.iter().filter(|set| set.is_relevant)
    }
}

impl DeviceAnswer<'_> {
    /// Returns whether the selection is not known.
    pub fn is_undecided(&self) -> bool {
        self.selection.is_undecided()
    }
}

impl<'a> AnsweredSet<'a> {
    fn new(set: CandidateSet<'a>, devices: &'a [Device], check: Option<DriverCheck<'_>>) -> Self {
        let mut answers: Vec<DeviceAnswer> = Vec::new();
        for device in devices {
            let selection = set.select_with(device, check);
            let earlier = set.select_with_earlier_release(device, check);
            match answers.iter_mut().find(|known| known.selection == selection && known.earlier == earlier) {
                Some(known) => known.devices.push(device),
                None => answers.push(DeviceAnswer { devices: vec![device], selection, earlier }),
            }
        }
        let is_relevant = devices.iter().any(|device| set.has_code_for(device));
        let is_unregistered = set.is_unregistered && devices.iter().any(|device| set.is_for_platform(device));
        AnsweredSet { set, is_relevant, is_unregistered, answers }
    }

    /// Returns whether it is known that nothing is selected on some device.
    pub fn selects_nothing(&self) -> bool {
        self.answers.iter().any(|answer| answer.selection.selected.is_none() && !answer.is_undecided())
    }

    /// Returns whether an image is selected on every device.
    pub fn always_selects(&self) -> bool {
        self.answers.iter().all(|answer| answer.selection.selected.is_some() && !answer.is_undecided())
    }
}
