//! What modules supply on a device, the answer that commands print and judge by.
//!
//! A module is what a program hands to a runtime at once: a candidate set, the images that the program selects from by
//! its own rules, or a code object in kpack archives. Files that differ only by the processors in their paths supply one
//! module together. A module whose images hold no kernel asks for nothing.

use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::service::{Service, Supply, supply};
use super::{AnsweredFile, AnsweredSet};
use fatbin_core::target::Device;

/// Modules that share an outcome. Worse outcomes are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Outcome {
    /// Every module has code that runs.
    Served,
    /// Some modules have nothing.
    Partly,
    /// No module has code that runs.
    Nothing,
    /// It is not known whether a module has code that runs.
    Undecided,
}

/// What a file supplies on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileAnswer {
    /// The most frequent service among the modules that are served, else the best; in the worst setting that the name of
    /// the device leaves open.
    pub service: Service,
    /// Architecture of its image.
    pub arch: Option<String>,
    /// Number of modules by service, each in its worst setting.
    pub choices: BTreeMap<Service, usize>,
    /// For each setting, what each module supplies.
    settings: Vec<Vec<Supply>>,
}

impl FileAnswer {
    /// Returns the answer of a file; `None` if it has no kernels for the platform of the devices.
    pub fn of(answered: &AnsweredFile<'_>) -> Option<FileAnswer> {
        let devices = answered.devices;
        let mut modules: Vec<Vec<Supply>> = answered.relevant().map(|set| of_set(set, devices)).collect();
        modules.extend(of_kpack(answered));
        modules.extend(answered.supplied_by_program.clone());
        let mut choices = BTreeMap::new();
        for (service, _) in modules.iter().filter_map(|module| module.iter().max()) {
            *choices.entry(*service).or_insert(0) += 1;
        }
        let setting = |index: usize| modules.iter().filter_map(|module| module.get(index).cloned()).collect();
        let settings: Vec<Vec<Supply>> = (0..devices.len()).map(setting).collect();
        let (service, arch) = settings.iter().filter_map(|modules| most_frequent(modules.iter())).max()?;
        Some(FileAnswer { service, arch, choices, settings })
    }

    /// Returns whether some module runs in every setting.
    pub fn runs(&self) -> bool {
        self.settings.iter().all(|modules| modules.iter().any(|(service, _)| service.runs()))
    }
}

/// Returns the outcome of the modules of files that supply them together. Files for other processors do not count where
/// a file has code.
pub fn outcome(files: &[&FileAnswer]) -> Outcome {
    let settings = files.iter().map(|file| file.settings.len()).max().unwrap_or_default();
    (0..settings).map(|setting| outcome_in(files, setting)).max().unwrap_or(Outcome::Nothing)
}

/// Returns the best service of files that supply modules together, in the worst setting.
pub fn service(files: &[&FileAnswer]) -> Option<Service> {
    if let [file] = files {
        return Some(file.service);
    }
    let settings = files.iter().map(|file| file.settings.len()).max().unwrap_or_default();
    let of_file = |file: &&FileAnswer, setting: usize| Some(most_frequent(file.settings.get(setting)?.iter())?.0);
    let best = |setting| files.iter().filter_map(|file| of_file(file, setting)).min();
    (0..settings).filter_map(best).max()
}

fn outcome_in(files: &[&FileAnswer], setting: usize) -> Outcome {
    let modules = files.iter().filter_map(|file| file.settings.get(setting));
    let has = |modules: &[Supply], accepts: fn(Service) -> bool| modules.iter().any(|(it, _)| accepts(*it));
    let is_undecided = |service| service == Service::Undecided;
    let serving: Vec<_> = modules.clone().filter(|modules| has(modules, Service::runs)).collect();
    match serving.as_slice() {
        [] if modules.clone().any(|modules| has(modules, is_undecided)) => Outcome::Undecided,
        [] => Outcome::Nothing,
        files if files.iter().any(|modules| has(modules, is_undecided)) => Outcome::Undecided,
        files if files.iter().any(|modules| has(modules, |service| !service.runs())) => Outcome::Partly,
        _ => Outcome::Served,
    }
}

/// Returns the most frequent supply among those that run; else the best.
fn most_frequent<'s>(supplies: impl Iterator<Item = &'s Supply> + Clone) -> Option<Supply> {
    let mut counts: BTreeMap<&Supply, usize> = BTreeMap::new();
    for supply in supplies {
        *counts.entry(supply).or_insert(0) += 1;
    }
    let running = counts.iter().filter(|((service, _), _)| service.runs());
    let most = running.max_by_key(|((service, _), count)| (**count, Reverse(*service)));
    most.or_else(|| counts.iter().next()).map(|(supply, _)| (*supply).clone())
}

fn of_set(answered: &AnsweredSet<'_>, devices: &[Device]) -> Vec<Supply> {
    let of_device = |device: &Device| {
        let answer = answered.answers.iter().find(|answer| answer.devices.contains(&device));
        answer.map_or((Service::Nothing, None), |answer| supply(&answered.set, &answer.selection))
    };
    devices.iter().map(of_device).collect()
}

/// Returns the code objects in kpack archives: what the least able release of the loader finds.
fn of_kpack(answered: &AnsweredFile<'_>) -> Vec<Vec<Supply>> {
    let mut modules: BTreeMap<(usize, u32), Vec<Supply>> = BTreeMap::new();
    for (reference, it) in answered.kpack.iter().enumerate() {
        for code in it.devices.iter().flat_map(|device| &device.code) {
            let found = code.answers.iter().map(|answer| match answer {
                Ok(code) if code.arch.contains("-generic") => (Service::Compatible, Some(code.arch.to_owned())),
                Ok(code) => (Service::Native, Some(code.arch.to_owned())),
                Err(_) => (Service::Nothing, None),
            });
            modules.entry((reference, code.index)).or_default().extend(found.max());
        }
    }
    modules.into_values().collect()
}
