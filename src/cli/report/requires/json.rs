//! `requires --json`: one document of schema `fatbin.requires/1`. Later versions of fatbin only add fields.
//!
//! A floor that is known has `known: true` and `at_least`, the oldest release that works; without `at_least`, no
//! requirement is known. Driver versions are for Linux on x86-64.
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
//!     "errors": [] } ] }
//! ```

use serde::Serialize;

use super::RequiredFile;
use crate::analyze::requires::{Limit, Release};
use crate::analyze::select::{DeviceNeed, FloorCause, Need};
use crate::cli::report::json::{JsonError, is_zero, to_pretty_json};
use crate::format::readers::Product;
use crate::scan::inventory::File;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.requires/1";

/// Maximum number of images that are listed for a property.
const MAX_IMAGES: usize = 100;

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    files: Vec<JsonFile<'a>>,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    path: &'a str,
    /// Images that drivers and runtimes load.
    images: usize,
    selected_by_program: usize,
    all: Vec<JsonNeed>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    by_program: Vec<JsonNeed>,
    devices: Vec<JsonDevice<'a>>,
    /// Number of devices of the code that are not in the list.
    #[serde(skip_serializing_if = "is_zero")]
    omitted_devices: u64,
    errors: Vec<JsonError>,
}

#[derive(Serialize)]
struct JsonNeed {
    product: &'static str,
    floor: JsonFloor,
}

#[derive(Serialize)]
struct JsonDevice<'a> {
    device: &'a str,
    /// Whether anything in the file runs on the device.
    runs: bool,
    needs: Vec<JsonDeviceNeed>,
}

#[derive(Serialize)]
struct JsonDeviceNeed {
    product: &'static str,
    preferred: JsonFloor,
    some: JsonFloor,
}

#[derive(Serialize)]
struct JsonFloor {
    known: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    at_least: Option<JsonRelease>,
    #[serde(skip_serializing_if = "Option::is_none")]
    newer_than: Option<JsonRelease>,
    /// The newest release that it can be, of a floor that is not known.
    #[serde(skip_serializing_if = "Option::is_none")]
    at_most: Option<JsonRelease>,
    causes: Vec<JsonCause>,
}

#[derive(Serialize)]
struct JsonRelease {
    release: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    driver: Option<String>,
}

#[derive(Serialize)]
struct JsonCause {
    property: &'static str,
    reason: String,
    source: &'static str,
    images: Vec<usize>,
    count: usize,
}

/// Returns the document about files, including files that could not be read, with a final newline.
pub fn requires_json(files: &[RequiredFile<'_>], unread: &[File]) -> String {
    let files = files.iter().map(JsonFile::new).chain(unread.iter().map(JsonFile::unread));
    to_pretty_json(&Document { schema: SCHEMA, files: files.collect() })
}

impl<'a> JsonFile<'a> {
    fn new(required: &'a RequiredFile<'a>) -> Self {
        let floors = &required.floors;
        let needs = |needs: Vec<(Product, Need)>| {
            let need = |(product, need): &(Product, Need)| JsonNeed { product: name(*product), floor: floor(need) };
            needs.iter().map(need).collect()
        };
        let device = |(device, needs): &'a (String, Vec<DeviceNeed>)| JsonDevice {
            device,
            runs: !needs.is_empty() || required.without_floor.contains(device),
            needs: needs.iter().map(JsonDeviceNeed::new).collect(),
        };
        JsonFile {
            path: &floors.file.path,
            images: floors.loaded(),
            selected_by_program: floors.selected_by_program(),
            all: needs(floors.all()),
            by_program: needs(floors.by_program()),
            devices: required.devices.iter().map(device).collect(),
            omitted_devices: required.omitted_devices as u64,
            errors: JsonError::of_file(floors.file),
        }
    }

    fn unread(file: &'a File) -> Self {
        let (all, by_program, devices) = (Vec::new(), Vec::new(), Vec::new());
        let errors = JsonError::of_file(file);
        let (path, omitted_devices) = (&file.path, 0);
        JsonFile { path, images: 0, selected_by_program: 0, all, by_program, devices, omitted_devices, errors }
    }
}

impl JsonDeviceNeed {
    fn new(need: &DeviceNeed) -> Self {
        JsonDeviceNeed { product: name(need.product), preferred: floor(&need.preferred), some: floor(&need.some) }
    }
}

fn floor(need: &Need) -> JsonFloor {
    let known = need.floor.is_known();
    let Limit { release: least, is_after } = need.floor.least;
    JsonFloor {
        known,
        at_least: least.filter(|_| !is_after).map(release),
        newer_than: least.filter(|_| is_after).map(release),
        at_most: if known { None } else { need.floor.most.and_then(|most| most.release).map(release) },
        causes: need.causes.iter().map(cause).collect(),
    }
}

fn release(release: Release) -> JsonRelease {
    let (major, minor) = release.version;
    let text = if release.product == Product::Llvm { major.to_string() } else { format!("{major}.{minor}") };
    JsonRelease { release: text, driver: release.driver.map(|driver| driver.to_string()) }
}

fn cause(cause: &FloorCause) -> JsonCause {
    JsonCause {
        property: cause.requirement.name(),
        reason: cause.requirement.to_string(),
        source: cause.requirement.source(),
        images: cause.images.iter().take(MAX_IMAGES).copied().collect(),
        count: cause.images.len(),
    }
}

fn name(product: Product) -> &'static str {
    match product {
        Product::Cuda => "cuda",
        Product::Rocm => "rocm",
        Product::Llvm => "llvm",
        Product::Apple(system) => system.device(),
    }
}
