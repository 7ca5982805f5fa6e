//! `diff --json`: one document of schema `fatbin.diff/1`. Later versions of fatbin only add fields.
//!
//! Numbers are bytes or counts. An absent field is unknown or not applicable. Only differences are listed, the largest
//! first.
//!
//! ```text
//! { "schema": "fatbin.diff/1", "equal": false, "same_code": true, "causes": [ "module-ids" ], "reordered": [],
//!   "duplicates": [ { "arch": "gfx90a", "kernel": "_Z1kPi", "old": 1, "new": 2, "bytes": 32 } ],
//!   "old": { "path": "a.so", "files": 1, "images": 2, "kernels": 8, "size": 9000, "stored": 9300 }, "new": { ... },
//!   "added_archs": [ "gfx942" ], "removed_archs": [],
//!   "budgets": [ { "arch": "gfx90a", "max_percent": 5, "max_bytes": 77, "measure": "size|stored", "old": 1, "new": 2,
//!     "exceeded": true } ],
//!   "files": [ { "path": "a.so", "old_path": "b.so", "change": "added|removed|changed",
//!     "old": { "size": 20000, "stored": 9300 }, "new": { ... },
//!     "targets": [ { "arch": "gfx90a", "kind": "hip", "triple": "amdgcn-amd-amdhsa", "image": "elf",
//!       "change": "added|removed|code|metadata|storage", "causes": [], "images_changed": 1,
//!       "old": { "images": 1, "kernels": 4, "size": 4500, "stored": 4500, "codecs": [ "zstd" ],
//!         "debug": [ "none" ] }, "new": { ... },
//!       "kernels": [ { "name": "_Z1kPi", "demangled": "k(int*)", "change": "added|removed|changed",
//!         "old": { "code_size": 32, "vgprs": 2, "scratch": 0, "scratch_is_minimum": true }, "new": { ... } } ] } ] } ] }
//! ```

use std::collections::BTreeSet;

use serde::Serialize;
use serde::ser::{SerializeMap, Serializer};

use super::Differences;
use crate::base::bytes::hexadecimal;
use crate::check::lock;
use crate::check::lock::{FileDifference, GrowthLimit, KernelDifference, LockedFile, LockedKernel, TargetDifference};
use crate::cli::report::json::to_pretty_json;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.diff/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    equal: bool,
    same_code: bool,
    old: JsonBuild<'a>,
    new: JsonBuild<'a>,
    added_archs: &'a [&'a str],
    removed_archs: &'a [&'a str],
    #[serde(skip_serializing_if = "Vec::is_empty")]
    budgets: Vec<JsonBudget<'a>>,
    causes: Vec<&'static str>,
    reordered: &'a [&'a str],
    duplicates: Vec<JsonDuplicate<'a>>,
    files: Vec<JsonFile<'a>>,
}

#[derive(Serialize)]
struct JsonBuild<'a> {
    path: &'a str,
    files: usize,
    images: usize,
    kernels: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<u64>,
}

#[derive(Serialize)]
struct JsonBudget<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_percent: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    max_bytes: Option<u64>,
    measure: &'static str,
    old: u64,
    new: u64,
    exceeded: bool,
}

#[derive(Serialize)]
struct JsonDuplicate<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
    /// Absent for a whole image.
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a str>,
    old: usize,
    new: usize,
    bytes: u64,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old_path: Option<&'a str>,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<JsonFileSize>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<JsonFileSize>,
    targets: Vec<JsonTarget<'a>>,
}

#[derive(Serialize)]
struct JsonFileSize {
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<u64>,
}

#[derive(Serialize)]
struct JsonTarget<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kind: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    triple: Option<&'a str>,
    image: &'a str,
    change: &'static str,
    causes: Vec<&'static str>,
    images_changed: usize,
    old: JsonTargetTotals<'a>,
    new: JsonTargetTotals<'a>,
    kernels: Vec<JsonKernel<'a>>,
}

#[derive(Serialize)]
struct JsonTargetTotals<'a> {
    images: usize,
    kernels: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored: Option<u64>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    codecs: &'a BTreeSet<String>,
    #[serde(skip_serializing_if = "BTreeSet::is_empty")]
    debug: &'a BTreeSet<String>,
}

#[derive(Serialize)]
struct JsonKernel<'a> {
    name: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    demangled: Option<&'a str>,
    change: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    old: Option<JsonFigures<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    new: Option<JsonFigures<'a>>,
}

/// The known figures of a kernel.
struct JsonFigures<'a>(&'a LockedKernel);

