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
//!   "lost": [ { "path": "a.so", "lost": "file|target|kernels", "arch": "gfx90a", "image": "elf", "kernels": 1,
//!     "names": [ "_Z1kPi" ] } ],
//!   "files": [ { "path": "a.so", "old_path": "b.so", "change": "added|removed|changed",
//!     "old": { "size": 20000, "stored": 9300 }, "new": { ... },
//!     "targets": [ { "arch": "gfx90a", "kind": "hip", "triple": "amdgcn-amd-amdhsa", "image": "elf",
//!       "change": "added|removed|code|metadata|storage", "causes": [], "images_changed": 1,
//!       "old": { "images": 1, "kernels": 4, "size": 4500, "stored": 4500, "codecs": [ "zstd" ],
//!         "debug": [ "none" ] }, "new": { ... },
//!       "other_versions": { "kernels": 1, "old": [ "cub::CUB_200700_530_NS" ], "new": [ "cub::_V_300200_SM_750" ] },
//!       "kernels": [ { "name": "_Z1kPi", "demangled": "k(int*)", "old_name": "_Z1jPi", "change": "added|removed|changed",
//!         "old": { "code_size": 32, "vgprs": 2, "scratch": 0, "scratch_is_minimum": true }, "new": { ... } } ] } ] } ] }
//! ```

use super::Differences;
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::base::json::{JsonWriter, json_document};
use fatbin_ops::check::lock::{
    self, FileDifference, GrowthLimit, KernelDifference, LockedKernel, Lost, TargetDifference,
};

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.diff/1";

/// Returns the document, with a final newline.
pub fn differences_json(differences: &Differences<'_>) -> String {
    let Differences { names: [old, new], comparison, budgets, lost } = differences;
    let causes = comparison.causes_with_same_code();
    json_document(SCHEMA, |json| {
        json.field("equal", comparison.files.is_empty());
        json.field("same_code", causes.is_some());
        json.object("old", |json| build(json, old, &comparison.old));
        json.object("new", |json| build(json, new, &comparison.new));
        json.field("added_archs", &comparison.added_archs);
        json.field("removed_archs", &comparison.removed_archs);
        json.objects_if_any("budgets", *budgets, budget);
        if let Some(lost) = lost {
            json.objects("lost", *lost, lost_part);
        }
        json.list("causes", causes.iter().flatten().map(|cause| cause.name()));
        json.field("reordered", &comparison.reordered);
        json.objects("duplicates", &comparison.duplicates, duplicate);
        json.objects("files", &comparison.files, file);
    })
}

fn lost_part(json: &mut JsonWriter, lost: &Lost<'_>) {
    json.field("path", lost.path());
    let (what, target, names) = match lost {
        Lost::File(_) => ("file", None, &[][..]),
        Lost::Target { target, .. } => ("target", Some(target), &[][..]),
        Lost::Kernels { target, kernels, .. } => ("kernels", Some(target), kernels.as_slice()),
    };
    json.field("lost", what);
    if let Some(target) = target {
        json.optional("arch", target.arch.as_deref());
        json.field("image", &target.image);
    }
    json.field("kernels", lost.kernels());
    if !names.is_empty() {
        json.list("names", names.iter().map(|kernel| kernel.name.as_str()));
    }
}

fn build(json: &mut JsonWriter, path: &str, totals: &lock::Totals) {
    json.field("path", path);
    json.field("files", totals.files);
    json.field("images", totals.images);
    json.field("kernels", totals.kernels);
    sizes(json, totals.size, totals.stored);
}

fn sizes(json: &mut JsonWriter, size: Option<u64>, stored: Option<u64>) {
    json.optional("size", size);
    json.optional("stored", stored);
}

fn budget(json: &mut JsonWriter, result: &lock::BudgetResult<'_>) {
    json.optional("arch", result.budget.arch.as_ref());
    match result.budget.limit {
        GrowthLimit::Percent(percent) => json.field("max_percent", percent),
        GrowthLimit::Bytes(bytes) => json.field("max_bytes", bytes),
    }
    json.field("measure", result.measure.name());
    json.field("old", result.old);
    json.field("new", result.new);
    json.field("exceeded", result.exceeded);
}

fn duplicate(json: &mut JsonWriter, duplicate: &lock::Duplicate<'_>) {
    json.optional("arch", duplicate.arch);
    // Absent for a whole image.
    json.optional("kernel", duplicate.kernel.map(|kernel| kernel.name.as_str()));
    json.field("old", duplicate.old);
    json.field("new", duplicate.new);
    json.field("bytes", duplicate.bytes);
}

fn file(json: &mut JsonWriter, file: &FileDifference<'_>) {
    json.field("path", file.path());
    json.optional("old_path", file.old_path());
    let change = match (file.old, file.new) {
        (None, _) => "added",
        (_, None) => "removed",
        _ => "changed",
    };
    json.field("change", change);
    for (key, side) in [("old", file.old), ("new", file.new)] {
        if let Some(side) = side {
            json.object(key, |json| sizes(json, side.size, side.stored));
        }
    }
    json.objects("targets", &file.targets, target);
}

fn target(json: &mut JsonWriter, difference: &TargetDifference<'_>) {
    let target = difference.target;
    json.optional("arch", target.arch.as_ref());
    json.optional("kind", target.kind.as_ref());
    json.optional("triple", target.triple.as_ref());
    json.field("image", &target.image);
    json.field("change", difference.change.name());
    json.list("causes", difference.causes.iter().map(|cause| cause.name()));
    json.field("images_changed", difference.images_changed);
    for (key, side) in [("old", &difference.old), ("new", &difference.new)] {
        json.object(key, |json| {
            json.field("images", side.images);
            json.field("kernels", side.kernels);
            sizes(json, side.size, side.stored);
            json.optional("codecs", (!side.codecs.is_empty()).then_some(&side.codecs));
            json.optional("debug", (!side.debug.is_empty()).then_some(&side.debug));
        });
    }
    let versions = &difference.other_versions;
    if versions.kernels > 0 {
        json.object("other_versions", |json| {
            json.field("kernels", versions.kernels);
            json.field("old", &versions.old);
            json.field("new", &versions.new);
        });
    }
    json.objects("kernels", &difference.kernels, kernel);
}

fn kernel(json: &mut JsonWriter, difference: &KernelDifference<'_>) {
    json.field("name", difference.kernel().name.as_str());
    json.optional("demangled", difference.kernel().name.demangled());
    let old_name = difference.before().map(|kernel| kernel.name.as_str());
    json.optional("old_name", old_name.filter(|name| *name != difference.kernel().name.as_str()));
    let change = match difference {
        KernelDifference::Added(_) => "added",
        KernelDifference::Removed(_) => "removed",
        KernelDifference::Changed(..) => "changed",
    };
    json.field("change", change);
    for (key, side) in [("old", difference.before()), ("new", difference.after())] {
        if let Some(side) = side {
            json.object(key, |json| figures(json, side));
        }
    }
}

/// Writes the known figures of a kernel.
fn figures(json: &mut JsonWriter, kernel: &LockedKernel) {
    for (figure, value) in kernel.usage.known() {
        json.field(figure.key(), value);
    }
    json.optional("scratch_is_minimum", kernel.usage.scratch_is_minimum.then_some(true));
    json.optional("code", kernel.code.map(|code| hexadecimal(&code)));
}
