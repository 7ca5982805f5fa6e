//! `scan --json`: one document in the schema `fatbin.scan/1`. Fields are never removed from a schema.
//!
//! Sizes and offsets are in bytes. A field that is absent is unknown or does not apply.

use std::borrow::Cow;
use std::collections::BTreeMap;

use serde::Serialize;
use serde_json::Value;
use serde_json::ser::{PrettyFormatter, Serializer};

use super::json_stream::{JsonStream, nested_json};
use crate::base::bytes::hexadecimal;
use crate::base::code::Coded;
use crate::base::codec::Codec;
use crate::base::error::Malformed;
use crate::base::escape::{escape, escape_json};
use crate::cli::codes;
use crate::format;
use crate::scan::inventory;
use crate::scan::inventory::{FileFormat, NotOpened, WrapperKind, WrapperTarget};
use crate::target::OffloadKind;

/// Name and version of the schema.
const SCHEMA: &str = "fatbin.scan/1";

/// A line of `--ndjson`.
#[derive(Serialize)]
struct JsonLine<'a> {
    schema: &'static str,
    #[serde(flatten)]
    file: JsonFile<'a>,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    format: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    containers: Vec<JsonContainer<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    sections: Vec<JsonSection<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    wrappers: Vec<JsonWrapper<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    kpack: Vec<JsonKpackReference<'a>>,
    /// Bytecode that is compiled to images when the file is linked.
    #[serde(skip_serializing_if = "Option::is_none")]
    offload_bytecode: Option<&'static str>,
    /// Offsets of the containers that no wrapper points to, if other containers of the same type have a wrapper.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unreferenced: Vec<u64>,
    #[serde(skip_serializing_if = "is_zero")]
    unsearched: u64,
    /// Format of packed files that were not opened, or another reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_opened: Option<&'static str>,
    errors: Vec<JsonError>,
}

/// Accounting of a section for containers; the last three fields add up to its size.
#[derive(Serialize)]
struct JsonSection<'a> {
    name: &'a str,
    offset: u64,
    size: u64,
    in_containers: u64,
    padding: u64,
    unexplained: u64,
}

/// A structure that registers a container. At most one of the last three fields is present: the offset of a container,
/// the offset of other bytes, or the name of a symbol that another file defines. Without them the structure points to
/// nothing.
#[derive(Serialize)]
struct JsonWrapper<'a> {
    kind: &'static str,
    section: &'a str,
    offset: u64,
    /// Tool that moved the containers to another file.
    #[serde(skip_serializing_if = "Option::is_none")]
    split_by: Option<&'static str>,
    /// Index of the code object in kpack archives.
    #[serde(skip_serializing_if = "Option::is_none")]
    index: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    container: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    bytes: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'a str>,
}

/// Device code in kpack archives next to the file.
#[derive(Serialize)]
struct JsonKpackReference<'a> {
    /// Offset of the marker.
    offset: u64,
    kernel_name: &'a str,
    search_paths: &'a [String],
    indices: &'a [u32],
    archives: Vec<JsonFoundArchive<'a>>,
}

#[derive(Serialize)]
struct JsonFoundArchive<'a> {
    path: &'a str,
    arches: &'a [String],
    code: Vec<JsonArchivedCode<'a>>,
}

#[derive(Serialize)]
struct JsonArchivedCode<'a> {
    index: u32,
    arch: &'a str,
}

/// Returns whether a field is left out.
pub fn is_zero(count: &u64) -> bool {
    *count == 0
}

pub fn is_false(value: &bool) -> bool {
    !value
}

#[derive(Serialize)]
struct JsonContainer<'a> {
    #[serde(rename = "type")]
    container_type: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    version: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    size: u64,
    images: Vec<JsonImage<'a>>,
}

#[derive(Serialize)]
struct JsonImage<'a> {
    #[serde(flatten)]
    target: ImageTarget<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    own_arch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    id: Option<&'a str>,
    /// Symbol of the host file that covers an embedded image.
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    /// True where nothing states the end of the image.
    #[serde(skip_serializing_if = "is_false")]
    size_is_estimated: bool,
    /// URI of the image as in ROCm's tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    full_size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    codec: Option<&'static str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    producer: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    format_version: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    sha256: Option<String>,
    /// Keys and values of the container, without triple and arch.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    strings: BTreeMap<&'a str, &'a str>,
    /// Kernels, functions and variables that the container or the program states.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    entries: Vec<JsonEntry<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    unknown: Vec<JsonUnknown>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    containers: Vec<JsonContainer<'a>>,
}

/// A kernel, function or variable.
#[derive(Serialize)]
struct JsonEntry<'a> {
    kind: &'a str,
    name: &'a str,
}

