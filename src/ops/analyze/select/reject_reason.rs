//! Reasons against images.

use crate::analyze::requires::Floor;
use fatbin_core::target::BundleEntryId;
use fatbin_core::target::compatibility::UnknownGenericId;
use fatbin_core::target::runs_on::{CodeForm, Incompatibility, LoadMethod};

/// Reason why a runtime does not select an image.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum RejectReason {
    /// The code does not run on the device.
    #[error("{0}")]
    Incompatibility(Incompatibility),
    /// The runtime does not support the format.
    #[error("{runtime} does not support {}", .form.name())]
    Form {
        /// Name of the runtime.
        runtime: &'static str,
        /// Format of the code.
        form: CodeForm,
    },
    /// The code runs, but the runtime prefers another image.
    #[error("compatible, but image {by} is preferred")]
    Outranked {
        /// Number of the preferred image.
        by: usize,
    },
    /// The runtime does not find the ID of the image. It compares IDs as text.
    #[error("{}", unknown_id(.runtime, .id))]
    UnknownId {
        /// Name of the runtime.
        runtime: &'static str,
        /// The bundle entry ID.
        id: String,
    },
    /// The runtime does not find generic code for the device.
    #[error("{runtime} {cause}")]
    UnknownGenericId {
        /// Name of the runtime.
        runtime: &'static str,
        /// The ID that it looks for.
        cause: UnknownGenericId,
    },
    /// The runtime selects the image without checking all of its requirements, and then fails to load it.
    #[error("{runtime} selects it but cannot load it: {obstacle}")]
    SelectedButUnloadable {
        /// Name of the runtime.
        runtime: &'static str,
        /// The unmet requirement.
        obstacle: Incompatibility,
    },
    /// The runtime selects the image, and it holds no kernel. Other images of its module do.
    #[error("{runtime} selects it, and it holds no kernel: nothing of its module runs")]
    SelectedWithoutKernels {
        /// Name of the runtime.
        runtime: &'static str,
    },
    /// The driver is too old for the image.
    #[error("{driver} does not load it: {properties}; oldest release: {floor}")]
    Driver {
        /// The driver.
        driver: String,
        /// Properties of the image that decide that.
        properties: String,
        /// Releases that load it.
        floor: Floor,
    },
    /// It is not known whether the driver loads the image.
    #[error("not known to load with {driver}: {properties}")]
    UnknownDriver {
        /// The driver.
        driver: String,
        /// Properties of the image that leave it open.
        properties: String,
        /// How the device would load it.
        method: LoadMethod,
    },
    /// The file registers other containers, and not the image's.
    #[error("no wrapper registers its container")]
    Unregistered,
    /// The image is input of a device linker.
    #[error("must be linked with other device code first")]
    NeedsDeviceLink,
    /// The image is relocatable code of a finished file, and no device link registers it.
    #[error("relocatable code that no device link registers")]
    NotRegistered,
    /// The image is relocatable code, and the linked code runs.
    #[error("relocatable code, which the driver links only where no linked code runs")]
    LinkedCodeRuns,
    /// The image is relocatable code that runs, and another input of its link has nothing for the device.
    #[error("cannot be linked: the container at {missing} has no code for this device")]
    IncompleteLink {
        /// Place of that container in the file, and the name of its source if it is known.
        missing: String,
    },
}

impl RejectReason {
    /// Returns whether the runtime selects the image although nothing in it runs.
    pub fn is_selected(&self) -> bool {
        matches!(self, RejectReason::SelectedButUnloadable { .. } | RejectReason::SelectedWithoutKernels { .. })
    }
}

/// Explains why a runtime does not find an ID.
fn unknown_id(runtime: &str, id: &str) -> String {
    let Some(parsed) = BundleEntryId::parse(id) else { return format!("{runtime} does not find {id}") };
    let triple = if parsed.is_amd_spirv() { "" } else { ", whose triple is not amdgcn-amd-amdhsa" };
    format!("{runtime} does not find {id}{triple}; {}", parsed.remedy_for_hip())
}
