//! `inspect --json`: one document of schema `fatbin.inspect/1`. Later versions of fatbin only add fields.
//!
//! It has `files`, or with `--matrix` a `matrix`. Numbers are bytes or counts. An absent field is unknown or not
//! applicable. The fields `kind` to `address` of an image are the same as in `fatbin.scan/1`.
//!
//! ```text
//! { "schema": "fatbin.inspect/1",
//!   "files": [ { "path": "a.whl!lib/x.so",
//!     "images": [ { "index": 0, "kind": "hip", "image": "elf", "triple": "amdgcn-amd-amdhsa", "arch": "gfx90a",
//!       "offset": 4242, "address": "file://lib/x.so#offset=4242&size=900",
//!       "not_inspected": "a reason",
//!       "kernels": [ { "name": "_Z1kPi", "demangled": "k(int*)",
//!         "registers": 8, "max_registers": 128,                        NVIDIA
//!         "vgprs": 32, "agprs": 0, "sgprs": 16, "vgpr_spills": 40, "sgpr_spills": 0,   AMD
//!         "scratch": 164, "scratch_is_minimum": true, "shared": 1024, "constant": 536, "parameter_size": 8,
//!         "wave_size": 64, "max_threads": 1024, "required_threads": [64, 2, 1], "min_blocks": 2, "code_size": 256,
//!         "constant_banks": [ { "bank": 0, "size": 536 } ],
//!         "parameters": [ { "name": "out", "offset": 0, "size": 8 } ],
//!         "source": { "file": "/src/k.hip", "line": 12 } } ],
//!       "debug": { "level": "none|lines|full",
//!         "units": [ { "name": "k.hip", "directory": "/src", "producer": "clang version 22.1.8", "dwarf_version": 5 } ] },
//!       "errors": [ { "offset": 77, "message": "..." } ] } ],
//!     "errors": [] } ],
//!   "matrix": { "archs": [ "gfx90a", "sm_90", "sm_90 ptx" ],
//!     "kernels": [ { "name": "_Z1kPi", "demangled": "k(int*)", "archs": [ "sm_90" ], "missing": [ "sm_90 ptx" ] } ],
//!     "not_inspected": [ { "arch": "sm_90 nvvm", "reason": "...", "images": 3 } ] } }
//! ```

use std::collections::BTreeSet;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use crate::analyze::coverage::{Coverage, CoverageCell, CoveredKernel, Gap, UninspectedImages};
use crate::analyze::inspect::{InspectedFile, InspectedImage};
use crate::cli::report::json::{ImageIdentity, JsonError};
use crate::cli::report::json_stream::{JsonStream, nested_json};
use crate::image::{CompileUnit, Figure, Kernel, Parameter};
use crate::scan::inventory;
use crate::scan::inventory::PropertyValue;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.inspect/1";

#[derive(Serialize)]
struct JsonImage<'a> {
    #[serde(flatten)]
    identity: ImageIdentity<'a>,
    /// URI of the image as in ROCm's tools.
    #[serde(skip_serializing_if = "Option::is_none")]
    address: Option<String>,
    /// Reason why the image was not inspected.
    #[serde(skip_serializing_if = "Option::is_none")]
    not_inspected: Option<&'static str>,
    kernels: Vec<JsonKernel<'a>>,
    /// Property sets that the program passes to SYCL's runtime with the image.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    property_sets: Vec<JsonPropertySet<'a>>,
    debug: JsonDebug<'a>,
    errors: Vec<JsonError>,
}

#[derive(Serialize)]
struct JsonPropertySet<'a> {
    name: &'a str,
    properties: Vec<JsonProperty<'a>>,
}

/// A property with a number, or with bytes of a size.
#[derive(Serialize)]
struct JsonProperty<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

#[derive(Serialize)]
struct JsonDebug<'a> {
    level: &'static str,
    units: Vec<JsonUnit<'a>>,
}

#[derive(Serialize)]
struct JsonUnit<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    directory: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    producer: Option<&'a str>,
    dwarf_version: u16,
}

/// A kernel: names, figures and values that are not a single number.
struct JsonKernel<'a>(&'a Kernel);

#[derive(Serialize)]
struct JsonBank {
    bank: u32,
    size: u64,
}

