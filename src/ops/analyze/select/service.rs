//! How well code serves a device, and what a choice supplies.

use super::{CandidateSet, Selection, program_sets};
use fatbin_core::scan::inventory::File;
use fatbin_core::target::Device;
use fatbin_core::target::runs_on::LoadMethod;

/// How code is loaded on a device; smaller is better.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Service {
    /// Built for the processor.
    Native,
    /// Built for an earlier or a generic processor, or for a family.
    Compatible,
    /// Compiled or linked by the driver.
    Jit,
    /// Not known.
    Undecided,
    /// Code for other devices of the platform only.
    Nothing,
}

impl Service {
    /// Every service, the best first.
    pub const ALL: [Service; 5] =
        [Service::Native, Service::Compatible, Service::Jit, Service::Undecided, Service::Nothing];

    /// Name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Service::Native => "native",
            Service::Compatible => "compatible",
            Service::Jit => "jit",
            Service::Undecided => "undecided",
            Service::Nothing => "nothing",
        }
    }

    /// Returns whether code runs.
    pub fn runs(self) -> bool {
        self < Service::Undecided
    }

    fn of(method: LoadMethod) -> Service {
        match method {
            LoadMethod::Exact => Service::Native,
            method if method.is_at_load_time() => Service::Jit,
            _ => Service::Compatible,
        }
    }
}

/// A service, and the architecture of the image.
pub type Supply = (Service, Option<String>);

/// Returns what a selection from a set supplies.
pub fn supply(set: &CandidateSet<'_>, selection: &Selection) -> Supply {
    match selection.selected {
        _ if selection.is_undecided() => (Service::Undecided, None),
        Some((index, method)) => (Service::of(method), set.candidates[index].image.arch.clone()),
        None => (Service::Nothing, None),
    }
}

/// Returns the module of the images that the program selects from: any of them may run.
pub fn of_program(file: &File, devices: &[Device]) -> Option<Vec<Supply>> {
    let is_for_platform = |set: &CandidateSet<'_>| devices.iter().any(|device| set.is_for_platform(device));
    let sets: Vec<_> = program_sets(file).filter(|set| set.has_kernels() && is_for_platform(set)).collect();
    let best = |device| sets.iter().map(|set| supply(set, &set.select_on(device))).min();
    (!sets.is_empty()).then(|| devices.iter().filter_map(best).collect())
}
