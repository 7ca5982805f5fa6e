//! Selections with a driver of NVIDIA: images that it cannot load are left out.

use super::needs::{ImageRequirements, Need};
use super::{Candidate, RejectReason};
use crate::floor::Driver;
use crate::format::readers::Product;
use crate::target::Device;
use crate::target::runs_on::LoadMethod;

/// A driver, and the properties of the images of a file.
#[derive(Debug, Clone, Copy)]
pub struct DriverCheck<'a> {
    /// The driver.
    pub driver: &'a Driver,
    /// Properties of the images.
    pub requirements: &'a ImageRequirements,
}

impl DriverCheck<'_> {
    /// Returns why the driver does not load, or may not load, an image that the device runs by `method`.
    pub(super) fn reject(self, candidate: &Candidate<'_>, device: &Device, method: LoadMethod) -> Option<RejectReason> {
        let &Device::Nvidia(number) = device else { return None };
        let need = self.requirements.need(candidate.number, Product::Cuda).and(Need::of_device(number));
        let properties: Vec<String> = need.causes.iter().map(|cause| cause.requirement.to_string()).collect();
        let (driver, properties) = (self.driver.to_string(), properties.join("; "));
        match self.driver.loads(need.floor) {
            Some(true) => None,
            Some(false) => Some(RejectReason::Driver { driver, properties, floor: need.floor }),
            None => Some(RejectReason::UnknownDriver { driver, properties, method }),
        }
    }
}
