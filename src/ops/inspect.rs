//! `inspect`: kernels and debug information of device images.
//!
//! Images are inspected one after another, so no more than one is decompressed at a time.

use super::filter::{self, FilterError, FilterResult, FoundImage, ImageFilter};
use super::image_bytes::inspect_with;
use crate::bytes::View;
use crate::format::ImageKind;
use crate::inspect::Inspection;
use crate::scan::ScannedFile;

/// Images that could not be inspected.
#[derive(Debug, Default)]
pub struct Incomplete {
    /// Errors of files and images that could not be read.
    pub failed: Vec<FilterError>,
    /// Images that may hold a kernel that was asked for.
    pub unknown: Vec<FilterError>,
}

/// Inspects the device images of all files that `filter` accepts with `read`, in order, and calls `take` with each. Returns what could
/// not be inspected.
pub fn inspect<'a>(
    files: &'a [ScannedFile],
    filter: &ImageFilter,
    read: fn(ImageKind, View<'_>) -> Inspection,
    take: &mut dyn FnMut(&FoundImage<'a>, Inspection),
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
        let reader = scan.reader();
        for found in images {
            let image = reader.image(found.nested.clone());
            take(found, inspect_with(&image, read));
        }
        failed.extend(scan.source().input().check_unchanged().err().map(FilterError::from));
    }
    Ok(Incomplete { failed, unknown })
}
