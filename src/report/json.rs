//! `scan --json`: one document with a stated schema, `fatbin.scan/1`, to which fields are only ever added.
//!
//! Numbers are bytes. A field that is absent is unknown or does not apply.

use serde::Serialize;

use crate::error::Malformed;
use crate::inventory;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.scan/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    files: Vec<File<'a>>,
}

#[derive(Serialize)]
struct File<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    containers: Vec<Container<'a>>,
    errors: Vec<Problem>,
}

#[derive(Serialize)]
struct Container<'a> {
    #[serde(rename = "type")]
    container_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<&'a str>,
    offset: u64,
    size: u64,
    images: Vec<Image<'a>>,
}

#[derive(Serialize)]
struct Image<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    image: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    triple: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    offset: u64,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codec: Option<&'static str>,
}

#[derive(Serialize)]
struct Problem {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    message: String,
}

/// The document, with a final newline.
pub fn json(files: &[inventory::File]) -> String {
    let document = Document { schema: SCHEMA, files: files.iter().map(File::new).collect() };
    let text = serde_json::to_string_pretty(&document).expect("strings and numbers always serialise");
    text + "\n"
}

impl<'a> File<'a> {
    fn new(file: &'a inventory::File) -> Self {
        let failure = file.failure.iter().map(|failure| Problem { offset: None, message: failure.clone() });
        File {
            path: &file.path,
            format: file.format.map(|format| format.name()),
            size: file.format.map(|_| file.size),
            containers: file.containers.iter().map(Container::new).collect(),
            errors: failure.chain(file.errors.iter().map(Problem::new)).collect(),
        }
    }
}

impl<'a> Container<'a> {
    fn new(container: &'a inventory::Container) -> Self {
        Container {
            container_type: container.container_type.name(),
            version: container.version,
            section: container.section.as_deref(),
            offset: container.offset,
            size: container.size,
            images: container.images.iter().map(Image::new).collect(),
        }
    }
}

impl<'a> Image<'a> {
    fn new(image: &'a inventory::Image) -> Self {
        Image {
            kind: image.kind.map(|kind| kind.name()),
            image: image.image_kind.name(),
            triple: image.triple.as_deref(),
            arch: image.arch.as_deref(),
            id: image.id.as_deref(),
            offset: image.offset,
            size: image.size,
            full_size: image.full_size,
            codec: image.codec.map(|codec| codec.name()),
        }
    }
}

impl Problem {
    fn new(error: &Malformed) -> Self {
        Problem { offset: Some(error.offset), message: format!("{}: {}", error.field, error.cause) }
    }
}
