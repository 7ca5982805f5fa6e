//! `verify --json`: the images and the problems of each file, in the schema `fatbin.verify/1`. Fields are never removed
//! from a schema.

use super::json::errors;
use crate::codes;
use fatbin_core::base::code::Coded;
use fatbin_core::base::json::{json_document, nested_json};
use fatbin_core::format::ImageKind;
use fatbin_core::scan::inventory::{File, NotOpened};
use fatbin_ops::analyze::verify::VerifyError;

/// Name and version of the schema.
const SCHEMA: &str = "fatbin.verify/1";

/// A verified file, as it is written.
#[derive(Debug)]
pub struct VerifiedFile(String);

impl VerifiedFile {
    /// Records a file, with the defects of its images.
    pub fn new(file: &File, wrong: &[VerifyError]) -> Self {
        let count = |kind| file.device_images().filter(|image| image.image_kind == kind).count();
        let has_problem = file.failure.is_some() || file.not_opened.is_some() || !file.errors.is_empty();
        VerifiedFile(nested_json(2, |json| {
            json.field("path", file.path.as_str());
            json.field("intact", !has_problem && wrong.is_empty());
            json.field("images", file.device_images().count());
            // Images whose contents are not inspected.
            json.field("unread", count(ImageKind::Unknown) + count(ImageKind::Nvvm) + count(ImageKind::OptixIr));
            json.optional("not_opened", file.not_opened.map(NotOpened::name));
            json.objects("defects", wrong, |json, error| {
                json.field("code", error.class().code.name());
                json.field("message", codes::message(error));
            });
            errors(json, file);
        }))
    }
}

/// Formats verified files.
pub fn verify_json(files: &[VerifiedFile]) -> String {
    json_document(SCHEMA, |json| json.elements("files", files.iter().map(|VerifiedFile(text)| text)))
}
