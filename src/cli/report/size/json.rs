//! Sizes as JSON, schema fatbin.size/1.

use super::SizeReport;
use super::duplicates::write_duplicates;
use super::what_if::write_effect;
use fatbin_core::base::json::{JsonWriter, json_document};
use fatbin_ops::analyze::size::{Label, PackageSizes, Row};

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.size/1";

/// Formats sizes as one document.
pub fn size_json(report: &SizeReport) -> String {
    json_document(SCHEMA, |json| {
        json.list("by", report.levels.iter().map(|level| level.name()));
        json.field("size", report.total.stored);
        json.field("decompressed_size", report.total.decompressed);
        json.optional("size_before", report.total_before.map(|size| size.stored));
        json.optional("decompressed_size_before", report.total_before.map(|size| size.decompressed));
        json.objects_if_any("packages", &report.packages, package);
        json.objects("files", &report.files.listed, |json, file| {
            json.field("path", &file.path);
            json.field("size", file.size);
            json.optional("packed_size", file.packed_size);
        });
        json.objects("rows", &report.rows, row);
        json.objects_if_any("what_if", &report.effects, |json, effect| write_effect(json, report, effect));
        if let Some(duplicates) = &report.duplicates {
            json.object("duplicates", |json| write_duplicates(json, duplicates));
        }
    })
}

/// Stored bytes of a package by what they are for.
fn package(json: &mut JsonWriter, sizes: &PackageSizes) {
    json.field("path", sizes.path.to_string_lossy());
    json.field("size", sizes.total().stored);
    json.field("device_code", sizes.device_code.stored);
    json.field("host_code", sizes.host_code.stored);
    json.field("libraries", sizes.libraries.stored);
    json.field("others", sizes.others.stored);
    json.field("overhead", sizes.overhead);
}

/// A group; it has a name, or is a part that has none.
fn row(json: &mut JsonWriter, from: &Row) {
    match &from.label {
        Label::Name(name) => json.field("name", name),
        Label::Rest(rest) => json.field("part", rest.name()),
    }
    json.field("stored", from.size.stored);
    json.field("decompressed", from.size.decompressed);
    if from.code.kernels > 0 {
        json.field("code", from.code.size);
        json.field("kernels", from.code.kernels);
    }
    if let Some(before) = from.before {
        json.field("stored_before", before.stored);
        json.field("decompressed_before", before.decompressed);
    }
    json.objects_if_any("rows", &from.rows, row);
}
