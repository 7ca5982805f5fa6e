//! A set of packages on several devices, as one answer: what each library supplies, and what the set lacks.
//!
//! Files that differ only by processors in their paths (`x_gfx942.kpack`, `x_gfx1101.kpack`) are members of one library,
//! wherever they are in the set. A library serves a device if one of its members does.

use std::collections::BTreeMap;

use super::library_name::{LibraryName, member_for};
use super::{AnsweredFile, AnsweredSet, NamedDevice, Selection, program_sets};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::scan::inventory::File;
use fatbin_core::target::amdgpu::processor;
use fatbin_core::target::gfx_override::{GfxOverride, OverrideAdvice, advice};
use fatbin_core::target::runs_on::LoadMethod;
use fatbin_core::target::{Device, natural_order};

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

    fn of(method: LoadMethod) -> Service {
        match method {
            LoadMethod::Exact => Service::Native,
            method if method.is_at_load_time() => Service::Jit,
            _ => Service::Compatible,
        }
    }
}

/// Number of choices by service and by the architecture of the selected image.
type Choices = BTreeMap<(Service, Option<String>), usize>;

/// What a file supplies on a device.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberAnswer {
    /// The most frequent service among the choices that are served; else the best.
    pub service: Service,
    /// Architecture of its image.
    pub arch: Option<String>,
    /// Number of choices by service.
    pub choices: BTreeMap<Service, usize>,
}

impl MemberAnswer {
    /// Returns the answer of a file; `None` if the file has no code for the platform of the devices. Images without a
    /// container count if they run: the program selects them.
    pub fn of(answered: &AnsweredFile<'_>, devices: &[Device]) -> Option<MemberAnswer> {
        let mut choices = Choices::new();
        for set in answered.relevant().filter(|set| !set.is_without_kernels) {
            add(&mut choices, worst_of(set));
        }
        for code in answered.kpack.iter().flat_map(|it| &it.devices).flat_map(|device| &device.code) {
            let found = code.answers.iter().map(|answer| match answer {
                Ok(code) if code.arch.contains("-generic") => (Service::Compatible, Some(code.arch.to_owned())),
                Ok(code) => (Service::Native, Some(code.arch.to_owned())),
                Err(_) => (Service::Nothing, None),
            });
            add(&mut choices, found.max());
        }
        if choices.is_empty() && !answered.selected_by_program.is_empty() {
            let sets = program_sets(answered.file).filter(|set| devices.iter().any(|it| set.is_for_platform(it)));
            let of_set = |set: super::CandidateSet<'_>| {
                let selections = devices.iter().map(|device| service_of(&set, &set.select_on(device)));
                selections.max()
            };
            add(&mut choices, sets.filter_map(of_set).min());
        }
        MemberAnswer::of_choices(&choices)
    }

    fn of_choices(choices: &Choices) -> Option<MemberAnswer> {
        let is_served = |service: Service| service < Service::Undecided;
        let served = choices.iter().filter(|((service, _), _)| is_served(*service));
        let most = served.max_by_key(|((service, _), count)| (**count, std::cmp::Reverse(*service)));
        let ((service, arch), _) = most.or_else(|| choices.iter().next())?;
        let mut counts = BTreeMap::new();
        for ((service, _), count) in choices {
            *counts.entry(*service).or_insert(0) += count;
        }
        Some(MemberAnswer { service: *service, arch: arch.clone(), choices: counts })
    }
}

fn add(choices: &mut Choices, found: Option<(Service, Option<String>)>) {
    if let Some(found) = found {
        *choices.entry(found).or_insert(0) += 1;
    }
}

fn service_of(set: &super::CandidateSet<'_>, selection: &Selection) -> (Service, Option<String>) {
    match selection.selected {
        _ if selection.is_undecided() => (Service::Undecided, None),
        Some((index, method)) => (Service::of(method), set.candidates[index].image.arch.clone()),
        None => (Service::Nothing, None),
    }
}

/// The least favorable answer among the settings that the name of the device leaves open.
fn worst_of(answered: &AnsweredSet<'_>) -> Option<(Service, Option<String>)> {
    answered.answers.iter().map(|answer| service_of(&answered.set, &answer.selection)).max()
}

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
    pub answers: Vec<Option<MemberAnswer>>,
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
                        MemberAnswer::of(&answered, &devices).is_some_and(|it| it.service < Service::Undecided)
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
                if let Some(package) = packages.get_mut(place) {
                    package.add(library, member);
                }
            }
        }
        packages
    }
}

impl PackageAnswer {
    fn add(&mut self, library: &Library<'_>, member: &SetMember<'_>) {
        self.members += 1;
        let own = self.devices.iter_mut().zip(&mut self.is_for_others).zip(&member.answers).enumerate();
        for (device, ((counts, is_for_others), answer)) in own {
            let Some(answer) = answer else { continue };
            if answer.service == Service::Nothing && library.service(device) != Some(Service::Nothing) {
                *is_for_others = true;
                continue;
            }
            let arch = if answer.service == Service::Native { None } else { answer.arch.clone() };
            *counts.entry((answer.service, arch)).or_insert(0) += 1;
        }
    }
}

impl Library<'_> {
    /// Returns what the best member supplies on a device; `None` without code for the platform.
    pub fn service(&self, device: usize) -> Option<Service> {
        self.members.iter().filter_map(|it| Some(it.answers.get(device)?.as_ref()?.service)).min()
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
