//! `inspect`: kernels and debug information of device images.
//!
//! Images are inspected in parallel, so no more than one is decompressed per thread at a time.

use crate::base::bytes::{Limits, View};
use crate::format::ImageKind;
use crate::image::{Demangler, Inspection};
use crate::scan::filter;
use crate::scan::filter::{FilterError, FilterResult, FoundImage, ImageFilter};
use crate::scan::inspect::inspect_with;
use crate::scan::inventory::{File, Image, NestedImage};
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

/// A file and its inspected images.
#[derive(Debug, Clone)]
pub struct InspectedFile<'a> {
    /// The file.
    pub file: &'a File,
    /// The inspected images, in order.
    pub images: Vec<InspectedImage<'a>>,
    /// Limits on evaluating the file. Reading it used the same limits.
    pub limits: Limits,
}

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
