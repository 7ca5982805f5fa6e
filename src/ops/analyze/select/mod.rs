//! Image selection: the image that a runtime selects on a device from each container, and why it rejects the others.
//! Pure functions over an inventory; no device, driver or file is accessed.
//!
//! [`fatbin_core::target::runs_on`] decides which code runs on a device, and [`Runtime`] describes the order that a runtime
//! tries its images in.

pub mod alternatives;
mod answer;
mod answers;
mod code_form;
mod cost;
mod devices;
mod driver_check;
mod entry_ids;
mod floors;
#[cfg(test)]
mod floors_tests;
pub mod kpack;
mod libgomp;
mod library_name;
mod link;
#[cfg(test)]
mod link_tests;
mod nearest;
mod needed;
mod needs;
mod reject_reason;
mod releases;
mod runtimes;
#[cfg(test)]
mod runtimes_tests;
mod selection;
mod service;
mod set;
#[cfg(test)]
mod tests;
mod together;
mod vulkan;

pub use answer::{FileAnswer, Outcome};
pub use answers::{AnsweredFile, AnsweredSet, DeviceAnswer, SelectionGap, relocatable_archs};
pub use devices::NamedDevice;
pub use driver_check::DriverCheck;
pub use floors::{DeviceNeed, FileFloors};
pub use library_name::LibraryName;
pub use needs::{FloorCause, ImageRequirements, Need};
pub use reject_reason::RejectReason;
pub use runtimes::{EqualPtx, Preference, Runtime, is_for_libgomp};
pub use selection::{CandidateVerdict, Selection};
pub use service::Service;
pub use set::{Library, OverrideEffect, PackageAnswer, RequestedDevice, SetMember, SetSelection};

use std::cmp::Reverse;
use std::collections::HashMap;

use fatbin_core::format::KernelContent;
use fatbin_core::format::{ContainerType, ImageKind, SelectionScope};
use fatbin_core::scan::inventory::{
    CodeRole, Container, DeviceLink, DeviceLinks, File, Image, LinkInput, LinkPlace, NestedImage, Registration,
};
use fatbin_core::target::nvptx;
use fatbin_core::target::runs_on::{Code, CodeForm, Incompatibility, LoadMethod};
use fatbin_core::target::{Device, OffloadKind, Platform};

/// Images that compete for a device: a runtime selects at most one. They are the images of a fat binary or bundle. All
/// offload binaries of one kind in a file are registered together, so their images are one set.
#[derive(Debug, Clone)]
pub struct CandidateSet<'a> {
    /// The container, or the first container of several.
    pub container: &'a Container,
    /// The runtime that the images are registered with.
    pub runtime: &'static Runtime,
    /// The images.
    pub candidates: Vec<Candidate<'a>>,
    /// Purpose of the code. A set with linked code has the relocatable code that the driver can link again, too.
    pub role: CodeRole,
    /// The relocatable containers that the driver links again if none of the other images runs; empty if there are
    /// none.
    pub link_inputs: Vec<LinkInput<'a>>,
    /// True if the file registers containers, but not this set's.
    pub is_unregistered: bool,
    /// The most that one of its images holds.
    pub content: KernelContent,
}

/// An image and its number among the device images of its file.
#[derive(Debug, Clone, Copy)]
pub struct Candidate<'a> {
    /// Number among the device images of the file.
    pub number: usize,
    /// The image.
    pub image: &'a Image,
    /// Index among [`CandidateSet::link_inputs`] of the relocatable container that has the image.
    pub link_input: Option<usize>,
    /// ocloc's archive around the image. The driver selects one image from it.
    archive: Option<&'a Container>,
}

/// Returns all candidate sets of a file, in the order of its containers.
pub fn candidate_sets(file: &File) -> Vec<CandidateSet<'_>> {
    let mut found = Found { all: Vec::new(), places: HashMap::new(), links: DeviceLinks::of(file) };
    for nested in file.nested_images() {
        found.add(&nested);
    }
    for set in &mut found.all {
        set.content = set.candidates.iter().map(|it| it.image.content).max().unwrap_or_default();
        if set.container.container_type.descriptor().selection_scope == SelectionScope::Id {
            // The loader tries the target IDs with the most features first.
            set.candidates
                .sort_by_cached_key(|it| Reverse(it.image.arch.as_deref().map_or(0, |arch| arch.matches(':').count())));
        }
    }
    found.all
}

/// Returns the images without a container.
pub fn images_without_container(file: &File) -> impl Iterator<Item = Candidate<'_>> {
    let scope = |nested: &NestedImage<'_>| nested.container().container_type.descriptor().selection_scope;
    let nested = file.nested_images().filter(move |nested| scope(nested) == SelectionScope::Program);
    nested.map(|nested| Candidate::new(&nested))
}

