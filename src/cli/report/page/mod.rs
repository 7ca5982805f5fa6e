//! The page: one HTML document with the analysis of files, for browsers and as an artifact of CI.
//!
//! It consists of `page.html`, `page.css` and the scripts in this directory, embedded unchanged, and of the analysis as
//! a JSON document ([`data`]), compressed: the names of a large library's kernels are nearly all of a page, and shrink
//! to a twentieth. The page loads nothing: its content security policy forbids that, and allows only this style and
//! this script, by their hashes. A kernel whose name is markup is stopped twice: the document is Base64, and a script
//! that escaped from it would not run. The scripts insert text as text only.

mod base64;
mod data;
mod inputs;
mod packages;
#[cfg(test)]
mod tests;
mod verdict;

use flate2::Compression;
use flate2::write::GzEncoder;
use sha2::{Digest, Sha256};

use crate::analyze::survey::Survey;
use crate::base::error::Result;
use crate::base::io::{Output, OutputPath};
use crate::check::Verdict;
use crate::cli::report::json_line::write_json_line;
use base64::base64;
use data::PageData;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// Scripts of the page, which share one scope, in this order.
const SCRIPTS: [&str; 12] = [
    include_str!("scripts/elements.js"),
    include_str!("scripts/theme.js"),
    include_str!("scripts/figures.js"),
    include_str!("scripts/address.js"),
    include_str!("scripts/tree.js"),
    include_str!("scripts/squarify.js"),
    include_str!("scripts/treemap.js"),
    include_str!("scripts/table.js"),
    include_str!("scripts/coverage.js"),
    include_str!("scripts/tables.js"),
    include_str!("scripts/summary.js"),
    include_str!("scripts/start.js"),
];

/// Writes the page of files, and of their verdict if they were checked.
pub fn write_page(path: OutputPath, files: &[&Survey], verdict: Option<&Verdict>) -> Result<()> {
    let page = page(files, verdict)?;
    Output::of_bytes(path, page.as_bytes())
}

/// Images that were not inspected because the command line did not select them are left out.
fn page(files: &[&Survey], verdict: Option<&Verdict>) -> Result<String> {
    let script = format!("(async () => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat());
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        source(&script),
        source(STYLE)
    );
    let data = compressed(&PageData::new(files, verdict)?);
    let parts = [("policy", policy.as_str()), ("style", STYLE), ("data", &base64(&data)), ("script", &script)];
    Ok(fill_template(TEMPLATE, &parts))
}

/// Compresses the document as gzip, which `DecompressionStream` of browsers reads (since 2023 all do).
fn compressed(data: &PageData) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    write_json_line(data, &mut encoder);
    encoder.finish().expect("writing to memory does not fail")
}

/// Source expression of a content security policy that allows only this text.
fn source(text: &str) -> String {
    format!("'sha256-{}'", base64(&Sha256::digest(text)))
}

/// Replaces each `{{name}}` of the template. Inserted text is not searched again.
fn fill_template(template: &str, parts: &[(&str, &str)]) -> String {
    let mut page = String::with_capacity(template.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, placeholder)) = rest.split_once("{{") {
        let (name, after) = placeholder.split_once("}}").expect("every {{ has a }}");
        let (_, text) = parts.iter().find(|(known, _)| *known == name).expect("every name has a part");
        page += before;
        page += text;
        rest = after;
    }
    page + rest
}
