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

use std::io::{self, Write};

use flate2::Compression;
use flate2::write::GzEncoder;
use serde::Serialize;
use sha2::{Digest, Sha256};

use crate::report::json_line::write_json_line;
use crate::texts::text;
use base64::base64;
use data::{FileData, PageData, problems};
use fatbin_core::base::error::Result;
use fatbin_core::base::io::{Access, Output, OutputPath};
use fatbin_core::scan::inventory::{File, NestedImage};
use fatbin_ops::analyze::survey::{ImageSurvey, Survey};
use fatbin_ops::check::Verdict;

/// Names of scripts of the page, which share one scope, in this order.
const SCRIPTS: &str = "elements theme figures address tree squarify treemap table coverage tables summary start";

/// The page, which is compressed while files are added: a package has a hundred thousand.
pub struct Page {
    /// The document so far, with the files. The tables that they share follow.
    document: GzEncoder<Vec<u8>>,
    data: PageData,
    /// The file whose images are added, and the text before the next one.
    file: FileData,
    between: &'static str,
}

impl Page {
    /// Begins a page.
    pub fn new() -> Self {
        // `DecompressionStream` of browsers reads gzip (since 2023 all do).
        let document = GzEncoder::new(Vec::new(), Compression::default());
        let mut page = Page { document, data: PageData::default(), file: FileData::default(), between: "" };
        page.append("{\"files\":[");
        page
    }

    /// Adds a file.
    pub fn add(&mut self, mut survey: Survey) {
        let Survey { file, image_surveys, .. } = &mut survey;
        self.begin(file);
        file.nested_images().zip(image_surveys).for_each(|(nested, inside)| self.image(&nested, inside));
        self.end(survey);
    }

    /// Begins a file, whose images follow.
    pub fn begin(&mut self, file: &File) {
        self.file = FileData::new(file);
        self.between = "";
        let mut object = Vec::new();
        write_json_line(&self.file, &mut object);
        // The images and problems are in the same object.
        object.pop();
        self.append(if self.data.is_empty() { "" } else { "," });
        self.document.write_all(&object).expect(MEMORY);
        self.append(",\"images\":[");
    }

    /// Adds the next image, and takes its kernels. An image that was not inspected because the command line did not
    /// select it is left out.
    pub fn image(&mut self, nested: &NestedImage<'_>, inside: &mut ImageSurvey) {
        let size = self.file.images.get(nested.index).copied().unwrap_or_default();
        if let Some(image) = self.data.image(nested, size, inside) {
            self.append(self.between);
            self.between = ",";
            self.write_piece(&image);
        }
    }

    /// Ends a file.
    pub fn end(&mut self, survey: Survey) {
        self.append("],\"problems\":");
        self.write_piece(&problems(&survey.file));
        self.append("}");
        self.data.add(survey);
    }

    /// Writes the page, with the verdict if the files were checked.
    pub fn write(self, path: OutputPath, verdict: Option<&Verdict>, access: Access) -> Result<()> {
        Output::of_bytes(path, self.text(verdict, access)?.as_bytes())
    }

    fn text(mut self, verdict: Option<&Verdict>, access: Access) -> Result<String> {
        let style = text("page/page.css");
        let scripts: String = SCRIPTS.split(' ').map(|name| text(&format!("scripts/{name}.js"))).collect();
        let script = format!("(async () => {{\n\"use strict\";\n{scripts}}})();\n");
        let policy = format!(
            "default-src 'none'; script-src {}; style-src {}; base-uri 'none'; form-action 'none'",
            source(&script),
            source(style)
        );
        self.append("],");
        let tables = std::mem::take(&mut self.data).finish(verdict, access)?;
        // Without the brace of an object whose first field is written.
        write_json_line(&tables, Piece { to: &mut self.document, skipped: 1 });
        let data = self.document.finish().expect(MEMORY);
        let parts = [("policy", policy.as_str()), ("style", style), ("data", &base64(&data)), ("script", &script)];
        Ok(fill_template(text("page/page.html"), &parts))
    }

    fn write_piece(&mut self, value: &impl Serialize) {
        write_json_line(value, Piece { to: &mut self.document, skipped: 0 });
    }

    fn append(&mut self, text: &str) {
        self.document.write_all(text.as_bytes()).expect(MEMORY);
    }
}

const MEMORY: &str = "writing to memory does not fail";

/// A writer of a piece of a document, without its first bytes.
struct Piece<'a> {
    to: &'a mut GzEncoder<Vec<u8>>,
    skipped: usize,
}

impl Write for Piece<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.to.write_all(bytes.get(std::mem::take(&mut self.skipped)..).unwrap_or_default())?;
        Ok(bytes.len())
    }

    /// Does nothing: the encoder would end a block.
    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
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
