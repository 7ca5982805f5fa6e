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
//!         "language": "3.1",                                           Metal
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

use crate::report::json::{error, errors, identity};
use crate::report::write_not_judged;
use fatbin_core::base::json::{JsonWriter, nested_json};
use fatbin_core::image::{CompileUnit, Figure, Kernel, Stub};
use fatbin_core::scan::inventory::{self, PropertyValue};
use fatbin_ops::analyze::coverage::{Coverage, CoverageCell, CoveredKernel};
use fatbin_ops::analyze::inspect::InspectedImage;
use fatbin_ops::analyze::vendored::VendoredLibrary;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.inspect/1";

/// A document of files and their images, which is written while they are read.
#[derive(Debug)]
pub struct InspectionDocument(JsonWriter);

/// Number of objects and arrays around an image in the document.
const IMAGE_DEPTH: usize = 4;

impl InspectionDocument {
    /// Begins the document.
    #[expect(clippy::new_without_default, reason = "an empty document is begun")]
    pub fn new() -> Self {
        let mut json = JsonWriter::new(SCHEMA);
        json.begin_array("files");
        InspectionDocument(json)
    }

    /// Begins a file.
    pub fn begin_file(&mut self, file: &inventory::File) {
        self.0.begin_object();
        self.0.field("path", file.path.as_str());
        self.0.begin_array("images");
    }

    /// Adds an image to the file, as formatted by [`image_json`].
    pub fn image(&mut self, text: &str) {
        self.0.element(text);
    }

    /// Ends a file.
    pub fn end_file(&mut self, file: &inventory::File) {
        self.0.end();
        errors(&mut self.0, file);
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
    nested_json(IMAGE_DEPTH, |json| inspected_image(json, file, image))
}

/// Writes the document with kernels by device, row by row.
pub fn coverage_json<'v>(
    coverage: &Coverage<'_>,
    files: &[&inventory::File],
    not_judged: impl Iterator<Item = &'v VendoredLibrary>,
    write: &mut dyn FnMut(&str),
) {
    let mut json = JsonWriter::new(SCHEMA);
    json.begin_field("matrix");
    let archs: BTreeSet<&String> = coverage.kernels.iter().flat_map(|kernel| &*kernel.archs).collect();
    json.field("archs", archs);
    json.field("devices", &coverage.devices);
    json.begin_array("kernels");
    for kernel in &coverage.kernels {
        json.element_object(|json| covered_kernel(json, coverage, kernel));
        write(&json.take());
    }
    json.end();
    json.begin_array("gaps");
    for gap in coverage.gaps() {
        json.element_object(|json| {
            json.field("path", files.get(gap.file).map_or("", |file| &file.path));
            json.field("kernel", gap.kernel);
            json.field("device", &gap.device);
            // Number of the image that the runtime selects.
            json.field("selected", gap.selected);
            // What that image has instead.
            json.field("absence", gap.absence.name());
            // Number of an image that has the kernel.
            json.field("holder", gap.holder);
        });
        write(&json.take());
    }
    json.end();
    json.objects_if_any("not_inspected", &coverage.not_inspected, |json, (left, images)| {
        json.field("arch", &left.arch);
        json.field("reason", left.reason);
        json.field("images", images);
    });
    write_not_judged(&mut json, not_judged);
    json.end();
    json.end();
    write(&json.take());
}

fn covered_kernel(json: &mut JsonWriter, coverage: &Coverage<'_>, kernel: &CoveredKernel<'_>) {
    json.field("name", kernel.name);
    json.optional("demangled", coverage.names.demangle(kernel.name));
    json.field("archs", &*kernel.archs);
    let cells = coverage.devices.iter().zip(coverage.cells(kernel));
    let gaps = cells.clone().filter(|(_, cell)| cell.is_gap());
    json.list("missing", gaps.map(|(device, _)| device));
    json.objects("devices", cells, |json, (device, cell)| {
        json.field("device", device);
        json.field("state", cell.name());
        match cell {
            CoverageCell::Runs { arch, .. } => json.optional("arch", arch),
            CoverageCell::Gap(absence) => json.field("absence", absence.name()),
            _ => {}
        }
    });
}

fn inspected_image(json: &mut JsonWriter, file: &inventory::File, inspected: &InspectedImage<'_>) {
    let InspectedImage { number, image, inspection } = inspected;
    identity(json, *number, image);
    // URI of the image as in ROCm's tools.
    json.optional("address", file.image_uri(image));
    // Architecture of the PTX that a cubin was compiled from.
    json.optional("virtual_arch", image.cuda.virtual_arch.map(|arch| format!("compute_{arch}")));
    // Reason why the image was not inspected.
    json.optional("not_inspected", inspection.not_inspected);
    json.objects("kernels", &inspection.kernels, kernel);
    // Property sets that the program passes to SYCL's runtime with the image.
    json.objects_if_any("property_sets", &image.property_sets, |json, set| {
        json.field("name", &set.name);
        json.objects("properties", &set.properties, |json, property| {
            json.field("name", &property.name);
            match property.value {
                PropertyValue::Number(value) => json.field("value", value),
                PropertyValue::Bytes(size) => json.field("size", size),
            }
        });
    });
    json.object("debug", |json| {
        json.field("level", inspection.debug.level.name());
        json.objects("units", &inspection.debug.units, unit);
    });
    json.objects("errors", &inspection.problems, error);
}

fn unit(json: &mut JsonWriter, unit: &CompileUnit) {
    json.optional("name", unit.name.as_ref());
    json.optional("directory", unit.directory.as_ref());
    json.optional("producer", unit.producer.as_ref());
    json.optional("split_file", unit.split_file.as_ref());
    json.field("dwarf_version", unit.version);
}

/// Writes names, figures and values that are not a single number.
fn kernel(json: &mut JsonWriter, kernel: &Kernel) {
    json.field("name", &kernel.name);
    json.optional("demangled", kernel.demangled.as_ref());
    for figure in Figure::ALL.iter().copied() {
        json.optional(figure.key(), figure.value(kernel));
    }
    json.optional("scratch_is_minimum", kernel.scratch_is_minimum.then_some(true));
    json.optional("stub", kernel.stub.map(Stub::name));
    json.optional("language", kernel.language.map(|(major, minor)| format!("{major}.{minor}")));
    json.optional("required_threads", kernel.required_threads.as_ref());
    json.objects_if_any("constant_banks", &kernel.constant_banks, |json, bank| {
        json.field("bank", bank.bank);
        json.field("size", bank.size);
    });
    json.objects_if_any("parameters", &kernel.parameters, |json, parameter| {
        json.optional("name", parameter.name.as_ref());
        json.field("offset", parameter.offset);
        json.field("size", parameter.size);
    });
    if let Some(source) = &kernel.source {
        json.object("source", |json| {
            json.field("file", &source.file);
            json.field("line", source.line);
        });
    }
}
