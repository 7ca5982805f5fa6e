//! Which image a runtime would take on a device from each container, and why it would take no other. Pure functions over
//! an inventory: no device, no driver, no files.
//!
//! What code runs on is one thing ([`crate::target::runs_on`]), in which order a runtime goes through what it has another
//! ([`Runtime`]).

mod answers;
mod runtimes;
#[cfg(test)]
mod tests;

pub use answers::{AnsweredFile, AnsweredSet, DeviceAnswer};
pub use runtimes::{Preference, Runtime};

use std::cmp::Reverse;
use std::collections::HashMap;

use crate::format::{ContainerType, ImageKind};
use crate::inventory::{Container, File, Image, NestedImage};
use crate::target::nvptx::{self, Suffix};
use crate::target::runs_on::{Code, Form, Obstacle, Way};
use crate::target::{Device, OffloadKind, Platform};

/// The images from which a runtime takes at most one for a device: those of a fat binary or bundle, or of all offload
/// binaries of one kind in a file, which are registered as one.
#[derive(Debug, Clone)]
pub struct CandidateSet<'a> {
    /// The container, or the first of several.
    pub container: &'a Container,
    pub runtime: &'static Runtime,
    pub candidates: Vec<Candidate<'a>>,
    /// For a device linker: no runtime ever sees it.
    pub needs_device_link: bool,
}

/// An image and its number among the device images of its file.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    pub number: usize,
    pub image: &'a Image,
}

/// What a runtime does with the images that it has; indices are those of the candidates.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Selection {
    pub selected: Option<(usize, Way)>,
    /// What is taken also_selected it, for the same target: images with other kernels.
    pub also_selected: Vec<usize>,
    /// All others, in order.
    pub rejected: Vec<(usize, RejectReason)>,
}

impl Selection {
    /// Each candidate in order, whether it is taken, and why or why not in words.
    pub fn verdicts(&self) -> Vec<(usize, bool, String)> {
        let taken = self.selected.iter().flat_map(|(index, way)| {
            let all = std::iter::once(index).chain(&self.also_selected);
            all.map(|index| (*index, true, way.to_string()))
        });
        let rejected = self.rejected.iter().map(|(index, reason)| (*index, false, reason.to_string()));
        let mut verdicts: Vec<_> = taken.chain(rejected).collect();
        verdicts.sort_by_key(|(index, ..)| *index);
        verdicts
    }
}

/// Why an image is not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RejectReason {
    #[error("{0}")]
    Obstacle(Obstacle),
    #[error("{runtime} takes no {}", .form.name())]
    Form { runtime: &'static str, form: Form },
    #[error("it would run too, but image {by} is taken")]
    Outranked { by: usize },
    #[error("{runtime} takes it, and then it cannot be loaded: {obstacle}")]
    SelectedButUnloadable { runtime: &'static str, obstacle: Obstacle },
    #[error("it is to be linked with other device code first")]
    NeedsDeviceLink,
}

/// Where the device linker's input stands (nvcc, `-dc`); it stays in finished programs, and nothing registers it.
const DEVICE_LINK_SECTION: &str = "__nv_relfatbin";

/// All choices that there are in a file, in the order of its containers.
pub fn candidate_sets(file: &File) -> Vec<CandidateSet<'_>> {
    let mut found = Found::default();
    for nested in file.nested_images() {
        found.add(&nested);
    }
    found.all
}

#[derive(Default)]
struct Found<'a> {
    all: Vec<CandidateSet<'a>>,
    /// Where the choice of a runtime stands, in a container or over all that are registered together. Files hold many
    /// thousands of containers.
    places: HashMap<(OffloadKind, Option<*const Container>), usize>,
}

