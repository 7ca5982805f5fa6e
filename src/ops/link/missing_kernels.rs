//! Kernels that host objects use but no device image has. Their launch fails when the program runs.

use std::collections::BTreeSet;
use std::path::Path;

use object::elf;

use super::elf_type::elf_type;
use super::error::Result;
use super::inputs::HostFile;
use super::linked_image::LinkedImage;
use crate::embed::wrap::host_entries;
use fatbin_core::format::DeviceImage;
use fatbin_core::image;
use fatbin_core::scan::inventory::{FileFormat, WrapperTarget};
use fatbin_core::scan::{InputSlice, Options, Scan, Source};
use fatbin_core::target::OffloadKind;

/// A kernel that a host object uses but no image has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MissingKernel {
    /// Host object with the offload entry.
    pub path: String,
    /// Offload kind whose runtime searches the kernel.
    pub kind: OffloadKind,
    /// Name of the kernel.
    pub name: String,
}

/// Kernels in the offload entries of host objects that no image of their kind has. Members of archives are left out,
/// because the host linker takes only the members that it needs. The output has the entries of these members.
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
    Ok(without_available(used, images, files.iter().filter(|file| !file.is_lazy()).map(HostFile::slice)))
}

/// Kernels that are neither in the images of their kind nor in images that `files` register. A kind is left out if the
/// kernels of one of its images are unknown.
pub fn without_available<'a>(
    mut used: Vec<MissingKernel>,
    images: &[LinkedImage<'_>],
    files: impl Iterator<Item = &'a InputSlice> + Clone,
) -> Vec<MissingKernel> {
    let mut kinds: Vec<OffloadKind> = used.iter().map(|kernel| kernel.kind).collect();
    kinds.sort_unstable();
    kinds.dedup();
    for kind in kinds {
        remove(&mut used, kind, available(kind, images));
        if used.iter().any(|kernel| kernel.kind == kind) {
            for file in files.clone() {
                remove(&mut used, kind, registered(kind, file));
            }
        }
    }
    used
}

/// Removes the kernels of a kind that are available.
fn remove(used: &mut Vec<MissingKernel>, kind: OffloadKind, available: Option<BTreeSet<String>>) {
    let is_missing =
        |kernel: &MissingKernel| available.as_ref().is_some_and(|available| !available.contains(&kernel.name));
    used.retain(|kernel| kernel.kind != kind || is_missing(kernel));
}

/// Kernels in the images of a kind that a file registers; `None` if the kernels of an image are unknown.
fn registered(kind: OffloadKind, file: &InputSlice) -> Option<BTreeSet<String>> {
    let structure_only = Options::default().with_structure_only(true);
    let Ok(scan) = Scan::with_options(file.clone(), structure_only, None) else { return Some(BTreeSet::new()) };
    let is_linked = scan.file().wrappers.iter().any(|wrapper| wrapper.target != WrapperTarget::Nothing)
        || matches!(scan.file().format, Some(FileFormat::Pe | FileFormat::MachO))
        || elf_type(file.view()).is_some_and(|file_type| file_type != elf::ET_REL);
    let mut names = BTreeSet::new();
    for image in scan.images().filter(|image| is_linked && image.kind == Some(kind)) {
        let bytes = image.bytes().ok()?;
        let inspection = image::kernels(image.image_kind, bytes.view(), image.demangler());
        if inspection.not_inspected.is_some() || !inspection.problems.is_empty() {
            return None;
        }
        names.extend(inspection.kernels.into_iter().map(|kernel| kernel.name));
    }
    Some(names)
}

/// Kernels in the images of a kind; `None` if the kernels of an image are unknown.
fn available(kind: OffloadKind, images: &[LinkedImage<'_>]) -> Option<BTreeSet<String>> {
    let mut names = BTreeSet::new();
    let demangler = image::Demangler::default();
    for image in images.iter().filter(|image| image.kinds.contains(&kind)) {
        let view = image.bytes.as_ref()?.view();
        let inspection = image::kernels(DeviceImage::identify(view).image_kind, view, &demangler);
        if inspection.not_inspected.is_some() || !inspection.problems.is_empty() {
            return None;
        }
        names.extend(inspection.kernels.into_iter().map(|kernel| kernel.name));
    }
    Some(names)
}
