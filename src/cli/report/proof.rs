//! `--proof`: what a change did to each image, and the hashes of the file before and after, in the schema
//! `fatbin.proof/1`. Fields are never removed from a schema.
//!
//! Sizes are in bytes. `schemas/fatbin.proof-1.schema.json` documents the fields.

use std::path::Path;

use serde::Serialize;

use super::json::{ImageTarget, to_pretty_json};
use crate::base::bytes::hexadecimal;
use crate::edit::{EditedFile, ImageFate, Proof};
use crate::scan::inventory::File;

/// Name and version of the schema.
pub const PROOF_SCHEMA: &str = "fatbin.proof/1";

/// A proof as it is written.
#[derive(Debug, Serialize)]
pub struct ProofDocument {
    schema: &'static str,
    command: String,
    input: HashedFile,
    output: HashedFile,
    files: Vec<ProvenFile>,
}

#[derive(Debug, Serialize)]
struct HashedFile {
    path: String,
    size: u64,
    sha256: String,
}

/// A file with device images, which is the input or in it.
#[derive(Debug, Serialize)]
pub struct ProvenFile {
    path: String,
    /// Number of bytes outside of the changed spans.
    unchanged: u64,
    /// Devices whose runtimes select the same images as before.
    devices: Vec<String>,
    images: Vec<ProvenImage>,
}

#[derive(Debug, Serialize)]
struct ProvenImage {
    number: usize,
    #[serde(flatten)]
    target: ImageTarget<'static>,
    fate: &'static str,
    /// Index after the change.
    #[serde(skip_serializing_if = "Option::is_none")]
    new_number: Option<usize>,
    /// SHA-256 of the bytes of a replaced image.
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
}

impl ProvenFile {
    /// Records the proof of a file.
    pub fn new(file: &File, edited: &EditedFile, proof: &Proof) -> Self {
        let images = file.device_images().zip(&edited.fates).zip(&proof.images).enumerate();
        let images = images.map(|(number, ((image, fate), new_number))| {
            let (fate, sha256) = match fate {
                ImageFate::Kept => ("kept", None),
                ImageFate::Dropped => ("dropped", None),
                ImageFate::Replaced(hash) => ("replaced", Some(hexadecimal(hash))),
            };
            ProvenImage { number, target: ImageTarget::new(image).into_owned(), fate, new_number: *new_number, sha256 }
        });
        ProvenFile {
            path: file.path.clone(),
            unchanged: proof.unchanged,
            devices: proof.devices.iter().map(ToString::to_string).collect(),
            images: images.collect(),
        }
    }
}

impl ProofDocument {
    /// Creates a proof from paths, sizes and hashes before and after, and the files.
    pub fn new(
        command: &str,
        before: (&Path, u64, [u8; 32]),
        after: (&Path, u64, [u8; 32]),
        files: Vec<ProvenFile>,
    ) -> Self {
        let hashed = |(path, size, hash): (&Path, u64, [u8; 32])| HashedFile {
            path: path.to_string_lossy().into_owned(),
            size,
            sha256: hexadecimal(&hash),
        };
        ProofDocument {
            schema: PROOF_SCHEMA,
            command: command.to_owned(),
            input: hashed(before),
            output: hashed(after),
            files,
        }
    }

    /// Formats the proof.
    pub fn to_json(&self) -> Vec<u8> {
        to_pretty_json(self).into_bytes()
    }
}
