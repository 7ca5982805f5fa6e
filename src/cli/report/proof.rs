//! `--proof`: what a change did to each image, and the hashes of the file before and after, in the schema
//! `fatbin.proof/1`. Fields are never removed from a schema.
//!
//! Sizes are in bytes. `schemas/fatbin.proof-1.schema.json` documents the fields.

use std::path::Path;

use super::json::target;
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::base::json::{JsonWriter, json_document, nested_json};
use fatbin_core::scan::inventory::File;
use fatbin_ops::edit::{EditedFile, ImageFate, Proof};

/// Name and version of the schema.
pub const PROOF_SCHEMA: &str = "fatbin.proof/1";

/// A file with device images, which is the input or in it, as it is written.
#[derive(Debug)]
pub struct ProvenFile(String);

impl ProvenFile {
    /// Records the proof of a file.
    pub fn new(file: &File, edited: &EditedFile, proof: &Proof) -> Self {
        ProvenFile(nested_json(2, |json| {
            json.field("path", file.path.as_str());
            // Number of bytes outside of the changed spans.
            json.field("unchanged", proof.unchanged);
            // Devices whose runtimes select the same images as before.
            json.list("devices", proof.devices.iter().map(ToString::to_string));
            let images = file.device_images().zip(&edited.fates).zip(&proof.images).enumerate();
            json.objects("images", images, |json, (number, ((image, fate), new_number))| {
                json.field("number", number);
                target(json, image);
                let hash = if let ImageFate::Replaced(hash) = fate { Some(hash) } else { None };
                json.field("fate", self::fate(fate));
                // Index after the change.
                json.optional("new_number", *new_number);
                // SHA-256 of the bytes of a replaced image.
                json.optional("sha256", hash.map(|hash| hexadecimal(hash)));
            });
        }))
    }
}

/// Name of the fate of an image.
pub fn fate(fate: &ImageFate) -> &'static str {
    match fate {
        ImageFate::Kept => "kept",
        ImageFate::Dropped => "dropped",
        ImageFate::Replaced(_) => "replaced",
    }
}

/// Formats a proof from paths, sizes and hashes before and after, and the files.
pub fn proof_json(
    command: &str,
    before: (&Path, u64, [u8; 32]),
    after: (&Path, u64, [u8; 32]),
    files: &[ProvenFile],
) -> String {
    let hashed = |json: &mut JsonWriter, (path, size, hash): (&Path, u64, [u8; 32])| {
        json.field("path", path.to_string_lossy());
        json.field("size", size);
        json.field("sha256", hexadecimal(&hash));
    };
    json_document(PROOF_SCHEMA, |json| {
        json.field("command", command);
        json.object("input", |json| hashed(json, before));
        json.object("output", |json| hashed(json, after));
        json.elements("files", files.iter().map(|ProvenFile(text)| text));
    })
}
