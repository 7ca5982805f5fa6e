//! Floors of images, of several images together, and of alternatives, each with the images that cause them.

use std::collections::BTreeSet;

use crate::analyze::requires::{DriverSystem, Floor, Limit, Release, Requirement, requirements};
use fatbin_core::format::readers::Product;
use fatbin_core::scan::inventory::{CudaCode, File};
use fatbin_core::target::nvptx::Arch;

/// Maximum number of properties that are kept as causes. A file may state a different version for each of its images.
const MAX_CAUSES: usize = 16;

/// A floor, and the properties of images that cause it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Need {
    /// The floor.
    pub floor: Floor,
    /// The first properties that decide it; empty if nothing is required.
    pub causes: Vec<FloorCause>,
}

/// A property that decides a floor.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FloorCause {
    /// The property.
    pub requirement: Requirement,
    /// Floor of an image with the property.
    pub floor: Floor,
    /// Numbers of the images that have it, among the device images of the file.
    pub images: BTreeSet<usize>,
}

impl Need {
    /// Nothing is required.
    pub const NOTHING: Need = Need { floor: Floor::NONE, causes: Vec::new() };

    /// Returns what an image with this property needs.
    pub fn of(requirement: Requirement, system: DriverSystem, image: usize) -> Need {
        let floor = requirement.floor_on(system);
        let causes = vec![FloorCause { requirement, floor, images: BTreeSet::from([image]) }];
        Need { floor, causes: if floor == Floor::NONE { Vec::new() } else { causes } }
    }

    /// Returns what an NVIDIA device needs, regardless of the code.
    pub fn of_device(number: u32, system: DriverSystem) -> Need {
        let requirement = Requirement::Device(Arch { number, suffix: None });
        let floor = requirement.floor_on(system);
        Need { floor, causes: vec![FloorCause { requirement, floor, images: BTreeSet::new() }] }
    }

    /// Returns what both need together.
    pub fn and(mut self, other: Need) -> Need {
        self.floor = self.floor.and(other.floor);
        for cause in other.causes {
            match self.causes.iter_mut().find(|known| known.requirement == cause.requirement) {
                Some(known) => known.images.extend(cause.images),
                None => self.causes.push(cause),
            }
        }
        let total = self.floor;
        self.causes.retain(|cause| decides(cause.floor, total));
        self.causes.truncate(MAX_CAUSES);
        self
    }

    /// Returns what the less demanding of both needs.
    pub fn or(self, other: Need) -> Need {
        let floor = self.floor.or(other.floor);
        let rank = |need: &Need| (need.floor.most.is_none(), need.floor.most, need.floor.least);
        let easier = if rank(&other) < rank(&self) { other } else { self };
        Need { floor, causes: easier.causes }
    }

    /// Returns the release, if it is known.
    pub fn release(&self) -> Option<Release> {
        self.floor.release()
    }
}

/// Returns whether a floor decides the total of several.
fn decides(floor: Floor, total: Floor) -> bool {
    let is_lowest = floor.least == total.least && floor.least != Limit::ANY;
    let leaves_open = floor.most.is_none() || floor.most == total.most && !total.is_known();
    let is_ceiling = !floor.llvm.are_all();
    is_lowest || leaves_open || is_ceiling
}

/// The properties of all device images of a file.
#[derive(Debug, Clone)]
pub struct ImageRequirements {
    of_images: Vec<Vec<Requirement>>,
    /// System of the drivers that load the images.
    pub(super) system: DriverSystem,
}

impl ImageRequirements {
    /// Determines the properties of the images of a file. `read` has for each device image what its bytes state, if
    /// they were read.
    pub fn new(file: &File, read: &[Option<CudaCode>]) -> Self {
        let of = |index: usize| read.get(index).copied().flatten();
        let of_images = file.nested_images().map(|nested| requirements(file, &nested, of(nested.index))).collect();
        ImageRequirements { of_images, system: DriverSystem::of(file) }
    }

    /// Returns what an image needs of a product.
    pub fn need(&self, image: usize, product: Product) -> Need {
        self.need_of(image, product, |_| true)
    }

    /// Returns what an image needs because of the properties that `counts` accepts.
    pub(super) fn need_of(&self, image: usize, product: Product, counts: impl Fn(Requirement) -> bool) -> Need {
        let all = self.of_images.get(image).into_iter().flatten();
        let own = all.filter(|it| it.product() == product && counts(**it));
        own.fold(Need::NOTHING, |need, requirement| need.and(Need::of(*requirement, self.system, image)))
    }
}
