//! Sizes as JSON, schema fatbin.size/1.

use std::borrow::Cow;

use serde::Serialize;

use super::duplicates::JsonDuplicates;
use super::what_if::{JsonEffect, effects};
use super::{SizeReport, SizedFile};
use crate::analyze::size::{Label, PackageSizes, Row};
use crate::cli::report::json::to_pretty_json;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.size/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    by: Vec<&'static str>,
    size: u64,
    decompressed_size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    size_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decompressed_size_before: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    packages: Vec<JsonPackage<'a>>,
    files: Vec<JsonFile<'a>>,
    rows: Vec<JsonRow<'a>>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    what_if: Vec<JsonEffect<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    duplicates: Option<JsonDuplicates<'a>>,
}

/// Stored bytes of a package by what they are for.
#[derive(Serialize)]
struct JsonPackage<'a> {
    path: Cow<'a, str>,
    size: u64,
    device_code: u64,
    host_code: u64,
    libraries: u64,
    others: u64,
    overhead: u64,
}

#[derive(Serialize)]
struct JsonFile<'a> {
    path: &'a str,
    size: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    packed_size: Option<u64>,
}

/// A group; it has a name, or is a part that has none.
#[derive(Serialize)]
struct JsonRow<'a> {
    #[serde(skip_serializing_if = "Option::is_none")]
    name: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<&'static str>,
    stored: u64,
    decompressed: u64,
    #[serde(skip_serializing_if = "Option::is_none")]
    code: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernels: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    stored_before: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    decompressed_before: Option<u64>,
    #[serde(skip_serializing_if = "Vec::is_empty")]
    rows: Vec<JsonRow<'a>>,
}

fn package(sizes: &PackageSizes) -> JsonPackage<'_> {
    JsonPackage {
        path: sizes.path.to_string_lossy(),
        size: sizes.total().stored,
        device_code: sizes.device_code.stored,
        host_code: sizes.host_code.stored,
        libraries: sizes.libraries.stored,
        others: sizes.others.stored,
        overhead: sizes.overhead,
    }
}

/// Formats sizes as one document.
pub fn size_json(report: &SizeReport) -> String {
    let files = report.files.iter();
    let files =
        files.map(|SizedFile { path, size, packed_size }| JsonFile { path, size: *size, packed_size: *packed_size });
    let document = Document {
        schema: SCHEMA,
        by: report.levels.iter().map(|level| level.name()).collect(),
        size: report.total.stored,
        decompressed_size: report.total.decompressed,
        size_before: report.total_before.map(|size| size.stored),
        decompressed_size_before: report.total_before.map(|size| size.decompressed),
        packages: report.packages.iter().map(package).collect(),
        files: files.collect(),
        rows: report.rows.iter().map(row).collect(),
        what_if: effects(report),
        duplicates: report.duplicates.as_ref().map(JsonDuplicates::new),
    };
    to_pretty_json(&document)
}

fn row(from: &Row) -> JsonRow<'_> {
    let (name, part) = match &from.label {
        Label::Name(name) => (Some(name.as_str()), None),
        Label::Rest(rest) => (None, Some(rest.name())),
    };
    let code = Some(from.code).filter(|code| code.kernels > 0);
    JsonRow {
        name,
        part,
        stored: from.size.stored,
        decompressed: from.size.decompressed,
        code: code.map(|code| code.size),
        kernels: code.map(|code| code.kernels),
        stored_before: from.before.map(|size| size.stored),
        decompressed_before: from.before.map(|size| size.decompressed),
        rows: from.rows.iter().map(row).collect(),
    }
}
