//! Reasons against images.

use crate::analyze::requires::{CodeProperty, Floor, nvjitlink};
use fatbin_core::scan::inventory::Image;
use fatbin_core::target::BundleEntryId;
use fatbin_core::target::compatibility::UnknownGenericId;
use fatbin_core::target::nvptx::{Arch, Suffix};
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
    /// The runtime selects the image, and its kernels have no body. Other images of its module have kernels.
    #[error("{runtime} selects it, and its kernels only end or trap: nothing of its module runs")]
    SelectedStubs {
        /// Name of the runtime.
        runtime: &'static str,
    },
    /// Releases of the runtime do not load such code.
    #[error("{runtime} of {release} {}: {property}", unsupported(*.is_selected))]
    Unsupported {
        /// Name of the runtime.
        runtime: &'static str,
        /// Name of the releases.
        release: &'static str,
        /// Property of the code.
        property: CodeProperty,
        /// True if the runtime selects the image nevertheless.
        is_selected: bool,
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
    /// The image is LTO-IR, which is linked for the device first.
    #[error("{}; {linker} links it for this device", Incompatibility::LinkTime)]
    LinkTime {
        /// Releases of the linker, and the option that it needs.
        linker: String,
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
    /// A compiler has left the image next to the code that programs load.
    #[error("Triton loads the machine code next to it, and no PTX")]
    LeftBehind,
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
        match self {
            RejectReason::SelectedButUnloadable { .. }
            | RejectReason::SelectedWithoutKernels { .. }
            | RejectReason::SelectedStubs { .. } => true,
            RejectReason::Unsupported { is_selected, .. } => *is_selected,
            _ => false,
        }
    }

    /// Returns the reason for an obstacle of an image.
    pub(super) fn of(obstacle: Incompatibility, image: &Image) -> RejectReason {
        match (&obstacle, image.cuda.ir_version) {
            (Incompatibility::LinkTime, Some(version)) => RejectReason::LinkTime { linker: linker(version, image) },
            _ => RejectReason::Incompatibility(obstacle),
        }
    }
}

/// Returns the linker of LTO-IR. It links architecture-specific code for exactly this name.
fn linker(version: (u16, u16), image: &Image) -> String {
    let arch = image.arch.as_deref().and_then(Arch::parse).filter(|arch| arch.suffix == Some(Suffix::Specific));
    let option = arch.map_or(String::new(), |arch| format!(" with -arch={arch}"));
    nvjitlink(version) + &option
}

fn unsupported(is_selected: bool) -> &'static str {
    if is_selected { "selects it but cannot load it" } else { "does not load it" }
}

/// Explains why a runtime does not find an ID.
fn unknown_id(runtime: &str, id: &str) -> String {
    let Some(parsed) = BundleEntryId::parse(id) else { return format!("{runtime} does not find {id}") };
    let triple = if parsed.is_amd_spirv() { "" } else { ", whose triple is not amdgcn-amd-amdhsa" };
    format!("{runtime} does not find {id}{triple}; {}", parsed.remedy_for_hip())
}
