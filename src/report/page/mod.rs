//! The page: everything that is known of files in one HTML document, to be opened by people and kept by CI.
//!
//! It consists of `page.html`, `page.css` and the scripts here, taken in as they are, and of the surveys as one JSON
//! document between them ([`data`]). It loads nothing: its content security policy forbids that, and allows no style and
//! no script but these two, by their hashes. So a kernel whose name is markup has two walls before it: the document
//! holds no `<`, and a script that came out of it would not run. The scripts put text into the page as text only.

mod data;
mod escape;
#[cfg(test)]
mod tests;
mod verdict;

use std::path::Path;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use sha2::{Digest, Sha256};

use crate::check::Verdict;
use crate::error::Result;
use crate::io::Output;
use crate::survey::SurveyedFile;
use data::PageData;

const TEMPLATE: &str = include_str!("page.html");
const STYLE: &str = include_str!("page.css");

/// One scope, in this order; each file says what it is.
const SCRIPTS: [&str; 9] = [
    include_str!("scripts/elements.js"),
    include_str!("scripts/figures.js"),
    include_str!("scripts/tree.js"),
    include_str!("scripts/squarify.js"),
    include_str!("scripts/treemap.js"),
    include_str!("scripts/table.js"),
    include_str!("scripts/tables.js"),
    include_str!("scripts/summary.js"),
    include_str!("scripts/start.js"),
];

/// Writes the page of files, and of what a check said of them.
pub fn write_page(path: &Path, files: &[&SurveyedFile], verdict: Option<&Verdict>) -> Result<()> {
    let mut output = Output::create(path)?;
    output.write(page(files, verdict).as_bytes())?;
    output.commit()
}

/// The whole page: what is in the files, and what a check said of them, where there was one. Images that were not looked
/// into, because nobody asked for them, are not on it.
fn page(files: &[&SurveyedFile], verdict: Option<&Verdict>) -> String {
    let script = format!("(() => {{\n\"use strict\";\n{}}})();\n", SCRIPTS.concat());
    let policy = format!(
        "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
        source(&script),
        source(STYLE)
    );
    let data = serde_json::to_string(&PageData::new(files, verdict)).expect("strings and numbers always serialise");
    let parts = [
        ("policy", policy.as_str()),
        ("style", STYLE),
        ("data", &escape::escape_json_for_script(&data)),
        ("script", &script),
    ];
    filled(TEMPLATE, &parts)
}

/// How a policy names the one text that it allows.
fn source(text: &str) -> String {
    format!("'sha256-{}'", BASE64_STANDARD.encode(Sha256::digest(text)))
}

/// The template with each `{{name}}` replaced, once: what is put in is not looked through again.
fn filled(template: &str, parts: &[(&str, &str)]) -> String {
    let mut page = String::with_capacity(template.len() + parts.iter().map(|(_, text)| text.len()).sum::<usize>());
    let mut rest = template;
    while let Some((before, behind)) = rest.split_once("{{") {
        let (name, after) = behind.split_once("}}").expect("the template closes what it opens");
        let (_, text) =
            parts.iter().find(|(known, _)| *known == name).expect("the template names parts that there are");
        page += before;
        page += text;
        rest = after;
    }
    page + rest
}