/// Returns the images without a container that the program passes to the driver. It has its own rules for the choice.
pub fn selected_by_program(file: &File) -> impl Iterator<Item = Candidate<'_>> {
    program_sets(file).flat_map(|set| set.candidates)
}

/// Returns a set for each image that the program may pass to the driver.
pub fn program_sets(file: &File) -> impl Iterator<Item = CandidateSet<'_>> {
    let is_selected = |nested: &NestedImage<'_>| {
        let container_type = nested.container().container_type;
        container_type.descriptor().selection_scope == SelectionScope::Program
            && !runtimes::is_for_libgomp(container_type, nested.image)
    };
    let links = DeviceLinks::of(file);
    file.nested_images().filter(is_selected).map(move |nested| {
        let candidate = Candidate::new(&nested);
        CandidateSet {
            candidates: vec![candidate],
            content: candidate.image.content,
            ..CandidateSet::new(nested.container(), candidate, links.role_of(&nested))
        }
    })
}

/// Name of the runtime, container and ID that the images of a set share.
type SetKey<'a> = (&'static str, Option<*const Container>, Option<&'a str>);

struct Found<'a> {
    all: Vec<CandidateSet<'a>>,
    /// Index of the set of a runtime, for one container, for one ID in a container, or for all containers that are
    /// registered together. Files may have many thousands of containers.
    places: HashMap<SetKey<'a>, usize>,
    links: DeviceLinks<'a>,
}

impl<'a> Found<'a> {
    fn add(&mut self, nested: &NestedImage<'a>) {
        let container = nested.container();
        let scope = container.container_type.descriptor().selection_scope;
        let runtime = Runtime::of_image(container.container_type, nested.image);
        let own = match scope {
            SelectionScope::Container | SelectionScope::Id => Some(container),
            SelectionScope::File => None,
            SelectionScope::Program if runtime.preference == Preference::All => None,
            SelectionScope::Program => return,
        };
        let id = if scope == SelectionScope::Id { nested.image.id.as_deref() } else { None };
        let candidate = Candidate::new(nested);
        let Found { all, places, links } = self;
        let mut add = |candidate: Candidate<'a>, own, id, new: &dyn Fn() -> CandidateSet<'a>| {
            let runtime = candidate.runtime(container.container_type);
            let place = *places.entry((runtime.name, own, id)).or_insert(all.len());
            if place == all.len() {
                all.push(new());
            }
            all[place].candidates.push(candidate);
        };
        let link_places = links.places(container);
        if link_places.is_empty() {
            let role = links.role_of(nested);
            let is_unregistered = nested.registration() == Registration::Unregistered;
            let new = || CandidateSet { is_unregistered, ..CandidateSet::new(container, candidate, role) };
            add(candidate, own.map(std::ptr::from_ref), id, &new);
        }
        for &LinkPlace { link, input } in link_places {
            let Some(DeviceLink { output, inputs, .. }) = links.link(link) else { continue };
            let candidate = Candidate { link_input: input, ..candidate };
            let container = output.or(inputs.first().map(|input| input.container)).unwrap_or(container);
            let new = || {
                let set = CandidateSet::new(container, candidate, CodeRole::Loaded);
                CandidateSet { link_inputs: inputs.clone(), ..set }
            };
            add(candidate, Some(std::ptr::from_ref(container)), None, &new);
        }
    }
}

impl<'a> Candidate<'a> {
    fn new(nested: &NestedImage<'a>) -> Self {
        let archive = Some(nested.container()).filter(|it| it.container_type == ContainerType::OclocArchive);
        Candidate { number: nested.index, image: nested.image, link_input: None, archive }
    }

    /// Returns the platform that the image is for.
    pub fn platform(&self) -> Option<Platform> {
        Platform::of(self.image.triple.as_deref(), self.image.arch.as_deref())
    }

    /// Returns why a loader rejects the image although the runtime selected it by its container: the architecture in
    /// the header of the image does not run on the device.
    fn load_failure(&self, device: &Device) -> Option<Incompatibility> {
        if self.image.image_kind == ImageKind::Empty {
            return Some(Incompatibility::Empty);
        }
        self.image.contradictions().next()?;
        self.code_of_header().runs_on(device).err()
    }

    /// Returns the code as the runtime identifies it: libomptarget reads the header of the image, all others trust the
    /// container.
    fn code(&self, runtime: &Runtime) -> Code<'a> {
        if runtime.kind == Some(OffloadKind::OpenMp) {
            return self.code_of_header();
        }
        let Image { triple, arch, image_kind, .. } = self.image;
        let is_empty_code = *image_kind == ImageKind::Empty && runtime.kind == Some(OffloadKind::Hip);
        // HIP finds an entry by its ID and stops, even if the entry is empty. Measured with libamdhip64 5.2.3, which
        // fails with 218. `lookUpCodeObject` in comgr-metadata.cpp of ROCm's main branch (2026) stops as well.
        let form = if is_empty_code { CodeForm::Machine } else { code_form::of(self.image, self.platform()) };
        Code { form, triple: triple.as_deref(), arch: arch.as_deref() }
    }

    fn code_of_header(&self) -> Code<'a> {
        let form = code_form::of(self.image, self.platform());
        Code { form, triple: self.image.loaded_triple(), arch: self.image.loaded_arch() }
    }
}

