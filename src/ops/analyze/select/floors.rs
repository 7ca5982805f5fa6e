//! The oldest drivers and runtimes that load the device code of a file: on each device, and all images together.

use std::collections::{BTreeMap, HashMap};

use super::alternatives::Alternatives;
use super::needs::{FloorCause, ImageRequirements, Need};
use super::{Candidate, CandidateSet, NamedDevice, RejectReason, candidate_sets, program_sets, selected_by_program};
use crate::analyze::requires::{DriverSystem, Requirement, products};
use fatbin_core::format::ImageKind;
use fatbin_core::format::readers::Product;
use fatbin_core::scan::inventory::{CodeRole, CudaCode, DeviceLinks, File};
use fatbin_core::target::Device;
use fatbin_core::target::nvptx::Arch;

/// Maximum number of devices to determine floors for. Each device costs a selection from every set.
const MAX_DEVICES: usize = 100;

/// The floors of a file.
#[derive(Debug)]
pub struct FileFloors<'a> {
    /// The file.
    pub file: &'a File,
    requirements: ImageRequirements,
    /// Products that load each image.
    products: Vec<Vec<Product>>,
    sets: Vec<CandidateSet<'a>>,
    by_program: Vec<Candidate<'a>>,
    /// Images that are alternatives, by their numbers: a program loads one.
    alternatives: Alternatives,
    /// For each image whether it is code of the file, and not relocatable code that nothing loads.
    is_code: Vec<bool>,
}

/// Releases of a product that a device needs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct DeviceNeed {
    /// The product.
    pub product: Product,
    /// Needed to load some image from every set.
    pub some: Need,
    /// Needed to load the preferred image from every set.
    pub preferred: Need,
}

impl<'a> FileFloors<'a> {
    /// Determines the floors of a file. `read` has for each device image what its bytes state, if they were read.
    pub fn new(file: &'a File, read: &[Option<CudaCode>]) -> Self {
        let links = DeviceLinks::of(file);
        FileFloors {
            file,
            requirements: ImageRequirements::new(file, read),
            products: file.nested_images().map(|nested| products(&nested)).collect(),
            sets: candidate_sets(file)
                .into_iter()
                .filter(|set| set.role == CodeRole::Loaded && !set.is_unregistered && set.has_kernels())
                .collect(),
            by_program: selected_by_program(file).filter(is_loaded).collect(),
            alternatives: Alternatives::of(file),
            is_code: file.nested_images().map(|nested| links.is_code_of_file(&nested)).collect(),
        }
    }

    /// Returns the sets of images that are alternatives, by their numbers among the device images: a program loads one
    /// of each set.
    pub fn alternatives(&self) -> &[Vec<usize>] {
        &self.alternatives.sets
    }

    /// Returns the number of images that drivers and runtimes load. Input of device linkers is not among them.
    pub fn loaded(&self) -> usize {
        self.images().count()
    }

    /// Number of images that the program selects from by its own rules.
    pub fn selected_by_program(&self) -> usize {
        self.by_program.len()
    }

    fn images(&self) -> impl Iterator<Item = usize> {
        self.registered().chain(&self.by_program).map(|candidate| candidate.number)
    }

