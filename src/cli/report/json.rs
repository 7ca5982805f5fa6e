//! `scan --json`: one document in the schema `fatbin.scan/1`, and what the documents of all commands share. Fields are
//! never removed from a schema.
//!
//! Sizes and offsets are in bytes. A field that is absent is unknown or does not apply.

use std::collections::BTreeMap;
use std::num::NonZero;

use serde_json::Value;

use super::nothing;
use crate::codes;
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::base::code::Coded;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::error::Malformed;
use fatbin_core::base::escape::escaped;
use fatbin_core::base::json::{self, JsonWriter, to_pretty_json};
use fatbin_core::format::UnknownValue;
use fatbin_core::scan::inventory::{self, FileFormat, NotOpened, WrapperKind, WrapperTarget};
use fatbin_core::target::OffloadKind;

/// Name and version of the schema.
const SCHEMA: &str = "fatbin.scan/1";

/// Returns one element of the document's `files` and the name of the schema as a line.
pub fn json_line(scanned: &inventory::File) -> String {
    json::json_line(SCHEMA, |json| file(json, scanned))
}

/// The document, which is written while files are scanned.
#[derive(Debug)]
pub struct ScanDocument {
    json: JsonWriter,
    has_device_code: bool,
}

impl ScanDocument {
    /// Begins the document.
    pub fn new() -> Self {
        let mut json = JsonWriter::new(SCHEMA);
        json.begin_array("files");
        ScanDocument { json, has_device_code: false }
    }

    /// Adds a file.
    pub fn file(&mut self, scanned: &inventory::File) {
        self.has_device_code |= scanned.has_device_code();
        self.json.element_object(|json| file(json, scanned));
    }

    /// Ends the document, with a final newline.
    pub fn end(&mut self) {
        self.json.end();
        if !self.has_device_code {
            self.json.list("looked_for", nothing::looked_for());
        }
        self.json.end();
    }

    /// Returns the text since the last call.
    pub fn take(&mut self) -> String {
        self.json.take()
    }
}

/// Returns the document, with a final newline.
pub fn json(files: &[inventory::File]) -> String {
    let mut document = ScanDocument::new();
    for file in files {
        document.file(file);
    }
    document.end();
    document.take()
}

/// Returns a value for the format of another program, which displays its strings: they are escaped as in a table.
pub fn displayed(mut value: Value) -> Value {
    escape_strings(&mut value);
    value
}

/// Formats such a value for [`JsonWriter::element`] in this number of open objects and arrays.
pub fn displayed_element(value: Value, depth: usize) -> String {
    let text = to_pretty_json(&displayed(value));
    text.trim_end().replace('\n', &format!("\n{}", "  ".repeat(depth)))
}

