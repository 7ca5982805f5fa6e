//! `inspect`: kernels and debug information of device images.
//!
//! Images are inspected in parallel, so no more than one is decompressed per thread at a time.

use crate::base::bytes::View;
use crate::format::ImageKind;
use crate::image::{Demangler, Inspection};
use crate::scan::filter;
use crate::scan::filter::{FilterError, FilterResult, FoundImage, ImageFilter};
use crate::scan::inspect::inspect_with;
use crate::scan::inventory::NestedImage;
use crate::scan::{ImageRef, ScannedFile};

/// Images that could not be inspected.
#[derive(Debug, Default)]
pub struct Incomplete {
    /// Errors of files and images that could not be read.
    pub failed: Vec<FilterError>,
    /// Images that may hold a requested kernel.
    pub unknown: Vec<FilterError>,
}

/// Inspects the device images of all files that `filter` accepts with `read`. Calls `work` with each in parallel, and
/// `take` with the results in order. Returns what could not be inspected.
pub fn inspect<'a, R: Send>(
    files: &'a [ScannedFile],
    filter: &ImageFilter,
    read: fn(ImageKind, View<'_>, &Demangler) -> Inspection,
    work: &(dyn Fn(&FoundImage<'a>, Inspection) -> R + Sync),
    take: &mut dyn FnMut(&FoundImage<'a>, R),
) -> Result<Incomplete, FilterError> {
    let FilterResult { images, mut failed, unknown } = filter::apply(filter, files)?;
    for images in filter::by_file(&images) {
        let scan = match files[images[0].file].open() {
            Ok(scan) => scan,
            Err(error) => {
                failed.push(error.into());
                continue;
            }
        };
        let nested: Vec<NestedImage<'_>> = images.iter().map(|found| found.nested.clone()).collect();
        let inspect = |index: usize, image: &ImageRef<'_>| work(&images[index], inspect_with(image, read));
        scan.map_images(&nested, inspect, &mut |index, result| take(&images[index], result));
        failed.extend(scan.source().input().check_unchanged().err().map(FilterError::from));
    }
    Ok(Incomplete { failed, unknown })
}
