//! `verify`: decompresses and inspects every device image, to find damaged ones.

use std::path::PathBuf;

use super::image_bytes::image_error;
use crate::codec::Codec;
use crate::error::{Error, Malformed, Result};
use crate::format::{self, ImageKind};
use crate::inspect;
use crate::inventory::Image;
use crate::scan::{ImageRef, ScannedFile};

/// A defect of a device image.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum VerifyError {
    /// The file or the image cannot be read.
    #[error(transparent)]
    Input(#[from] Error),
    /// The image is not what its container states, or cannot be read at all.
    #[error("{}: image {number}: {why}", path.display())]
    Image {
        /// The file.
        path: PathBuf,
        /// Index of the image in the file.
        number: usize,
        /// The defect.
        why: String,
    },
}

/// Returns the defects of the device images in a file. Defects of containers, stored
/// hashes among them, are errors of the scan.
pub fn verify(scanned: &ScannedFile) -> Result<Vec<VerifyError>> {
    let mut defects = Vec::new();
    if scanned.file().device_images().next().is_none() {
        return Ok(defects);
    }
    let scan = scanned.open()?;
    let path = &scanned.file().path;
    for image in scan.images() {
        let defect = |why| VerifyError::Image { path: path.into(), number: image.index(), why };
        defects.extend(contradiction(image.image()).map(defect));
        if image.image().is_scrambled() {
            continue;
        }
        if image.image().codec == Some(Codec::Opaque) {
            defects.push(defect("compressed with an unknown codec".to_owned()));
            continue;
        }
        // The scan has checked images that are files of their own.
        let scan_errors = &scanned.file().errors;
        for problem in problems(&image).into_iter().filter(|problem| !scan_errors.contains(problem)) {
            defects.push(image_error(path, image.index(), image.image(), problem).into());
        }
    }
    scan.source().input().check_unchanged()?;
    Ok(defects)
}

/// Returns how the image's own header contradicts its container.
fn contradiction(image: &Image) -> Option<String> {
    let own = image.own_arch.as_ref()?;
    let stated = image.arch.as_deref().unwrap_or_default();
    Some(format!("the container states {stated}, the image's own header {own}"))
}

/// Returns the problems in the bytes of an image.
fn problems(image: &ImageRef<'_>) -> Vec<Malformed> {
    let bytes = match image.bytes() {
        Ok(bytes) => bytes,
        Err(problem) => return vec![problem],
    };
    let (kind, view) = (image.image().image_kind, bytes.view());
    match format::check_elf(view) {
        Err(truncated) if kind == ImageKind::Elf => vec![truncated],
        _ => inspect::inspect(kind, view).problems,
    }
}
