//! Kernels that host objects use and no device image has: their launch fails when the program runs.

use std::collections::BTreeSet;
use std::path::Path;

use super::error::Result;
use super::inputs::HostFile;
use super::linked_image::LinkedImage;
use crate::embed::wrap::host_entries;
use crate::format::DeviceImage;
use crate::image;
use crate::target::OffloadKind;

/// A kernel that a host object uses and no image has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKernel {
    /// Host object with the offload entry.
    pub path: String,
    /// Offload kind whose runtime searches the kernel.
    pub kind: OffloadKind,
    /// Name of the kernel.
    pub name: String,
}

/// Returns the kernels in the offload entries of host objects that no image of their kind has. Members of archives are left
/// out, because the host linker takes only those that it needs. A kind with an image whose kernels are unknown is left out.
pub fn find(files: &[HostFile], images: &[LinkedImage<'_>]) -> Result<Vec<MissingKernel>> {
    let mut used = Vec::new();
    for file in files.iter().filter(|file| !file.is_lazy()) {
        let entries = host_entries::read(file.view(), Path::new(file.path()))?;
        let kernels = entries.into_iter().filter(|entry| entry.is_kernel);
        used.extend(kernels.map(|entry| MissingKernel {
            path: file.path().to_owned(),
            kind: entry.kind,
            name: entry.name,
        }));
    }
    let mut kinds: Vec<OffloadKind> = used.iter().map(|kernel| kernel.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        let available = available(kind, images);
        let is_missing =
            |kernel: &MissingKernel| available.as_ref().is_some_and(|available| !available.contains(&kernel.name));
        used.retain(|kernel| kernel.kind != kind || is_missing(kernel));
    }
    Ok(used)
}

/// Returns the kernels in the images of a kind; `None` if those of an image are unknown.
fn available(kind: OffloadKind, images: &[LinkedImage<'_>]) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    for image in images.iter().filter(|image| image.kinds.contains(&kind)) {
        let view = image.bytes.as_ref()?.view();
        let inspection = image::kernels(DeviceImage::identify(view).image_kind, view);
        if inspection.not_inspected.is_some() || !inspection.problems.is_empty() {
            return None;
        }
        names.extend(inspection.kernels.into_iter().map(|kernel| kernel.name));
    }
    Some(names)
}
