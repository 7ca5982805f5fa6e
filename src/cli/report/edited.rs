//! `--json` of the commands that change files: what happened to each image, and the sizes, in the schema
//! `fatbin.edit/1`. Fields are never removed from a schema.
//!
//! Sizes are in bytes. `schemas/fatbin.edit-1.schema.json` documents the fields.

use std::path::Path;

use super::json::target;
use super::proof::fate;
use fatbin_core::base::json::{json_document, nested_json};
use fatbin_core::scan::inventory::File;
use fatbin_ops::edit::EditedFile;

/// Name and version of the schema.
const SCHEMA: &str = "fatbin.edit/1";

/// A change of a file.
#[derive(Debug)]
pub struct Change<'a> {
    /// The command.
    pub command: &'a str,
    /// Path of the input.
    pub input: &'a Path,
    /// Path of the output; absent if nothing was written.
    pub output: Option<&'a Path>,
    /// Size of the input.
    pub size: u64,
    /// Size of the result.
    pub new_size: u64,
    /// The files with device images.
    pub files: &'a [ChangedFile],
}

/// A file with device images, which is the input or in it, as it is written.
#[derive(Debug)]
pub struct ChangedFile(String);

impl ChangedFile {
    /// Records the change of a file.
    pub fn new(file: &File, edited: &EditedFile) -> Self {
        ChangedFile(nested_json(2, |json| {
            json.field("path", file.path.as_str());
            json.optional("keeps_size", edited.keeps_size.map(|reason| reason.to_string()));
            let images = file.device_images().zip(&edited.fates).enumerate();
            json.objects("images", images, |json, (number, (image, image_fate))| {
                json.field("number", number);
                target(json, image);
                json.field("fate", fate(image_fate));
            });
        }))
    }
}

/// Formats a change.
pub fn edit_json(change: &Change<'_>) -> String {
    json_document(SCHEMA, |json| {
        json.field("command", change.command);
        json.field("input", change.input.to_string_lossy());
        json.optional("output", change.output.map(Path::to_string_lossy));
        json.field("size", change.size);
        json.field("new_size", change.new_size);
        // Negative if the result is larger.
        json.field("saved", i128::from(change.size) - i128::from(change.new_size));
        json.elements("files", change.files.iter().map(|ChangedFile(text)| text));
    })
}