    /// Returns the registered images that a driver or runtime loads on some device.
    fn registered(&self) -> impl Iterator<Item = &Candidate<'a>> {
        let is_code = |number: usize| self.is_code.get(number).copied().unwrap_or(true);
        let candidates = self.sets.iter().flat_map(|set| &set.candidates);
        candidates.filter(move |candidate| is_loaded(candidate) && is_code(candidate.number))
    }

    /// Returns what all images together need of each product that loads one.
    pub fn all(&self) -> Vec<(Product, Need)> {
        self.together(self.images())
    }

    /// Returns what all images that the program selects from need together.
    pub fn by_program(&self) -> Vec<(Product, Need)> {
        self.together(self.by_program.iter().map(|candidate| candidate.number))
    }

    /// Returns what each image that the program selects from needs of a product, and the NVIDIA device that the image
    /// is for.
    pub fn program_needs(&self, product: Product) -> impl Iterator<Item = (Option<Device>, Need)> {
        let images = self.by_program.iter().filter(move |it| self.products_of(it.number).contains(&product));
        images.map(move |candidate| {
            let arch = candidate.image.arch.as_deref().and_then(Arch::parse);
            (arch.map(|arch| Device::Nvidia(arch.number)), self.requirements.need(candidate.number, product))
        })
    }

    fn together(&self, images: impl Iterator<Item = usize>) -> Vec<(Product, Need)> {
        let mut needs: BTreeMap<Product, Need> = BTreeMap::new();
        for image in images {
            for &product in self.products.get(image).into_iter().flatten() {
                let own = self.requirements.need(image, product);
                let need = needs.remove(&product).unwrap_or(Need::NOTHING);
                needs.insert(product, need.and(own));
            }
        }
        needs.into_iter().collect()
    }

    /// Returns the devices of the images that drivers and runtimes load, in the order of their names, at most 100, and
    /// the number of further ones. There are fewer devices in existence, but a file may name any number.
    pub fn devices(&self) -> (Vec<NamedDevice>, usize) {
        let mut devices = NamedDevice::of_images(self.registered().map(|candidate| candidate.image));
        let omitted = devices.iter().skip(MAX_DEVICES).count();
        devices.truncate(MAX_DEVICES);
        (devices, omitted)
    }

    /// Returns what the devices that the file has code for need together: the image that each prefers. An image that no
    /// device prefers, such as PTX next to machine code, counts only for a product that loads nothing else. For more
    /// devices than are examined, the need of all images.
    pub fn of_all_devices(&self) -> Vec<(Product, Need)> {
        let (devices, omitted) = self.devices();
        if omitted > 0 {
            return self.all();
        }
        let preferred = devices.iter().flat_map(|device| self.on_all(&device.devices));
        let preferred = preferred.map(|need| (need.product, need.preferred));
        let mut together: BTreeMap<Product, Need> = BTreeMap::new();
        for (product, need) in preferred.chain(self.by_program()) {
            let known = together.remove(&product).unwrap_or(Need::NOTHING);
            together.insert(product, known.and(need));
        }
        for (product, need) in self.all() {
            together.entry(product).or_insert(need);
        }
        together.into_iter().collect()
    }

    /// Returns what a device needs of each product; empty if nothing in the file runs on it.
    pub fn on(&self, device: &Device) -> Vec<DeviceNeed> {
        let mut needs: Vec<DeviceNeed> = Vec::new();
        let mut alternatives: HashMap<(usize, Product), DeviceNeed> = HashMap::new();
        for set in &self.sets {
            let index = set.candidates.iter().find_map(|candidate| self.alternatives.set_of(candidate.number));
            for need in self.of_set(set, device) {
                let Some(index) = index else {
                    needs.push(need);
                    continue;
                };
                let key = (index, need.product);
                let need = match alternatives.remove(&key) {
                    Some(known) => known.or(need),
                    None => need,
                };
                alternatives.insert(key, need);
            }
        }
        let needs = joined(needs.into_iter().chain(alternatives.into_values()));
        needs.into_iter().map(|need| need.with_device(device, self.requirements.system)).collect()
    }

    /// Returns whether anything in the file runs on each of these devices, also where no floor is known for it.
    pub fn runs_on(&self, devices: &[Device]) -> bool {
        let by_program: Vec<CandidateSet<'_>> = program_sets(self.file).filter(CandidateSet::has_kernels).collect();
        let is_selected = |device| by_program.iter().any(|set| set.select_on(device).selected.is_some());
        devices
            .iter()
            .all(|device| is_selected(device) || self.sets.iter().any(|set| Usable::of(set, device).is_some()))
    }

    /// Returns what several devices need of each product.
    pub fn on_all(&self, devices: &[Device]) -> Vec<DeviceNeed> {
        joined(devices.iter().flat_map(|device| self.on(device)))
    }

    /// Returns what a device needs to load an image from a set; empty if nothing in it runs on the device.
    fn of_set(&self, set: &CandidateSet<'_>, device: &Device) -> Vec<DeviceNeed> {
        let Some(usable) = Usable::of(set, device) else { return Vec::new() };
        let mut products: Vec<Product> = usable.all().flat_map(|number| self.products_of(number)).copied().collect();
        products.sort();
        products.dedup();
        let need = |product| {
            let together = |images: &[usize]| {
                let needs = images.iter().map(|&image| self.requirements.need(image, product));
                needs.fold(Need::NOTHING, Need::and)
            };
            let preferred = together(&usable.preferred);
            let is_to_load = |it: Requirement| !it.is_of_functions();
            let to_load = usable.preferred.iter().map(|&image| self.requirements.need_of(image, product, is_to_load));
            let to_load = to_load.fold(Need::NOTHING, Need::and);
            let others = usable.others.iter().map(|&image| self.requirements.need(image, product));
            let some = others.fold(to_load, Need::or);
            DeviceNeed { product, some, preferred: preferred.and(together(&usable.undecided)) }
        };
        products.into_iter().map(need).collect()
    }

    fn products_of(&self, number: usize) -> &[Product] {
        self.products.get(number).map_or(&[], Vec::as_slice)
    }
}