impl<'a> Found<'a> {
    fn add(&mut self, nested: &NestedImage<'a>) {
        let container = nested.container();
        let candidate = Candidate { number: nested.index, image: nested.image };
        let runtime = Runtime::of(candidate.image.kind, candidate.platform());
        let own: Option<*const Container> = (!is_registered_with_others(container)).then_some(container);
        let place = *self.places.entry((runtime.kind, own)).or_insert(self.all.len());
        if place == self.all.len() {
            let needs_device_link = container.section_name() == Some(DEVICE_LINK_SECTION);
            self.all.push(CandidateSet { container, runtime, candidates: Vec::new(), needs_device_link });
        }
        self.all[place].candidates.push(candidate);
    }
}

/// Whether images of such containers are registered together with those of others: each offload binary in a program
/// holds one image, and so do the sections of a bundled object and of SYCL's images.
fn is_registered_with_others(container: &Container) -> bool {
    use ContainerType::{BundleSection, OffloadBinary, SyclImage};
    matches!(container.container_type, OffloadBinary | BundleSection | SyclImage)
}

impl<'a> Candidate<'a> {
    /// What it is for.
    pub fn platform(&self) -> Option<Platform> {
        Platform::of(self.image.triple.as_deref(), self.image.arch.as_deref())
    }

    /// Why a loader refuses the image although its container was believed: what its own header says does not run.
    fn refusal(&self, device: &Device) -> Option<Obstacle> {
        let Image { triple, own_arch, image_kind, .. } = self.image;
        let form = form(*image_kind, self.platform());
        let own = Code { form, triple: triple.as_deref(), arch: Some(own_arch.as_deref()?) };
        own.runs_on(device).err()
    }

    /// Its code as a runtime judges it: libomptarget looks into the image, the others believe the container.
    fn code(&self, runtime: &Runtime) -> Code<'a> {
        let Image { triple, arch, own_arch, .. } = self.image;
        let looked_into = own_arch.as_ref().filter(|_| runtime.kind == OffloadKind::OpenMp);
        let arch = looked_into.or(arch.as_ref());
        Code {
            form: form(self.image.image_kind, self.platform()),
            triple: triple.as_deref(),
            arch: arch.map(String::as_str),
        }
    }
}

fn form(kind: ImageKind, platform: Option<Platform>) -> Form {
    match kind {
        ImageKind::Elf => Form::Machine,
        ImageKind::Ptx => Form::Ptx,
        ImageKind::SpirV => Form::SpirV,
        ImageKind::Bitcode => Form::Bitcode,
        ImageKind::Nvvm => Form::LinkTime,
        // What is compiled ahead for Intel's GPUs and for FPGAs has formats of its own.
        ImageKind::Unknown if platform == Some(Platform::SpirV) => Form::Machine,
        _ => Form::Other,
    }
}

