//! `extract --index`: the files that images were written to, in the schema `fatbin.extract/1`. Fields are never removed
//! from a schema.
//!
//! Sizes are in bytes. A field that is absent is unknown or does not apply. `schemas/fatbin.extract-1.schema.json`
//! documents the fields.

use std::collections::BTreeMap;

use serde::Serialize;

use super::json::{ImageTarget, to_pretty_json};
use crate::base::bytes::hexadecimal;
use crate::base::codec::Codec;
use crate::scan::inventory::{File, NestedImage};

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
#[derive(Debug, Serialize)]
pub struct Index {
    schema: &'static str,
    images: Vec<IndexEntry>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    metadata: Vec<IndexMetadata>,
}

/// An entry that holds only properties. No file is written for it.
#[derive(Debug, Serialize)]
struct IndexMetadata {
    path: String,
    #[serde(flatten)]
    target: ImageTarget<'static>,
    strings: BTreeMap<String, String>,
}

#[derive(Debug, Serialize)]
struct IndexEntry {
    file: String,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    #[serde(flatten)]
    target: ImageTarget<'static>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<String>,
    source: IndexSource,
}

/// Origin of an image.
#[derive(Debug, Serialize)]
struct IndexSource {
    path: String,
    number: usize,
    containers: Vec<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codec: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container_address: Option<String>,
}

impl Default for Index {
    fn default() -> Self {
        Index { schema: SCHEMA, images: Vec::new(), metadata: Vec::new() }
    }
}

impl Index {
    /// Adds a written image.
    pub fn add(&mut self, written: ExtractedImage<'_>) {
        let (file, image, containers) = (written.file, written.nested.image, &written.nested.containers);
        let source = IndexSource {
            path: file.path.clone(),
            number: written.nested.index,
            containers: containers.iter().map(|it| it.container_type.name()).collect(),
            section: containers.first().and_then(|it| it.section_name()).map(str::to_owned),
            offset: image.offset,
            size: image.size,
            codec: image.codec.or(containers.iter().rev().find_map(|it| it.codec)).map(Codec::name),
            address: file.image_uri(image),
            container_address: containers.iter().rev().find_map(|it| file.uri(it.offset?, it.size)),
        };
        self.images.push(IndexEntry {
            file: written.name,
            size: written.size,
            sha256: written.sha256.map(|hash| hexadecimal(&hash)),
            target: ImageTarget::new(image).into_owned(),
            id: image.id.clone(),
            source,
        });
    }

    /// Adds the entries of a file that hold properties only.
    pub fn add_metadata(&mut self, file: &File) {
        self.metadata.extend(file.metadata_entries().map(|entry| {
            let strings = entry.strings.iter().filter(|(key, _)| !["triple", "arch"].contains(&key.as_str()));
            let target = ImageTarget::new(entry).into_owned();
            IndexMetadata { path: file.path.clone(), target, strings: strings.cloned().collect() }
        }));
    }

    /// Returns the document, with a final newline.
    pub fn json(&self) -> String {
        to_pretty_json(self)
    }
}