/// Joins needs of the same product.
fn joined(needs: impl Iterator<Item = DeviceNeed>) -> Vec<DeviceNeed> {
    let mut all: BTreeMap<Product, DeviceNeed> = BTreeMap::new();
    for need in needs {
        let joined = match all.remove(&need.product) {
            Some(known) => known.and(need),
            None => need,
        };
        all.insert(joined.product, joined);
    }
    all.into_values().collect()
}

/// The images of a set that run on a device, by their numbers.
struct Usable {
    /// The selected images. If a runtime finds none, the first that runs and that later releases may find.
    preferred: Vec<usize>,
    /// Further images that run.
    others: Vec<usize>,
    /// Images that may be preferred.
    undecided: Vec<usize>,
}

impl Usable {
    fn of(set: &CandidateSet<'_>, device: &Device) -> Option<Usable> {
        let selection = set.select_on_old_driver(device);
        if selection.takes_no_kernels() {
            return None;
        }
        let number = |index: &usize| set.candidates.get(*index).map(|candidate| candidate.number);
        let selected = selection.selected.iter().map(|(index, _)| index).chain(&selection.also_selected);
        let mut preferred: Vec<usize> = selected.filter_map(number).collect();
        let rejected = |is_usable: fn(&RejectReason) -> bool| {
            let usable = selection.rejected.iter().filter(move |(_, reason)| is_usable(reason));
            // The driver replaces no input of a link by another.
            let is_loaded = |index: &usize| set.candidates.get(*index).is_some_and(|it| it.link_input.is_none());
            usable.map(|(index, _)| *index).filter(is_loaded).collect::<Vec<usize>>()
        };
        let outranked = rejected(|reason| matches!(reason, RejectReason::Outranked { .. }));
        let mut others: Vec<usize> =
            set.alternatives(&selection, &outranked, device).iter().filter_map(number).collect();
        let mut undecided: Vec<usize> = selection.undecided.iter().filter_map(number).collect();
        if preferred.is_empty() {
            others
                .extend(rejected(|reason| matches!(reason, RejectReason::UnknownId { .. })).iter().filter_map(number));
            others.append(&mut undecided);
            preferred.extend(if others.is_empty() { None } else { Some(others.remove(0)) });
        }
        (!preferred.is_empty()).then_some(Usable { preferred, others, undecided })
    }

    fn all(&self) -> impl Iterator<Item = usize> {
        self.preferred.iter().chain(&self.others).chain(&self.undecided).copied()
    }
}

impl DeviceNeed {
    /// Returns what two devices need of the same product.
    pub fn and(self, other: DeviceNeed) -> DeviceNeed {
        let some = self.some.and(other.some);
        let preferred = self.preferred.and(other.preferred);
        DeviceNeed { product: self.product, some, preferred }
    }

    /// Returns what a device needs to load one of two sets of images.
    fn or(self, other: DeviceNeed) -> DeviceNeed {
        let some = self.some.or(other.some);
        let preferred = self.preferred.or(other.preferred);
        DeviceNeed { product: self.product, some, preferred }
    }

    /// Adds the requirement that a driver supports the device.
    fn with_device(self, device: &Device, system: DriverSystem) -> DeviceNeed {
        let &Device::Nvidia(number) = device else { return self };
        if self.product != Product::Cuda {
            return self;
        }
        let device = Need::of_device(number, system);
        let add = |need: Need| {
            let mut both = need.and(device.clone());
            let least = both.floor.least;
            let is_image = |cause: &FloorCause| !cause.images.is_empty() && cause.floor.least == least;
            if both.causes.iter().any(is_image) {
                // An image explains the floor as well.
                both.causes.retain(|cause| !cause.images.is_empty());
            }
            both
        };
        DeviceNeed { some: add(self.some), preferred: add(self.preferred), ..self }
    }
}

/// Returns whether a driver or runtime loads an image: LTO-IR is linked first, by nvJitLink.
fn is_loaded(candidate: &Candidate<'_>) -> bool {
    !matches!(candidate.image.image_kind, ImageKind::Nvvm | ImageKind::OptixIr | ImageKind::Empty)
}