impl Serialize for JsonFigures<'_> {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(None)?;
        for (figure, value) in self.0.usage.known() {
            map.serialize_entry(figure.key(), &value)?;
        }
        if self.0.usage.scratch_is_minimum {
            map.serialize_entry("scratch_is_minimum", &true)?;
        }
        if let Some(code) = self.0.code {
            map.serialize_entry("code", &hexadecimal(&code))?;
        }
        map.end()
    }
}

/// Returns the document, with a final newline.
pub fn differences_json(differences: &Differences<'_>) -> String {
    let Differences { names: [old, new], comparison, budgets } = differences;
    let causes = comparison.causes_with_same_code();
    let document = Document {
        schema: SCHEMA,
        equal: comparison.files.is_empty(),
        same_code: causes.is_some(),
        old: JsonBuild::new(old, &comparison.old),
        new: JsonBuild::new(new, &comparison.new),
        added_archs: &comparison.added_archs,
        removed_archs: &comparison.removed_archs,
        budgets: budgets.iter().map(JsonBudget::new).collect(),
        causes: causes.iter().flatten().map(|cause| cause.name()).collect(),
        reordered: &comparison.reordered,
        duplicates: comparison.duplicates.iter().map(JsonDuplicate::new).collect(),
        files: comparison.files.iter().map(JsonFile::new).collect(),
    };
    to_pretty_json(&document)
}

impl<'a> JsonBuild<'a> {
    fn new(path: &'a str, totals: &lock::Totals) -> Self {
        let &lock::Totals { files, images, kernels, size, stored } = totals;
        JsonBuild { path, files, images, kernels, size, stored }
    }
}

impl<'a> JsonBudget<'a> {
    fn new(result: &'a lock::BudgetResult<'a>) -> Self {
        let &lock::BudgetResult { budget, measure, old, new, exceeded } = result;
        let (max_percent, max_bytes) = match budget.limit {
            GrowthLimit::Percent(percent) => (Some(percent), None),
            GrowthLimit::Bytes(bytes) => (None, Some(bytes)),
        };
        JsonBudget { arch: budget.arch.as_deref(), max_percent, max_bytes, measure: measure.name(), old, new, exceeded }
    }
}

impl<'a> JsonDuplicate<'a> {
    fn new(duplicate: &lock::Duplicate<'a>) -> Self {
        let &lock::Duplicate { arch, kernel, old, new, bytes } = duplicate;
        JsonDuplicate { arch, kernel: kernel.map(|kernel| kernel.name.as_str()), old, new, bytes }
    }
}

impl<'a> JsonFile<'a> {
    fn new(file: &'a FileDifference<'a>) -> Self {
        let size = |file: &LockedFile| JsonFileSize { size: file.size, stored: file.stored };
        JsonFile {
            path: file.path(),
            old_path: file.old_path(),
            change: match (file.old, file.new) {
                (None, _) => "added",
                (_, None) => "removed",
                _ => "changed",
            },
            old: file.old.map(size),
            new: file.new.map(size),
            targets: file.targets.iter().map(JsonTarget::new).collect(),
        }
    }
}

impl<'a> JsonTarget<'a> {
    fn new(difference: &'a TargetDifference<'a>) -> Self {
        let target = difference.target;
        JsonTarget {
            arch: target.arch.as_deref(),
            kind: target.kind.as_deref(),
            triple: target.triple.as_deref(),
            image: &target.image,
            change: difference.change.name(),
            causes: difference.causes.iter().map(|cause| cause.name()).collect(),
            images_changed: difference.images_changed,
            old: JsonTargetTotals::new(&difference.old),
            new: JsonTargetTotals::new(&difference.new),
            kernels: difference.kernels.iter().map(JsonKernel::new).collect(),
        }
    }
}

impl<'a> JsonTargetTotals<'a> {
    fn new(side: &'a lock::TargetTotals) -> Self {
        let lock::TargetTotals { images, kernels, size, stored, codecs, debug } = side;
        JsonTargetTotals { images: *images, kernels: *kernels, size: *size, stored: *stored, codecs, debug }
    }
}

impl<'a> JsonKernel<'a> {
    fn new(difference: &KernelDifference<'a>) -> Self {
        JsonKernel {
            name: difference.kernel().name.as_str(),
            demangled: difference.kernel().name.demangled(),
            change: match difference {
                KernelDifference::Added(_) => "added",
                KernelDifference::Removed(_) => "removed",
                KernelDifference::Changed(..) => "changed",
            },
            old: difference.before().map(JsonFigures),
            new: difference.after().map(JsonFigures),
        }
    }
}
