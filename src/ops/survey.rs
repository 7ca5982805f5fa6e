//! `survey`: the inventory of a file, and what is inside its device images.
//!
//! Images are looked into one after another, each while its bytes are there, so no more than one is decompressed at a time.

use super::inspect::{inspection, with_bytes};
use super::scanned::Scanned;
use crate::error::Result;
use crate::inspect;
use crate::scan::Options;
use crate::survey::{Inside, SurveyedFile, Wanted};

/// What is `wanted` of the device images in a file that was scanned with these options.
pub fn survey(scanned: Scanned, options: Options, wanted: Wanted) -> Result<SurveyedFile> {
    let mut insides = vec![Inside::default(); scanned.file.device_images().count()];
    if wanted.is_anything() {
        scanned.reopen(options, &|_| true, &mut |number, _, image| {
            let inside = &mut insides[number];
            inside.inspection = wanted
                .inspection
                .then(|| inspection(image, options, |kind, view| inspect::inspect(kind, view, options.limit)));
            if wanted.code_hash || wanted.build_paths {
                let kind = image.image_kind;
                // What is wrong with the bytes is a problem that the inspection tells.
                let _ = with_bytes(image, options, |view| {
                    inside.code_hash = wanted.code_hash.then(|| inspect::code_hash(kind, view));
                    let paths = || inspect::build_paths(kind, view, options.limit).ok();
                    inside.build_paths = wanted.build_paths.then(paths).flatten();
                });
            }
            Ok(())
        })?;
    }
    Ok(SurveyedFile { file: scanned.file, insides })
}
