//! `inspect`: what is inside the device images of files.
//!
//! Images are looked into one after another, each while its bytes are there, so no more than one is decompressed at a time.

use std::path::Path;

use super::choose::choose;
use super::scanned::Scanned;
use super::selection::Selection;
use crate::bytes::View;
use crate::codec::Codec;
use crate::error::{Error, Malformed, Result};
use crate::format::ImageKind;
use crate::inspect::{self, Inspection};
use crate::inventory::Image;
use crate::scan::{self, Itself};

/// Called with the number of a file, the number of an image among its device images, and what is inside.
pub type Take<'a> = dyn FnMut(usize, usize, Inspection) + 'a;

/// What is missing from what was told.
#[derive(Debug, Default)]
pub struct Unseen {
    /// What could not be read.
    pub failed: Vec<Error>,
    /// Images that may hold a kernel that was asked for.
    pub unknown: Vec<Error>,
}

/// Looks into the selected device images of all files, in their order. What was in the way of some is
/// returned, and of which images nobody knows whether they are meant.
pub fn inspect(
    files: &[Scanned],
    selection: &Selection,
    options: scan::Options,
    take: &mut Take<'_>,
) -> Result<Unseen> {
    let mut choice = choose(files, selection, options)?;
    for (file, scanned) in files.iter().enumerate() {
        let wanted = |number| choice.chosen.binary_search(&(file, number)).is_ok();
        let looked = scanned.reopen(options, &wanted, &mut |number, _, itself| {
            take(file, number, inspection(itself, options, |kind, view| inspect::inspect(kind, view, options.limit)));
            Ok(())
        });
        choice.failed.extend(looked.err());
    }
    Ok(Unseen { failed: choice.failed, unknown: choice.unknown })
}

/// What `look` finds in an image.
pub fn inspection(
    image: &mut Itself<'_, '_>,
    options: scan::Options,
    look: impl FnOnce(ImageKind, View<'_>) -> Inspection,
) -> Inspection {
    if image.codec == Some(Codec::Opaque) {
        return Inspection { not_inspected: Some("stored in a way that is not known"), ..Default::default() };
    }
    let kind = image.image_kind;
    match with_bytes(image, options, |view| look(kind, view)) {
        Ok(inspection) => inspection,
        Err(problem) => Inspection { problems: vec![problem], ..Default::default() },
    }
}

/// Calls `look` with an image, decompressed. What is not compressed is seen where it stands, and then offsets in messages
/// are those of the file.
pub fn with_bytes<R>(
    image: &mut Itself<'_, '_>,
    options: scan::Options,
    look: impl FnOnce(View<'_>) -> R,
) -> Result<R, Malformed> {
    let stored = image.view;
    let bytes = image.bytes(options.limit)?;
    let of_file = stored.part("image", 0, 0, bytes.len() as u64).ok();
    Ok(look(of_file.filter(|view| view.data().as_ptr() == bytes.as_ptr()).unwrap_or(View::new(&bytes))))
}

/// A problem inside an image as an error about its file. Offsets lead into the file where the image stands there as it is.
pub fn problem(path: &str, number: usize, image: &Image, problem: Malformed) -> Error {
    let is_plain = image.offset.is_some() && image.full_size.is_none();
    let path = if is_plain { path.to_owned() } else { format!("{path}, image {number} decompressed") };
    problem.in_file(Path::new(&path))
}