#[derive(Serialize)]
struct JsonParameter<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    offset: u64,
    size: u64,
}

#[derive(Serialize)]
struct JsonSource<'a> {
    file: &'a str,
    line: u64,
}

#[derive(Serialize)]
struct JsonKernelRow<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<&'a str>,
    archs: &'a BTreeSet<String>,
    missing: Vec<&'a str>,
    devices: Vec<JsonCell<'a>>,
}

/// A kernel on a device of the matrix.
#[derive(Serialize)]
struct JsonCell<'a> {
    device: &'a str,
    state: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonGap<'a> {
    path: &'a str,
    kernel: &'a str,
    device: &'a str,
    /// Number of the image that the runtime selects.
    selected: usize,
    /// Number of an image that has the kernel.
    holder: usize,
}

#[derive(Serialize)]
struct JsonUninspected<'a> {
    arch: &'a str,
    reason: &'static str,
    images: usize,
}

/// A document of files and their images, which is written while they are read.
#[derive(Debug)]
pub struct InspectionDocument(JsonStream);

/// Number of objects and arrays around an image in the document.
const IMAGE_DEPTH: usize = 4;

impl InspectionDocument {
    /// Begins the document.
    pub fn new() -> Self {
        let mut stream = JsonStream::new();
        stream.field("schema", &SCHEMA);
        stream.begin_array("files");
        InspectionDocument(stream)
    }

    /// Begins a file.
    pub fn begin_file(&mut self, file: &inventory::File) {
        self.0.begin_object();
        self.0.field("path", &file.path);
        self.0.begin_array("images");
    }

    /// Adds an image to the file, as formatted by [`image_json`].
    pub fn image(&mut self, text: &str) {
        self.0.element(text);
    }

    /// Ends a file.
    pub fn end_file(&mut self, file: &inventory::File) {
        self.0.end();
        self.0.field("errors", &JsonError::of_file(file));
        self.0.end();
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

/// Formats an image of a file for an [`InspectionDocument`].
pub fn image_json(file: &inventory::File, image: &InspectedImage<'_>) -> String {
    nested_json(&JsonImage::new(file, image), IMAGE_DEPTH)
}

/// Returns the document of the files, with a final newline.
pub fn inspection_json(files: &[InspectedFile<'_>]) -> String {
    let mut document = InspectionDocument::new();
    for inspected in files {
        document.begin_file(inspected.file);
        for image in &inspected.images {
            document.image(&image_json(inspected.file, image));
        }
        document.end_file(inspected.file);
    }
    document.end();
    document.take()
}

/// Writes the document with kernels by device, row by row.
pub fn coverage_json(coverage: &Coverage<'_>, files: &[InspectedFile<'_>], write: &mut dyn FnMut(&str)) {
    let mut stream = JsonStream::new();
    stream.field("schema", &SCHEMA);
    stream.begin_field("matrix");
    let archs: BTreeSet<&str> = coverage.kernels.iter().flat_map(|kernel| &kernel.archs).map(String::as_str).collect();
    stream.field("archs", &archs);
    stream.field("devices", &coverage.devices);
    stream.begin_array("kernels");
    for kernel in &coverage.kernels {
        stream.value(&JsonKernelRow::new(coverage, kernel));
        write(&stream.take());
    }
    stream.end();
    stream.begin_array("gaps");
    for gap in coverage.gaps() {
        stream.value(&JsonGap::new(&gap, files));
        write(&stream.take());
    }
    stream.end();
    if !coverage.not_inspected.is_empty() {
        let uninspected = coverage.not_inspected.iter().map(|(left, images)| JsonUninspected::new(left, *images));
        stream.field("not_inspected", &uninspected.collect::<Vec<_>>());
    }
    stream.end();
    stream.end();
    write(&stream.take());
}

impl<'a> JsonPropertySet<'a> {
    fn new(set: &'a inventory::PropertySet) -> Self {
        let property = |property: &'a inventory::Property| JsonProperty {
            name: &property.name,
            value: if let PropertyValue::Number(value) = property.value { Some(value) } else { None },
            size: if let PropertyValue::Bytes(size) = property.value { Some(size) } else { None },
        };
        JsonPropertySet { name: &set.name, properties: set.properties.iter().map(property).collect() }
    }
}

impl<'a> JsonImage<'a> {
    fn new(file: &inventory::File, inspected: &'a InspectedImage<'a>) -> Self {
        let InspectedImage { number, image, inspection } = inspected;
        JsonImage {
            identity: ImageIdentity::new(*number, image),
            address: file.image_uri(image),
            not_inspected: inspection.not_inspected,
            kernels: inspection.kernels.iter().map(JsonKernel).collect(),
            property_sets: image.property_sets.iter().map(JsonPropertySet::new).collect(),
            debug: JsonDebug {
                level: inspection.debug.level.name(),
                units: inspection.debug.units.iter().map(JsonUnit::new).collect(),
            },
            errors: inspection.problems.iter().map(JsonError::new).collect(),
        }
    }
}

impl<'a> JsonUnit<'a> {
    fn new(unit: &'a CompileUnit) -> Self {
        JsonUnit {
            name: unit.name.as_deref(),
            directory: unit.directory.as_deref(),
            producer: unit.producer.as_deref(),
            dwarf_version: unit.version,
        }
    }
}

impl Serialize for JsonKernel<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let kernel = self.0;
        let mut map = serializer.serialize_map(None)?;
        map.serialize_entry("name", &kernel.name)?;
        if let Some(demangled) = &kernel.demangled {
            map.serialize_entry("demangled", demangled)?;
        }
        for figure in Figure::ALL.iter().copied() {
            if let Some(value) = figure.value(kernel) {
                map.serialize_entry(figure.key(), &value)?;
            }
        }
        if kernel.scratch_is_minimum {
            map.serialize_entry("scratch_is_minimum", &true)?;
        }
        if let Some(threads) = &kernel.required_threads {
            map.serialize_entry("required_threads", threads)?;
        }
        if !kernel.constant_banks.is_empty() {
            let banks = kernel.constant_banks.iter().map(|bank| JsonBank { bank: bank.bank, size: bank.size });
            map.serialize_entry("constant_banks", &banks.collect::<Vec<_>>())?;
        }
        if !kernel.parameters.is_empty() {
            let parameters = kernel.parameters.iter().map(JsonParameter::new);
            map.serialize_entry("parameters", &parameters.collect::<Vec<_>>())?;
        }
        if let Some(source) = &kernel.source {
            map.serialize_entry("source", &JsonSource { file: &source.file, line: source.line })?;
        }
        map.end()
    }
}

