//! A set of packages on several devices, as one answer: what each library supplies, and what the set lacks.
//!
//! Files that differ only by processors in their paths (`x_gfx942.kpack`, `x_gfx1101.kpack`) are members of one library,
//! wherever they are in the set. A library serves a device if one of its members does.

use std::collections::BTreeMap;

use super::answer::{self, FileAnswer, Outcome};
use super::library_name::{LibraryName, member_for};
use super::service::Service;
use super::{AnsweredFile, NamedDevice};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::scan::inventory::File;
use fatbin_core::target::amdgpu::processor;
use fatbin_core::target::gfx_override::{GfxOverride, OverrideAdvice, advice};
use fatbin_core::target::{Device, natural_order};

/// A device that a set is asked about.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RequestedDevice {
    /// The device.
    pub device: NamedDevice,
    /// Number of such GPUs in the machine, if a list states it.
    pub count: Option<usize>,
}

/// A file of a set.
#[derive(Debug)]
pub struct SetMember<'a> {
    /// The file.
    pub file: &'a File,
    /// Path of the package around it: the outermost archive, or the directory below an input.
    pub package: String,
    /// An answer for each device; `None` if it has no code for the platform of the device.
    pub answers: Vec<Option<FileAnswer>>,
}

/// Members that differ only by the processors in their paths.
#[derive(Debug)]
pub struct Library<'a> {
    /// Path, with `*` for processors.
    pub name: LibraryName,
    /// The members.
    pub members: Vec<SetMember<'a>>,
}

/// A package, and the libraries that it has members of.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PackageAnswer {
    /// Path.
    pub path: String,
    /// For each device, the number of members by service and the architectures of their images. Members of libraries
    /// that another package serves do not count.
    pub devices: Vec<BTreeMap<(Service, Option<String>), usize>>,
    /// For each device, whether it has code for the platform, and another package serves its libraries.
    pub is_for_others: Vec<bool>,
    /// Number of members with device code.
    pub members: usize,
}

/// What an override does for the libraries that lack code for a device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OverrideEffect {
    /// The set has code for the other processor.
    Helps {
        /// The override.
        value: GfxOverride,
        /// Number of libraries with such code, among those that lack code.
        libraries: usize,
    },
    /// The set has no code for the other processor.
    NoCode(GfxOverride),
    /// No override makes other code run, for a reason.
    Fails(&'static str),
    /// None is known.
    Unknown,
}

/// A set of packages on devices.
#[derive(Debug)]
pub struct SetSelection<'a> {
    /// The devices.
    pub devices: &'a [RequestedDevice],
    /// The libraries with code for the platform of any device, in the order of their first members.
    pub libraries: Vec<Library<'a>>,
    /// Number of files with device code for other platforms only.
    pub others: usize,
}

impl<'a> SetSelection<'a> {
    /// Joins members to libraries. Files without device code are left out.
    pub fn new(devices: &'a [RequestedDevice], members: Vec<SetMember<'a>>) -> SetSelection<'a> {
        let mut libraries: Vec<Library<'a>> = Vec::new();
        let mut places: BTreeMap<String, usize> = BTreeMap::new();
        let mut others = 0;
        for member in members {
            if member.answers.iter().all(Option::is_none) {
                others += usize::from(member.file.has_device_code());
                continue;
            }
            let name = LibraryName::of(&member.file.path, &member.package);
            let place = *places.entry(name.key().to_owned()).or_insert(libraries.len());
            match libraries.get_mut(place) {
                Some(library) => library.members.push(member),
                None => libraries.push(Library { name, members: vec![member] }),
            }
        }
        SetSelection { devices, libraries, others }
    }

    /// Returns the outcome on all devices. Every library must run on every device, and each device needs one.
    pub fn outcome(&self) -> Outcome {
        let on = |device: usize| {
            let outcomes = self.libraries.iter().filter_map(|library| library.outcome(device));
            outcomes.max().unwrap_or(Outcome::Nothing)
        };
        (0..self.devices.len()).map(on).max().unwrap_or(Outcome::Nothing)
    }

    /// Returns whether some library runs on every device.
    pub fn runs_somewhere(&self) -> bool {
        let runs = |library: &Library<'_>, device| library.service(device).is_some_and(Service::runs);
        (0..self.devices.len()).all(|device| self.libraries.iter().any(|library| runs(library, device)))
    }

    /// Returns the number of libraries on a device by service.
    pub fn counts(&self, device: usize) -> BTreeMap<Service, usize> {
        let mut counts = BTreeMap::new();
        for service in self.libraries.iter().filter_map(|library| library.service(device)) {
            *counts.entry(service).or_insert(0) += 1;
        }
        counts
    }

    /// Returns the libraries with code for the platform of a device, and none for the device.
    pub fn missing(&self, device: usize) -> impl Iterator<Item = &Library<'a>> {
        self.libraries.iter().filter(move |library| library.service(device) == Some(Service::Nothing))
    }

    /// Returns the effect of an override on the libraries that a device lacks; `None` if it lacks none, and for other
    /// devices than AMD's.
    pub fn effect_of_override(&self, device: usize) -> Option<OverrideEffect> {
        let name = match self.devices.get(device)?.device.devices.first()? {
            Device::Amd(name) => processor(name),
            _ => return None,
        };
        self.missing(device).next()?;
        Some(match advice(name) {
            OverrideAdvice::Unknown => OverrideEffect::Unknown,
            OverrideAdvice::Fails(reason) => OverrideEffect::Fails(reason),
            OverrideAdvice::Replace(value) => {
                let devices = Device::parse(value.processor).unwrap_or_default();
                let is_served = |library: &&Library<'_>| {
                    library.members.iter().any(|member| {
                        let answered = AnsweredFile::new(member.file, &devices);
                        FileAnswer::of(&answered).is_some_and(|it| it.runs())
                    })
                };
                match self.missing(device).filter(is_served).count() {
                    0 => OverrideEffect::NoCode(value),
                    libraries => OverrideEffect::Helps { value, libraries },
                }
            }
        })
    }

    /// Returns the packages in the order of their first members.
    pub fn packages(&self) -> Vec<PackageAnswer> {
        let mut packages: Vec<PackageAnswer> = Vec::new();
        let mut places: BTreeMap<&str, usize> = BTreeMap::new();
        for library in &self.libraries {
            let mut by_package: BTreeMap<&str, Vec<&SetMember<'_>>> = BTreeMap::new();
            for member in &library.members {
                let place = *places.entry(&member.package).or_insert(packages.len());
                if place == packages.len() {
                    packages.push(PackageAnswer {
                        path: member.package.clone(),
                        devices: vec![BTreeMap::new(); self.devices.len()],
                        is_for_others: vec![false; self.devices.len()],
                        members: 0,
                    });
                }
                by_package.entry(&member.package).or_default().push(member);
            }
            for (package, members) in by_package {
                let place = places.get(package).and_then(|place| packages.get_mut(*place));
                if let Some(place) = place {
                    place.add(library, &members);
                }
            }
        }
        packages
    }
}

