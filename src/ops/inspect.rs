//! `inspect`: what is inside the device images of files.
//!
//! Images are looked into one after another, each while its bytes are there, so no more than one is decompressed at a time.

use std::path::Path;

use super::extract::Scanned;
use super::selection::Selection;
use crate::bytes::View;
use crate::codec::Codec;
use crate::error::{Error, Malformed, Result};
use crate::format;
use crate::inspect::{self, Inspection};
use crate::inventory::Image;
use crate::scan;

/// Called with the number of a file, the number of an image among its device images, and what is inside.
pub type Take<'a> = dyn FnMut(usize, usize, Inspection) -> Result<()> + 'a;

/// Looks into the selected device images of all files, in their order.
pub fn inspect(files: &[Scanned], selection: &Selection, options: scan::Options, take: &mut Take<'_>) -> Result<()> {
    let all: Vec<&Image> = files.iter().flat_map(|scanned| scanned.file.device_images()).collect();
    selection.check(&all)?;
    for (file, scanned) in files.iter().enumerate() {
        let wanted: Vec<bool> = scanned.file.device_images().map(|image| selection.accepts(image)).collect();
        scan::reopen(&scanned.part, &scanned.file, options, &|number| wanted[number], &mut |number, _, itself| {
            take(file, number, inspection(itself, options))
        })?;
    }
    Ok(())
}

/// What is inside an image, whose bytes are decompressed for it.
pub fn inspection(image: &format::Image<'_>, options: scan::Options) -> Inspection {
    if image.codec == Some(Codec::Opaque) {
        return Inspection { not_inspected: Some("stored in a way that is not known"), ..Default::default() };
    }
    match with_bytes(image, options, |view| inspect::inspect(image.image_kind, view, options.limit)) {
        Ok(inspection) => inspection,
        Err(problem) => Inspection { problems: vec![problem], ..Default::default() },
    }
}

/// Calls `look` with an image, decompressed. What is not compressed is seen where it stands, and then offsets in messages
/// are those of the file.
pub fn with_bytes<R>(
    image: &format::Image<'_>,
    options: scan::Options,
    look: impl FnOnce(View<'_>) -> R,
) -> Result<R, Malformed> {
    let bytes = image.bytes(options.limit)?;
    let of_file = image.view.part("image", 0, 0, bytes.len() as u64).ok();
    Ok(look(of_file.filter(|view| view.data().as_ptr() == bytes.as_ptr()).unwrap_or(View::new(&bytes))))
}

/// A problem inside an image as an error about its file. Offsets lead into the file where the image stands there as it is.
pub fn problem(path: &str, number: usize, image: &Image, problem: Malformed) -> Error {
    let is_plain = image.offset.is_some() && image.full_size.is_none();
    let path = if is_plain { path.to_owned() } else { format!("{path}, image {number} decompressed") };
    problem.in_file(Path::new(&path))
}
