//! `requires --json`: one document of schema `fatbin.requires/1`. Later versions of fatbin only add fields.
//!
//! A floor that is known has `known: true` and `at_least`, the oldest release that works; without `at_least`, no
//! requirement is known. Where later releases do not load what earlier ones do, `loaded_by` has the measured releases that
//! load it, and `known` is false. Driver versions are for Linux on x86-64, or for Windows in files for Windows.
//!
//! ```text
//! { "schema": "fatbin.requires/1",
//!   "files": [ { "path": "a.whl!lib/x.so", "images": 3, "selected_by_program": 1,
//!     "all": [ { "product": "cuda", "floor": { "known": true,
//!       "at_least": { "release": "12.4", "driver": "550.54.14" },
//!       "causes": [ { "property": "codec", "reason": "compressed with zstd", "source": "nvcc manual, --compress-mode",
//!         "images": [ 0, 2 ], "count": 2 } ] } } ],
//!     "by_program": [],
//!     "devices": [ { "device": "sm_90", "runs": true,
//!       "needs": [ { "product": "cuda", "preferred": { "known": true, "causes": [] },
//!         "some": { "known": false, "newer_than": { "release": "13.5" }, "causes": [] } } ] } ],
//!     "alternatives": [ { "images": [ 0, 1 ] } ],
//!     "host_libraries": [ { "name": "libcudart.so.12", "product": "cuda", "major": 12, "loaded_by_name": false } ],
//!     "errors": [] } ] }
//! ```

use std::num::NonZero;

use super::RequiredFile;
use crate::report::json::errors;
use fatbin_core::base::json::{JsonWriter, nested_json};
use fatbin_core::format::readers::Product;
use fatbin_core::scan::inventory::File;
use fatbin_ops::analyze::requires::{Limit, Release};
use fatbin_ops::analyze::select::{DeviceNeed, FloorCause, Need};

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.requires/1";

/// Maximum number of images that are listed for a property.
const MAX_IMAGES: usize = 100;

/// Number of objects and arrays around a file in the document.
const FILE_DEPTH: usize = 2;

/// Begins the document: an array of the texts of [`required_json`] and [`unread_json`], the unread files last.
pub fn requires_document() -> JsonWriter {
    let mut json = JsonWriter::new(SCHEMA);
    json.begin_array("files");
    json
}

/// Formats a file.
pub fn required_json(required: &RequiredFile<'_>) -> String {
    nested_json(FILE_DEPTH, |json| file(json, required))
}

/// Formats a file that could not be read.
pub fn unread_json(file: &File) -> String {
    nested_json(FILE_DEPTH, |json| unread_file(json, file))
}

fn file(json: &mut JsonWriter, required: &RequiredFile<'_>) {
    let floors = &required.floors;
    let product_need = |json: &mut JsonWriter, (product, need): (Product, Need)| {
        json.field("product", name(product));
        json.object("floor", |json| floor(json, &need));
    };
    json.field("path", floors.file.path.as_str());
    // Images that drivers and runtimes load.
    json.field("images", floors.loaded());
    json.field("selected_by_program", floors.selected_by_program());
    json.objects("all", floors.all(), product_need);
    json.objects_if_any("by_program", floors.by_program(), product_need);
    json.objects("devices", &required.devices, |json, it| {
        json.field("device", &it.device.name);
        json.field("runs", it.runs);
        json.objects("needs", &it.needs, device_need);
    });
    json.objects_if_any("alternatives", floors.alternatives(), |json, numbers| json.list("images", numbers));
    // Number of devices of the code that are not in the list.
    json.optional("omitted_devices", NonZero::new(required.omitted_devices));
    // Libraries of CUDA and ROCm that host code needs.
    json.objects_if_any("host_libraries", required.host.map_or(&[][..], |host| &host.libraries), |json, it| {
        json.field("name", &it.name);
        json.field("product", name(it.product));
        json.field("major", it.major);
        json.field("loaded_by_name", it.is_loaded_by_name);
    });
    errors(json, floors.file);
}

fn unread_file(json: &mut JsonWriter, file: &File) {
    json.field("path", file.path.as_str());
    json.field("images", 0);
    json.field("selected_by_program", 0);
    json.list("all", [0; 0]);
    json.list("devices", [0; 0]);
    errors(json, file);
}

fn device_need(json: &mut JsonWriter, need: &DeviceNeed) {
    json.field("product", name(need.product));
    json.object("preferred", |json| floor(json, &need.preferred));
    json.object("some", |json| floor(json, &need.some));
}

fn floor(json: &mut JsonWriter, need: &Need) {
    let is_known = need.floor.is_known();
    json.field("known", is_known);
    let Limit { release: least, is_after } = need.floor.least;
    if let Some(least) = least {
        json.object(if is_after { "newer_than" } else { "at_least" }, |json| release(json, least));
    }
    // The newest release that a floor that is not known can be.
    if let (false, Some(most)) = (is_known, need.floor.most.and_then(|most| most.release)) {
        json.object("at_most", |json| release(json, most));
    }
    // The measured releases of LLVM that load the image, if later ones do not load it.
    if let Some(llvm) = need.floor.measured_llvm() {
        json.list("loaded_by", llvm.majors().map(|major| major.to_string()));
    }
    json.objects("causes", &need.causes, cause);
}

fn release(json: &mut JsonWriter, release: Release) {
    let (major, minor) = release.version;
    let text = match (release.product, release.patch) {
        (Product::Llvm, _) => major.to_string(),
        (_, 0) => format!("{major}.{minor}"),
        (_, patch) => format!("{major}.{minor}.{patch}"),
    };
    json.field("release", text);
    json.optional("driver", release.driver.map(|driver| driver.to_string()));
}

fn cause(json: &mut JsonWriter, cause: &FloorCause) {
    json.field("property", cause.requirement.name());
    json.field("reason", cause.requirement.to_string());
    json.field("source", cause.requirement.source());
    json.list("images", cause.images.iter().take(MAX_IMAGES));
    json.field("count", cause.images.len());
}

fn name(product: Product) -> &'static str {
    match product {
        Product::Cuda => "cuda",
        Product::Rocm => "rocm",
        Product::Llvm => "llvm",
        Product::Apple(system) => system.device(),
    }
}
