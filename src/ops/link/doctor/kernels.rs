//! Kernels of device images.

use std::collections::BTreeSet;

use fatbin_core::format::{DeviceImage, ImageKind, is_device_code};
use fatbin_core::image;
use fatbin_core::scan::ImageRef;
use fatbin_core::target::OffloadKind;

/// Kernels of an image.
#[derive(Debug)]
pub struct ImageKernels {
    /// Offload kind.
    pub kind: OffloadKind,
    /// Offset of the image, if it is stored unchanged.
    pub offset: Option<u64>,
    /// Names; `None` if the kernels are unknown.
    pub names: Option<BTreeSet<String>>,
    /// Functions of an image for the host, which libomptarget also launches. Names do not tell them from kernels.
    pub host_functions: Vec<String>,
}

impl ImageKernels {
    /// Reads the kernels of an image; `None` if its offload kind is unknown.
    pub fn read(image: &ImageRef<'_>) -> Option<ImageKernels> {
        let unknown = ImageKernels { kind: image.kind?, offset: image.offset, names: None, host_functions: Vec::new() };
        let Ok(bytes) = image.bytes() else { return Some(unknown) };
        let inspection = image::kernels(image.image_kind, bytes.view(), image.demangler());
        if inspection.not_inspected.is_some() || !inspection.problems.is_empty() {
            return Some(unknown);
        }
        let names = Some(inspection.kernels.into_iter().map(|kernel| kernel.name).collect());
        let triple = DeviceImage::identify(bytes.view()).triple;
        let is_for_host = image.image_kind == ImageKind::Elf && !is_device_code(ImageKind::Elf, triple.as_deref());
        let host_functions =
            if is_for_host { image::function_names(bytes.view()).unwrap_or_default() } else { Vec::new() };
        Some(ImageKernels { names, host_functions, ..unknown })
    }
}
