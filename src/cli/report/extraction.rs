//! `extract --index`: the files that images were written to, in the schema `fatbin.extract/1`. Fields are never removed
//! from a schema.
//!
//! Sizes are in bytes. A field that is absent is unknown or does not apply. `schemas/fatbin.extract-1.schema.json`
//! documents the fields.

use std::collections::BTreeMap;

use super::json::target;
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::json::{JsonWriter, json_document, nested_json};
use fatbin_core::scan::inventory::{File, NestedImage};

/// Name and version of the schema.
const SCHEMA: &str = "fatbin.extract/1";

/// A file that an image was written to.
#[derive(Debug)]
pub struct ExtractedImage<'a> {
    /// Inventory of the file that contains the image.
    pub file: &'a File,
    /// The image, with the containers around it.
    pub nested: &'a NestedImage<'a>,
    /// Path of the written file, relative to the index.
    pub name: String,
    /// Size of the written file, in bytes.
    pub size: u64,
    /// SHA-256 of the written file.
    pub sha256: Option<[u8; 32]>,
}

/// Index of the written files.
#[derive(Debug, Default)]
pub struct Index {
    images: Vec<String>,
    /// Entries that hold only properties. No file is written for them.
    metadata: Vec<String>,
}

impl Index {
    /// Adds a written image.
    pub fn add(&mut self, written: &ExtractedImage<'_>) {
        self.images.push(nested_json(2, |json| {
            json.field("file", &written.name);
            json.field("size", written.size);
            json.optional("sha256", written.sha256.map(|hash| hexadecimal(&hash)));
            target(json, written.nested.image);
            json.optional("id", written.nested.image.id.as_ref());
            json.object("source", |json| source(json, written.file, written.nested));
        }));
    }

    /// Adds the entries of a file that hold properties only.
    pub fn add_metadata(&mut self, file: &File) {
        self.metadata.extend(file.metadata_entries().map(|entry| {
            let strings = entry.strings.iter().filter(|(key, _)| !["triple", "arch"].contains(&key.as_str()));
            nested_json(2, |json| {
                json.field("path", file.path.as_str());
                target(json, entry);
                json.field("strings", strings.map(|(key, value)| (key, value)).collect::<BTreeMap<_, _>>());
            })
        }));
    }

    /// Returns the document, with a final newline.
    pub fn json(&self) -> String {
        json_document(SCHEMA, |json| {
            json.elements("images", &self.images);
            if !self.metadata.is_empty() {
                json.elements("metadata", &self.metadata);
            }
        })
    }
}

/// Writes the origin of an image.
fn source(json: &mut JsonWriter, file: &File, NestedImage { index, image, containers }: &NestedImage<'_>) {
    json.field("path", file.path.as_str());
    json.field("number", index);
    json.list("containers", containers.iter().map(|it| it.container_type.name()));
    json.optional("section", containers.first().and_then(|it| it.section_name()));
    json.optional("offset", image.offset);
    json.optional("size", image.size);
    let codec = image.codec.or(containers.iter().rev().find_map(|it| it.codec));
    json.optional("codec", codec.map(Codec::name));
    json.optional("address", file.image_uri(image));
    json.optional("container_address", containers.iter().rev().find_map(|it| file.uri(it.offset?, it.size)));
}
