//! Entries of bundles that HIP does not find by their IDs.

use super::{Candidate, Preference, RejectReason, Runtime};
use fatbin_core::scan::inventory::Image;
use fatbin_core::target::bundle_entry_id::FoundByHip;
use fatbin_core::target::compatibility::generic_id_of_hip;
use fatbin_core::target::runs_on::{CodeForm, LoadMethod};
use fatbin_core::target::{BundleEntryId, Device, OffloadKind};

/// Source: llvm-project pull request 139112.
static HIP_OF_ROCM_6_4: Runtime = Runtime {
    kind: Some(OffloadKind::Hip),
    name: "HIP",
    release: "ROCm 6.4",
    order: "as later releases, but SPIR-V only with the ID spirv64-amd-amdhsa--amdgcnspirv",
    preference: Preference::Best,
    accepted_forms: &[CodeForm::Machine, CodeForm::SpirV],
    earlier: None,
};

fn is_found_after_rocm_6_4(image: &Image) -> bool {
    let id = image.id.as_deref().and_then(BundleEntryId::parse);
    id.is_some_and(|id| id.found_by_hip() == FoundByHip::AfterRocm6_4)
}

/// Returns the earlier release of a runtime that does not find the IDs of all candidates.
pub fn earlier_release(runtime: &Runtime, candidates: &[Candidate<'_>]) -> Option<&'static Runtime> {
    let is_hip = runtime.kind == Some(OffloadKind::Hip);
    (is_hip && candidates.iter().any(|it| is_found_after_rocm_6_4(it.image))).then_some(&HIP_OF_ROCM_6_4)
}

/// Returns why the runtime does not find an image that the device runs by `method`. HIP loads a code object that is in
/// no bundle, and so has no ID, without looking it up.
pub fn not_found(image: &Image, runtime: &Runtime, device: &Device, method: LoadMethod) -> Option<RejectReason> {
    let id = image.id.as_deref()?;
    if runtime.kind != Some(OffloadKind::Hip) {
        return None;
    }
    let is_found = match BundleEntryId::parse(id)?.found_by_hip() {
        FoundByHip::Always => true,
        FoundByHip::AfterRocm6_4 => *runtime != HIP_OF_ROCM_6_4,
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