impl CandidateSet<'_> {
    /// Whether there is code for devices of this sort that a runtime gets to see.
    pub fn has_code_for(&self, device: &Device) -> bool {
        let platform = Some(device.platform());
        !self.needs_device_link && self.candidates.iter().any(|candidate| candidate.platform() == platform)
    }

    /// What the runtime takes on this device.
    pub fn select_on(&self, device: &Device) -> Selection {
        self.select_by(self.runtime, device)
    }

    /// What earlier releases of the runtime take, where that is another image.
    pub fn select_on_earlier_release(&self, device: &Device) -> Option<(&'static Runtime, Selection)> {
        let earlier = self.runtime.earlier?;
        let choice = self.select_by(earlier, device);
        (choice.selected != self.select_on(device).selected).then_some((earlier, choice))
    }

    fn select_by(&self, runtime: &Runtime, device: &Device) -> Selection {
        let verdicts: Vec<Result<Way, RejectReason>> =
            self.candidates.iter().map(|candidate| self.check_candidate(runtime, candidate, device)).collect();
        let runs = |index: &usize| verdicts[*index].is_ok();
        // What is taken in vain is taken.
        let is_taken = |verdict: &Result<Way, RejectReason>| {
            matches!(verdict, Ok(_) | Err(RejectReason::SelectedButUnloadable { .. }))
        };
        let taken = match runtime.preference {
            Preference::First => verdicts.iter().position(is_taken),
            Preference::Last => verdicts.iter().rposition(is_taken),
            Preference::Best | Preference::BestForEachKernel => {
                (0..verdicts.len()).filter(runs).min_by_key(|&index| verdicts[index].clone().ok())
            }
            Preference::Nearest => {
                let rank =
                    |&index: &usize| nearness(verdicts[index].as_ref().ok(), index, self.candidates[index].image);
                (0..verdicts.len()).filter(runs).min_by_key(rank)
            }
        };
        let by = taken.map_or(0, |taken| self.candidates[taken].number);
        let target = |index: usize| {
            let image = self.candidates[index].image;
            (&image.triple, &image.arch, image.image_kind)
        };
        let is_also_selected = |index| {
            let is_alike = taken.is_some_and(|taken| target(taken) == target(index));
            is_alike && runtime.preference == Preference::BestForEachKernel
        };
        let mut choice = Selection { selected: None, also_selected: Vec::new(), rejected: Vec::new() };
        for (index, verdict) in verdicts.into_iter().enumerate() {
            let reason = match verdict {
                Ok(way) if taken == Some(index) => match self.candidates[index].refusal(device) {
                    Some(obstacle) => RejectReason::SelectedButUnloadable { runtime: runtime.name, obstacle },
                    None => {
                        choice.selected = Some((index, way));
                        continue;
                    }
                },
                Ok(_) if is_also_selected(index) => {
                    choice.also_selected.push(index);
                    continue;
                }
                Ok(_) => RejectReason::Outranked { by },
                Err(RejectReason::SelectedButUnloadable { obstacle, .. }) if taken != Some(index) => {
                    RejectReason::Obstacle(obstacle)
                }
                Err(reason) => reason,
            };
            choice.rejected.push((index, reason));
        }
        choice
    }

    fn check_candidate(
        &self,
        runtime: &Runtime,
        candidate: &Candidate<'_>,
        device: &Device,
    ) -> Result<Way, RejectReason> {
        if self.needs_device_link {
            return Err(RejectReason::NeedsDeviceLink);
        }
        let code = candidate.code(runtime);
        match code.runs_on(device) {
            Ok(_) if !runtime.accepted_forms.contains(&code.form) => {
                Err(RejectReason::Form { runtime: runtime.name, form: code.form })
            }
            Ok(way) => Ok(way),
            Err(obstacle) if runtime.selects_without_full_check() && accepts_by_number(code, device) => {
                Err(RejectReason::SelectedButUnloadable { runtime: runtime.name, obstacle })
            }
            Err(obstacle) => Err(RejectReason::Obstacle(obstacle)),
        }
    }
}

/// libomptarget's plugin for CUDA knows of a cubin its number only (plugins-nextgen/cuda/src/rtl.cpp, isELFCompatible): the
/// same major version and no later minor one is good enough, whatever the suffix says.
fn accepts_by_number(code: Code<'_>, device: &Device) -> bool {
    match (code.form, code.arch.and_then(nvptx::Arch::parse), device) {
        (Form::Machine, Some(own), &Device::Nvidia(number)) => own.number / 10 == number / 10 && own.number <= number,
        _ => false,
    }
}

/// The nearer an image is to a device on which it runs, the smaller; of two that are equally near the first, but of PTX the
/// last.
fn nearness(way: Option<&Way>, index: usize, image: &Image) -> (bool, Reverse<u32>, u8, isize) {
    let arch = image.arch.as_deref().and_then(nvptx::Arch::parse);
    let breadth = match arch.and_then(|arch| arch.suffix) {
        Some(Suffix::Specific) => 0,
        Some(Suffix::Family) => 1,
        None => 2,
    };
    let is_ptx = way == Some(&Way::FromPtx);
    let place = if is_ptx { -(index as isize) } else { index as isize };
    (is_ptx, Reverse(arch.map_or(0, |arch| arch.number)), breadth, place)
}