/// A field of the container whose value is not in its specification.
#[derive(Serialize)]
struct JsonUnknown {
    field: &'static str,
    value: u64,
}

/// Offload kind, format and target of an image, which every document about images contains.
#[derive(Debug, Serialize)]
pub struct ImageTarget<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'static str>,
    image: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    triple: Option<Cow<'a, str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<Cow<'a, str>>,
}

/// Identification of an image, in documents about images and not about their containers.
#[derive(Serialize)]
pub struct ImageIdentity<'a> {
    /// Index among the device images of its file, which `fatbin extract` uses in file names.
    index: usize,
    #[serde(flatten)]
    target: ImageTarget<'a>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
}

/// An error in a file.
#[derive(Serialize)]
pub struct JsonError {
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<&'static str>,
    message: String,
}

/// Returns one element of the document's `files` and the name of the schema as a line.
pub fn json_line(file: &inventory::File) -> String {
    to_json_line(&JsonLine { schema: SCHEMA, file: JsonFile::new(file) }) + "\n"
}

/// The document, which is written while files are scanned.
#[derive(Debug)]
pub struct ScanDocument(JsonStream);

impl ScanDocument {
    /// Begins the document.
    pub fn new() -> Self {
        let mut stream = JsonStream::new();
        stream.field("schema", &SCHEMA);
        stream.begin_array("files");
        ScanDocument(stream)
    }

    /// Adds a file.
    pub fn file(&mut self, file: &inventory::File) {
        self.0.element(&nested_json(&JsonFile::new(file), 2));
    }

    /// Ends the document, with a final newline.
    pub fn end(&mut self) {
        self.0.end();
        self.0.end();
    }

