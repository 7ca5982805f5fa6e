//! Kernels of device images.

use std::collections::BTreeSet;

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
}

impl ImageKernels {
    /// Reads the kernels of an image; `None` if its offload kind is unknown.
    pub fn read(image: &ImageRef<'_>) -> Option<ImageKernels> {
        let kind = image.kind?;
        let names = image.bytes().ok().and_then(|bytes| {
            let inspection = image::kernels(image.image_kind, bytes.view(), image.demangler());
            let is_complete = inspection.not_inspected.is_none() && inspection.problems.is_empty();
            is_complete.then(|| inspection.kernels.into_iter().map(|kernel| kernel.name).collect())
        });
        Some(ImageKernels { kind, offset: image.offset, names })
    }
}
