//! `inspect`: kernels and debug information of device images.
//!
//! Images are inspected in parallel, so no more than one is decompressed per thread at a time.

use fatbin_core::base::bytes::View;
use fatbin_core::base::error::Result;
use fatbin_core::format::ImageKind;
use fatbin_core::image::{Demangler, Inspection};
use fatbin_core::scan::inspect::inspect_with;
use fatbin_core::scan::inventory::{Image, NestedImage};
use fatbin_core::scan::{ImageRef, ScannedFile};

/// An inspected image.
#[derive(Debug, Clone)]
pub struct InspectedImage<'a> {
    /// Number among the device images of the file.
    pub number: usize,
    /// The image.
    pub image: &'a Image,
    /// Its contents.
    pub inspection: Inspection,
}

/// Inspects device images of a file with `read`. Calls `work` with each in parallel, and `take` with the results in order.
pub fn inspect<'a, R: Send>(
    scanned: &'a ScannedFile,
    images: &[NestedImage<'a>],
    read: fn(ImageKind, View<'_>, &Demangler) -> Inspection,
    work: &(dyn Fn(&NestedImage<'a>, Inspection) -> R + Sync),
    take: &mut dyn FnMut(R),
) -> Result<()> {
    if images.is_empty() {
        return Ok(());
    }
    let scan = scanned.open()?;
    let inspect = |index: usize, image: &ImageRef<'_>| work(&images[index], inspect_with(image, read));
    scan.map_images(images, inspect, &mut |_, result| take(result));
    scan.source().input().check_unchanged()
}