    /// Returns the text since the last call.
    pub fn take(&mut self) -> String {
        self.0.take()
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

/// Formats a document with indentation and a final newline. Strings are exact: characters that a terminal would obey,
/// or not display, are escaped in JSON's own syntax.
pub fn to_pretty_json(document: &impl Serialize) -> String {
    to_indented_json(document, "  ")
}

/// Formats a document like [`to_pretty_json`], with this indentation.
pub fn to_indented_json(document: &impl Serialize, indentation: &str) -> String {
    let mut bytes = Vec::new();
    let formatter = PrettyFormatter::with_indent(indentation.as_bytes());
    let written = document.serialize(&mut Serializer::with_formatter(&mut bytes, formatter));
    written.expect("strings and numbers serialize");
    escape_json(&String::from_utf8_lossy(&bytes)).into_owned() + "\n"
}

/// Formats a document like [`to_pretty_json`], but as one line, without a newline.
pub fn to_json_line(document: &impl Serialize) -> String {
    escape_json(&serde_json::to_string(document).expect("strings and numbers serialize")).into_owned()
}

/// Formats a document in the format of another program, which displays its strings: they are escaped as in a table.
pub fn to_displayed_json(mut document: Value) -> String {
    escape_strings(&mut document);
    to_pretty_json(&document)
}

fn escape_strings(value: &mut Value) {
    match value {
        Value::String(text) => *text = escape(text).into_owned(),
        Value::Array(values) => values.iter_mut().for_each(escape_strings),
        Value::Object(fields) => fields.values_mut().for_each(escape_strings),
        Value::Null | Value::Bool(_) | Value::Number(_) => {}
    }
}

impl<'a> JsonFile<'a> {
    fn new(file: &'a inventory::File) -> Self {
        JsonFile {
            path: &file.path,
            format: file.format.map(FileFormat::name),
            size: file.format.map(|_| file.size),
            containers: file.containers.iter().map(|it| JsonContainer::new(file, it, None)).collect(),
            sections: file.sections.iter().map(JsonSection::new).collect(),
            wrappers: file.wrappers.iter().map(JsonWrapper::new).collect(),
            offload_bytecode: file.has_gimple.then_some("gimple"),
            kpack: file.kpack.iter().map(JsonKpackReference::new).collect(),
            unreferenced: file.unreferenced().filter_map(|container| container.offset).collect(),
            unsearched: file.unsearched,
            not_opened: file.not_opened.map(NotOpened::name),
            errors: JsonError::of_file(file),
        }
    }
}

impl<'a> JsonSection<'a> {
    fn new(section: &'a inventory::Section) -> Self {
        let &inventory::Section { ref name, offset, size, in_containers, padding, unexplained } = section;
        JsonSection { name, offset, size, in_containers, padding, unexplained }
    }
}

impl<'a> JsonWrapper<'a> {
    fn new(wrapper: &'a inventory::Wrapper) -> Self {
        let &inventory::Wrapper { kind, ref section, offset, ref target, index, .. } = wrapper;
        let bytes = if let WrapperTarget::Bytes(offset) = target { Some(*offset) } else { None };
        let symbol = if let WrapperTarget::Symbol(name) = target { Some(name.as_str()) } else { None };
        let split_by = (kind == WrapperKind::HipSplitByKpack).then_some("rocm-kpack");
        let container = target.container();
        let (kind, section) = (kind.name(), section.name.as_str());
        JsonWrapper { kind, section, offset, split_by, index, container, bytes, symbol }
    }
}

impl<'a> JsonKpackReference<'a> {
    fn new(reference: &'a inventory::KpackReference) -> Self {
        let inventory::KpackReference { offset, kernel_name, search_paths, indices, archives } = reference;
        let code = |(index, arch): &'a (u32, String)| JsonArchivedCode { index: *index, arch };
        let archive = |archive: &'a inventory::FoundArchive| JsonFoundArchive {
            path: &archive.path,
            arches: &archive.arches,
            code: archive.code.iter().map(code).collect(),
        };
        let archives = archives.iter().map(archive).collect();
        JsonKpackReference { offset: *offset, kernel_name, search_paths, indices, archives }
    }
}

impl<'a> JsonContainer<'a> {
    /// Creates the mirror of a container. `codec` is the codec of the compressed container around it.
    fn new(file: &inventory::File, container: &'a inventory::Container, codec: Option<Codec>) -> Self {
        let codec = container.codec.or(codec);
        JsonContainer {
            container_type: container.container_type.name(),
            version: container.version,
            section: container.section_name(),
            offset: container.offset,
            size: container.size,
            images: container.images.iter().map(|image| JsonImage::new(file, image, codec)).collect(),
        }
    }
}

impl<'a> JsonImage<'a> {
    fn new(file: &inventory::File, image: &'a inventory::Image, codec: Option<Codec>) -> Self {
        let own_fields = ["triple", "arch"];
        let is_entry = |key: &str| inventory::ENTRY_KINDS.contains(&key);
        let strings = image.strings.iter();
        let strings = strings.filter(|(key, _)| !own_fields.contains(&key.as_str()) && !is_entry(key));
        JsonImage {
            target: ImageTarget::new(image),
            own_arch: image.own_arch.as_deref(),
            id: image.id.as_deref(),
            symbol: image.symbol.as_deref(),
            offset: image.offset,
            size: image.size,
            size_is_estimated: image.size_is_estimated,
            address: file.image_uri(image),
            full_size: image.full_size,
            codec: image.codec.or(codec).map(Codec::name),
            producer: image.producer.as_deref(),
            format_version: image.format_version.as_deref(),
            sha256: image.sha256.map(|hash| hexadecimal(&hash)),
            strings: strings.map(|(key, value)| (key.as_str(), value.as_str())).collect(),
            entries: image.entries().map(|(kind, name)| JsonEntry { kind, name }).collect(),
            unknown: image
                .unknown
                .iter()
                .map(|&format::UnknownValue { field, value }| JsonUnknown { field, value })
                .collect(),
            containers: image.containers.iter().map(|it| JsonContainer::new(file, it, codec)).collect(),
        }
    }
}

impl<'a> ImageTarget<'a> {
    /// Creates the mirror of an image's target.
    pub fn new(image: &'a inventory::Image) -> Self {
        ImageTarget {
            kind: image.kind.map(OffloadKind::name),
            image: image.image_kind.name(),
            triple: image.triple.as_deref().map(Cow::Borrowed),
            arch: image.arch.as_deref().map(Cow::Borrowed),
        }
    }

    /// Copies the texts, for documents that outlive the inventory.
    pub fn into_owned(self) -> ImageTarget<'static> {
        let owned = |text: Cow<'_, str>| Cow::Owned(text.into_owned());
        ImageTarget { kind: self.kind, image: self.image, triple: self.triple.map(owned), arch: self.arch.map(owned) }
    }
}

impl<'a> ImageIdentity<'a> {
    /// Creates the identification of an image with its index.
    pub fn new(index: usize, image: &'a inventory::Image) -> Self {
        ImageIdentity { index, target: ImageTarget::new(image), offset: image.offset }
    }
}

impl JsonError {
    /// Returns the errors of a file.
    pub fn of_file(file: &inventory::File) -> Vec<JsonError> {
        let failure = codes::failure(file).map(|message| JsonError { offset: None, code: None, message });
        failure.into_iter().chain(file.errors.iter().map(JsonError::new)).collect()
    }

    /// Creates the mirror of an error inside a file.
    pub fn new(error: &Malformed) -> Self {
        let code = Some(error.class().code.name());
        let message = format!("{}: {}", error.field, codes::message(&error.cause));
        JsonError { offset: Some(error.offset), code, message }
    }
}
