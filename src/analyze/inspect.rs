//! `inspect`: kernels and debug information of device images.
//!
//! Images are inspected in parallel, so no more than one is decompressed per thread at a time.

use crate::base::bytes::View;
use crate::base::error::Result;
use crate::format::ImageKind;
use crate::image::{Demangler, Inspection};
use crate::scan::inspect::inspect_with;
use crate::scan::inventory::{Image, NestedImage};
use crate::scan::{ImageRef, ScannedFile};

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
