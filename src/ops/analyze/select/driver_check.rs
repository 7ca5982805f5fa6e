//! Selections with a driver of NVIDIA: images that it cannot load are left out.

use super::needs::{ImageRequirements, Need};
use super::{Candidate, RejectReason};
use crate::analyze::requires::{Driver, Requirement};
use fatbin_core::format::readers::Product;
use fatbin_core::target::Device;
use fatbin_core::target::runs_on::LoadMethod;

/// A driver, and the properties of the images of a file.
#[derive(Debug, Clone, Copy)]
pub struct DriverCheck<'a> {
    /// The driver.
    pub driver: &'a Driver,
    /// Properties of the images.
    pub requirements: &'a ImageRequirements,
}

impl DriverCheck<'_> {
    /// Returns why the driver leaves an image out of its choice, or may do so. Among PTX it chooses by the target
    /// alone: measured on an H100 with driver 580.159.04, see [`super::Runtime`].
    pub(super) fn leaves_out(
        self,
        candidate: &Candidate<'_>,
        device: &Device,
        method: LoadMethod,
    ) -> Option<RejectReason> {
        let is_chosen_by = |it: Requirement| method != LoadMethod::FromPtx || !matches!(it, Requirement::Ptx(_));
        self.reason(candidate, device, method, is_chosen_by)?;
        self.reject(candidate, device, method)
    }

    /// Returns why the driver does not load, or may not load, an image that the device runs by `method`.
    pub(super) fn reject(self, candidate: &Candidate<'_>, device: &Device, method: LoadMethod) -> Option<RejectReason> {
        self.reason(candidate, device, method, |_| true)
    }

    fn reason(
        self,
        candidate: &Candidate<'_>,
        device: &Device,
        method: LoadMethod,
        counts: impl Fn(Requirement) -> bool,
    ) -> Option<RejectReason> {
        let &Device::Nvidia(number) = device else { return None };
        let own = self.requirements.need_of(candidate.number, Product::Cuda, counts);
        let need = own.and(Need::of_device(number, self.requirements.system));
        let properties: Vec<String> = need.causes.iter().map(|cause| cause.requirement.to_string()).collect();
        let driver = self.driver.to_string();
        let properties = properties.join("; ");
        match self.driver.loads(need.floor) {
            Some(true) => None,
            Some(false) => Some(RejectReason::Driver { driver, properties, floor: need.floor }),
            None => Some(RejectReason::UnknownDriver { driver, properties, method }),
        }
    }
}