impl<'a> CandidateSet<'a> {
    /// Creates the set of a container without images, with the runtime of a candidate.
    fn new(container: &'a Container, candidate: Candidate<'_>, role: CodeRole) -> Self {
        let runtime = candidate.runtime(container.container_type);
        CandidateSet {
            container,
            runtime,
            candidates: Vec::new(),
            role,
            link_inputs: Vec::new(),
            is_unregistered: false,
            content: KernelContent::Kernels,
        }
    }

    /// Returns whether devices need it: all of its images were read and hold no kernel otherwise.
    pub fn has_kernels(&self) -> bool {
        self.content != KernelContent::Nothing
    }

    /// Returns whether any registered image is for the platform of this device.
    pub fn has_code_for(&self, device: &Device) -> bool {
        self.role == CodeRole::Loaded && !self.is_unregistered && self.is_for_platform(device)
    }

    /// Returns whether any image is for the platform of this device, registered or not.
    pub fn is_for_platform(&self, device: &Device) -> bool {
        self.candidates.iter().any(|candidate| candidate.is_for(device))
    }

    /// Returns the set as if its container were registered, for callers to whom unregistered code matters: nothing
    /// proves that a program does not pass it to the driver.
    fn as_registered(&self) -> Self {
        CandidateSet { is_unregistered: false, ..self.clone() }
    }

    /// Returns the images that the runtime selects on this device.
    pub fn select_on(&self, device: &Device) -> Selection {
        self.select_with(device, None)
    }

    /// Returns the images that the runtime selects on this device with a driver of NVIDIA.
    pub fn select_with(&self, device: &Device, check: Option<DriverCheck<'_>>) -> Selection {
        self.select_by(self.runtime.with_driver(check.map(|check| check.driver)), device, check)
    }

    fn select_by(&self, runtime: &Runtime, device: &Device, check: Option<DriverCheck<'_>>) -> Selection {
        if runtime.preference == Preference::All {
            self.select_all(runtime, device)
        } else if self.link_inputs.is_empty() {
            self.select_loaded(runtime, device, check)
        } else {
            self.select_or_link(runtime, device, check)
        }
    }