impl<'a> JsonParameter<'a> {
    fn new(parameter: &'a Parameter) -> Self {
        JsonParameter { name: parameter.name.as_deref(), offset: parameter.offset, size: parameter.size }
    }
}

impl<'a> JsonKernelRow<'a> {
    fn new(coverage: &'a Coverage<'_>, kernel: &'a CoveredKernel<'_>) -> Self {
        let cells = coverage.devices.iter().zip(coverage.cells(kernel));
        let has_gap = |(_, cell): &(&String, CoverageCell<'_>)| *cell == CoverageCell::Gap;
        JsonKernelRow {
            name: kernel.name,
            demangled: kernel.demangled,
            archs: &kernel.archs,
            missing: cells.clone().filter(has_gap).map(|(device, _)| device.as_str()).collect(),
            devices: cells.map(|(device, cell)| JsonCell::new(device, cell)).collect(),
        }
    }
}

impl<'a> JsonGap<'a> {
    fn new(gap: &'a Gap<'_>, files: &'a [InspectedFile<'_>]) -> Self {
        JsonGap {
            path: files.get(gap.file).map_or("", |inspected| inspected.file.path.as_str()),
            kernel: gap.kernel,
            device: &gap.device,
            selected: gap.selected,
            holder: gap.holder,
        }
    }
}

impl<'a> JsonUninspected<'a> {
    fn new(left: &'a UninspectedImages, images: usize) -> Self {
        JsonUninspected { arch: &left.arch, reason: left.reason, images }
    }
}

impl<'a> JsonCell<'a> {
    fn new(device: &'a str, cell: CoverageCell<'a>) -> Self {
        let arch = if let CoverageCell::Runs { arch, .. } = cell { arch } else { None };
        JsonCell { device, state: cell.name(), arch }
    }
}