fn escape_strings(value: &mut Value) {
    match value {
        Value::String(text) => *text = escaped(std::mem::take(text)),
        Value::Array(values) => values.iter_mut().for_each(escape_strings),
        Value::Object(fields) => fields.values_mut().for_each(escape_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

fn file(json: &mut JsonWriter, file: &inventory::File) {
    json.field("path", file.path.as_str());
    json.optional("format", file.format.map(FileFormat::name));
    json.optional("size", file.format.map(|_| file.size));
    json.objects("containers", shown(&file.containers), |json, it| container(json, file, it, None));
    json.objects_if_any("sections", &file.sections, section);
    json.objects_if_any("wrappers", &file.wrappers, wrapper);
    json.objects_if_any("kpack", &file.kpack, kpack_reference);
    // Bytecode that is compiled to images when the file is linked.
    json.optional("offload_bytecode", file.has_gimple.then_some("gimple"));
    // Offsets of the containers that no wrapper points to, if other containers of the same type have a wrapper.
    let unreferenced: Vec<u64> = file.unreferenced().filter_map(|container| container.offset).collect();
    json.optional("unreferenced", (!unreferenced.is_empty()).then_some(unreferenced));
    json.optional("unsearched", NonZero::new(file.unsearched));
    // Format of packed files that were not opened, or another reason.
    json.optional("not_opened", file.not_opened.map(NotOpened::name));
    // Signs of device code in a file without device images.
    json.objects_if_any("signs", &file.signs, |json, sign| {
        json.field("kind", sign.kind.name());
        json.field("name", sign.name);
        json.optional("size", sign.size);
    });
    errors(json, file);
}

/// Accounting of a section for containers; the last three fields add up to its size.
fn section(json: &mut JsonWriter, section: &inventory::Section) {
    json.field("name", &section.name);
    json.field("offset", section.offset);
    json.field("size", section.size);
    json.field("in_containers", section.in_containers);
    json.field("padding", section.padding);
    json.field("unexplained", section.unexplained);
}

/// A structure that registers a container. At most one of the last three fields is present: the offset of a container,
/// the offset of other bytes, or the name of a symbol that another file defines. Without them the structure points to
/// nothing.
fn wrapper(json: &mut JsonWriter, wrapper: &inventory::Wrapper) {
    json.field("kind", wrapper.kind.name());
    json.field("section", &wrapper.section.name);
    json.field("offset", wrapper.offset);
    // Tool that moved the containers to another file.
    json.optional("split_by", (wrapper.kind == WrapperKind::HipSplitByKpack).then_some("rocm-kpack"));
    // Index of the code object in kpack archives.
    json.optional("index", wrapper.index);
    json.optional("container", wrapper.target.container());
    match &wrapper.target {
        WrapperTarget::Bytes(offset) => json.field("bytes", offset),
        WrapperTarget::Symbol(name) => json.field("symbol", name),
        _ => {}
    }
}

/// Device code in kpack archives next to the file.
fn kpack_reference(json: &mut JsonWriter, reference: &inventory::KpackReference) {
    // Offset of the marker.
    json.field("offset", reference.offset);
    json.field("kernel_name", &reference.kernel_name);
    json.field("search_paths", &reference.search_paths);
    json.field("indices", &reference.indices);
    json.objects("archives", &reference.archives, |json, archive| {
        json.field("path", &archive.path);
        json.field("arches", &archive.arches);
        json.objects("code", &archive.code, |json, (index, arch)| {
            json.field("index", index);
            json.field("arch", arch);
        });
    });
}

/// Returns the containers without those that a filter leaves out.
fn shown(containers: &[inventory::Container]) -> impl Iterator<Item = &inventory::Container> {
    containers.iter().filter(|container| !container.is_left_out())
}

/// `codec` is the codec of the compressed container around the container.
fn container(json: &mut JsonWriter, file: &inventory::File, container: &inventory::Container, codec: Option<Codec>) {
    json.field("type", container.container_type.name());
    json.optional("version", container.version);
    json.optional("section", container.section_name());
    json.optional("offset", container.offset);
    json.field("size", container.size);
    let codec = container.codec.or(codec);
    let images = container.images.iter().filter(|image| !image.is_left_out);
    json.objects("images", images, |json, it| image(json, file, it, codec));
}

fn image(json: &mut JsonWriter, file: &inventory::File, image: &inventory::Image, codec: Option<Codec>) {
    target(json, image);
    json.optional("own_arch", image.own_arch.as_ref());
    json.optional("own_triple", image.own_triple.as_ref());
    json.optional("id", image.id.as_ref());
    // Symbol of the host file that covers an embedded image.
    json.optional("symbol", image.symbol.as_ref());
    json.optional("offset", image.offset);
    json.optional("size", image.size);
    // Nothing states the end of the image.
    json.optional("size_is_estimated", image.size_is_estimated.then_some(true));
    // URI of the image as in ROCm's tools.
    json.optional("address", file.image_uri(image));
    json.optional("full_size", image.full_size);
    json.optional("codec", image.codec.or(codec).map(Codec::name));
    json.optional("producer", image.producer.as_ref());
    json.optional("format_version", image.format_version.as_ref());
    json.optional("sha256", image.sha256.map(|hash| hexadecimal(&hash)));
    let own_fields = ["triple", "arch"];
    let is_entry = |key: &str| inventory::ENTRY_KINDS.contains(&key);
    let strings = image.strings.iter().filter(|(key, _)| !own_fields.contains(&key.as_str()) && !is_entry(key));
    let strings: BTreeMap<&String, &String> = strings.map(|(key, value)| (key, value)).collect();
    json.optional("strings", (!strings.is_empty()).then_some(strings));
    // Kernels, functions and variables that the container or the program states.
    json.objects_if_any("entries", image.entries(), |json, (kind, name)| {
        json.field("kind", kind);
        json.field("name", name);
    });
    // Fields of the container whose values are not in its specification.
    json.objects_if_any("unknown", &image.unknown, |json, UnknownValue { field, value }| {
        json.field("field", field);
        json.field("value", value);
    });
    json.objects_if_any("containers", shown(&image.containers), |json, it| container(json, file, it, codec));
}

/// Writes offload kind, format and target of an image, which every document about images contains.
pub fn target(json: &mut JsonWriter, image: &inventory::Image) {
    json.optional("kind", image.kind.map(OffloadKind::name));
    json.field("image", image.image_kind.name());
    json.optional("triple", image.triple.as_ref());
    json.optional("arch", image.arch.as_ref());
}

/// Writes the identification of an image, in documents about images and not about their containers. `index` is the
/// index among the device images of the file, which `fatbin extract` uses in file names.
pub fn identity(json: &mut JsonWriter, index: usize, image: &inventory::Image) {
    json.field("index", index);
    target(json, image);
    json.optional("offset", image.offset);
}

/// Writes the errors of a file.
pub fn errors(json: &mut JsonWriter, file: &inventory::File) {
    json.begin_array("errors");
    if let Some(failure) = codes::failure(file) {
        json.element_object(|json| json.field("message", failure));
    }
    for it in &file.errors {
        json.element_object(|json| error(json, it));
    }
    json.end();
}

/// Writes an error inside a file.
pub fn error(json: &mut JsonWriter, error: &Malformed) {
    json.field("offset", error.offset);
    json.field("code", error.class().code.name());
    json.field("message", format!("{}: {}", error.field, codes::message(&error.cause)));
}