    fn select_loaded(&self, runtime: &Runtime, device: &Device, check: Option<DriverCheck<'_>>) -> Selection {
        let reject = |candidate: &Candidate<'_>, method| check?.reject(candidate, device, method);
        let verdict = |candidate: &Candidate<'_>| {
            let method = self.check_candidate(runtime, candidate, device)?;
            // A runtime that accepts images by less than all requirements leaves it to the driver to fail.
            if runtime.selects_without_full_check() {
                return Ok(method);
            }
            match check.and_then(|check| check.leaves_out(candidate, device, method)) {
                Some(reason) => Err(reason),
                None => Ok(method),
            }
        };
        let verdicts: Vec<Result<LoadMethod, RejectReason>> = self.candidates.iter().map(verdict).collect();
        let winner = self.preferred(runtime.preference, &verdicts);
        let selected_way = winner.and_then(|winner| verdicts.get(winner)?.clone().ok());
        let best = self.best_of_archives(&verdicts);
        let mut selection = Selection::default();
        for (index, verdict) in verdicts.into_iter().enumerate() {
            let reason = match (verdict, winner) {
                (Ok(way), Some(winner)) if winner == index => {
                    let obstacle = self.candidates[index].load_failure(device);
                    let unloadable =
                        obstacle.map(|it| RejectReason::SelectedButUnloadable { runtime: runtime.name, obstacle: it });
                    let empty = self.emptiness(runtime, &self.candidates[index]);
                    let unloadable = unloadable.or_else(|| runtime.fails_to_load(self.candidates[index].image));
                    match unloadable.or_else(|| reject(&self.candidates[index], way)).or(empty) {
                        Some(reason) => reason,
                        None => {
                            selection.selected = Some((index, way));
                            continue;
                        }
                    }
                }
                (Ok(way), Some(winner))
                    if self.is_selected_with(runtime, (winner, selected_way), (index, way), &best) =>
                {
                    selection.also_selected.push(index);
                    continue;
                }
                (Ok(_), _) => RejectReason::Outranked { by: self.outranking(index, winner, &best) },
                (Err(RejectReason::SelectedButUnloadable { obstacle, .. }), _) if winner != Some(index) => {
                    RejectReason::Incompatibility(obstacle)
                }
                (Err(reason), _) => reason,
            };
            if may_be_selected(&reason, selected_way) {
                selection.undecided.push(index);
            }
            selection.rejected.push((index, reason));
        }
        self.link_parts(&mut selection);
        selection
    }

    /// Returns why nothing of the module runs from a candidate although others of the set have kernels.
    fn emptiness(&self, runtime: &Runtime, candidate: &Candidate<'_>) -> Option<RejectReason> {
        // Functions of one part of a program are called by kernels of another.
        let is_linked = candidate.link_input.is_some() || candidate.image.is_part();
        let is_alone = runtime.preference.selects_one() && !is_linked;
        match candidate.image.content {
            KernelContent::Kernels => None,
            _ if !is_alone || self.content != KernelContent::Kernels => None,
            KernelContent::Nothing => Some(RejectReason::SelectedWithoutKernels { runtime: runtime.name }),
            KernelContent::Stubs => Some(RejectReason::SelectedStubs { runtime: runtime.name }),
        }
    }

    /// Returns the index of the candidate that a runtime prefers.
    fn preferred(&self, preference: Preference, verdicts: &[Result<LoadMethod, RejectReason>]) -> Option<usize> {
        let runs = |index: &usize| verdicts[*index].is_ok();
        let is_selected = |verdict: &Result<LoadMethod, RejectReason>| {
            matches!(verdict, Ok(_) | Err(RejectReason::SelectedButUnloadable { .. }))
        };
        match preference {
            Preference::First => verdicts.iter().position(is_selected),
            Preference::Last => verdicts.iter().rposition(is_selected),
            Preference::Best | Preference::BestForEachKernel | Preference::All => {
                let rank = |&index: &usize| (verdicts[index].clone().ok(), self.candidates[index].precedence());
                (0..verdicts.len()).filter(runs).min_by_key(rank)
            }
            Preference::Nearest { equal_ptx } => {
                let rank = |&index: &usize| {
                    nearest::distance(verdicts[index].as_ref().ok(), index, self.candidates[index].image, equal_ptx)
                };
                (0..verdicts.len()).filter(runs).min_by_key(rank)
            }
        }
    }

    fn check_candidate(
        &self,
        runtime: &Runtime,
        candidate: &Candidate<'_>,
        device: &Device,
    ) -> Result<LoadMethod, RejectReason> {
        match self.role {
            CodeRole::LinkInput => return Err(RejectReason::NeedsDeviceLink),
            CodeRole::Leftover => return Err(RejectReason::NotRegistered),
            CodeRole::LeftBehind => return Err(RejectReason::LeftBehind),
            CodeRole::Loaded | CodeRole::Relinked => {}
        }
        if self.is_unregistered {
            return Err(RejectReason::Unregistered);
        }
        let code = candidate.code(runtime);
        match code.runs_on(device) {
            Ok(way) => match entry_ids::not_found(candidate.image, runtime, device, way) {
                Some(reason) => Err(reason),
                None if !runtime.accepted_forms.contains(&code.form) => {
                    Err(RejectReason::Form { runtime: runtime.name, form: code.form })
                }
                None => runtime.skips(candidate.image).map_or(Ok(way), Err),
            },
            Err(obstacle) if runtime.selects_without_full_check() && accepts_by_number(code, device) => {
                let reason = RejectReason::SelectedButUnloadable { runtime: runtime.name, obstacle };
                Err(runtime.skips(candidate.image).unwrap_or(reason))
            }
            Err(obstacle) => Err(RejectReason::of(obstacle, candidate.image)),
        }
    }
}

/// Returns whether a runtime may select a rejected image instead of one that it loads by `selected`. Code that the
/// driver compiles is not preferred to machine code.
fn may_be_selected(reason: &RejectReason, selected: Option<LoadMethod>) -> bool {
    match reason {
        RejectReason::Incompatibility(Incompatibility::TileIr) => {
            selected.is_none_or(|way| way.compiled_from().is_some())
        }
        RejectReason::Incompatibility(reason) => reason.is_undecided(),
        RejectReason::UnknownDriver { method, .. } => {
            selected.is_none_or(|way| way.compiled_from().is_some() || method.compiled_from().is_none())
        }
        _ => false,
    }
}

/// Returns whether libomptarget's CUDA plugin accepts a cubin. It compares only numbers
/// (plugins-nextgen/cuda/src/rtl.cpp, isELFCompatible): the major versions must be equal and the minor version must not
/// be later than the device's. It ignores the suffix.
fn accepts_by_number(code: Code<'_>, device: &Device) -> bool {
    match (code.form, code.arch.and_then(nvptx::Arch::parse), device) {
        (CodeForm::Machine, Some(own), &Device::Nvidia(number)) => {
            own.number / 10 == number / 10 && own.number <= number
        }
        _ => false,
    }
}
