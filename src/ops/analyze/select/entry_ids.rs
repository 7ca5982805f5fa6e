//! Entries of bundles that HIP does not find by their IDs.

use super::{RejectReason, Runtime};
use fatbin_core::scan::inventory::Image;
use fatbin_core::target::bundle_entry_id::FoundByHip;
use fatbin_core::target::compatibility::generic_id_of_hip;
use fatbin_core::target::runs_on::LoadMethod;
use fatbin_core::target::{BundleEntryId, Device, OffloadKind};

/// Returns why the runtime does not find an image that the device runs by `method`. HIP loads a code object that is in
/// no bundle, and so has no ID, without looking it up.
pub fn not_found(image: &Image, runtime: &Runtime, device: &Device, method: LoadMethod) -> Option<RejectReason> {
    let id = image.id.as_deref()?;
    if runtime.kind != Some(OffloadKind::Hip) {
        return None;
    }
    let is_found = match BundleEntryId::parse(id)?.found_by_hip() {
        FoundByHip::Always => true,
        // Only the current release has earlier ones.
        FoundByHip::AfterRocm6_4 => !runtime.earlier.is_empty(),
        FoundByHip::Never => false,
    };
    if !is_found {
        return Some(RejectReason::UnknownId { runtime: runtime.name, id: id.to_owned() });
    }
    match (device, method) {
        (Device::Amd(target_id), LoadMethod::Generic) => {
            let cause = generic_id_of_hip(target_id)?.err()?;
            Some(RejectReason::UnknownGenericId { runtime: runtime.name, cause })
        }
        _ => None,
    }
}