impl PackageAnswer {
    /// Adds the members of a library that are in the package.
    fn add(&mut self, library: &Library<'_>, members: &[&SetMember<'_>]) {
        self.members += members.len();
        for (device, (counts, is_for_others)) in self.devices.iter_mut().zip(&mut self.is_for_others).enumerate() {
            let answers: Vec<&FileAnswer> =
                members.iter().filter_map(|member| member.answers.get(device)?.as_ref()).collect();
            let Some(together) = answer::service(&answers) else { continue };
            let arch = |answer: &FileAnswer| if together == Service::Native { None } else { answer.arch.clone() };
            let mut own = answers.iter().filter(|answer| answer.service != Service::Nothing).peekable();
            match (together, own.peek()) {
                (Service::Nothing, _) if library.service(device) != Some(Service::Nothing) => *is_for_others = true,
                // Each serves some of the settings that the name of the device leaves open.
                (together, None) => {
                    *counts.entry((together, answers.first().and_then(|it| arch(it)))).or_insert(0) += 1;
                }
                (_, Some(_)) => own.for_each(|answer| {
                    let arch = if answer.service == Service::Native { None } else { answer.arch.clone() };
                    *counts.entry((answer.service, arch)).or_insert(0) += 1;
                }),
            }
        }
    }
}

impl Library<'_> {
    /// Returns what the members supply together on a device; `None` without code for the platform.
    pub fn service(&self, device: usize) -> Option<Service> {
        answer::service(&self.answers(device))
    }

    /// Returns the outcome of its modules on a device; `None` without code for the platform.
    pub fn outcome(&self, device: usize) -> Option<Outcome> {
        let answers = self.answers(device);
        (!answers.is_empty()).then(|| answer::outcome(&answers))
    }

    fn answers(&self, device: usize) -> Vec<&FileAnswer> {
        self.members.iter().filter_map(|member| member.answers.get(device)?.as_ref()).collect()
    }

    /// Returns the architectures that the members are for.
    pub fn archs(&self) -> Vec<&str> {
        let images = self.members.iter().flat_map(|member| member.file.device_images());
        let kpack = self.members.iter().flat_map(|member| &member.file.kpack).flat_map(|it| &it.archives);
        let listed = kpack.flat_map(|archive| archive.arches.iter().map(String::as_str));
        let mut archs: Vec<&str> = images.filter_map(|image| image.arch.as_deref()).chain(listed).collect();
        archs.sort_by_cached_key(|arch| natural_order(arch));
        archs.dedup();
        archs
    }

    /// Returns the path of the member that would have code for a device: the path of a member, with the processor of the
    /// device. `None` if the paths name no processors.
    pub fn member_for(&self, device: &NamedDevice) -> Option<FilePath> {
        let name = device.devices.first().map(Device::to_string)?;
        self.members.iter().find_map(|member| member_for(&member.file.path, processor(&name)))
    }
}
