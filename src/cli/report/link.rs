//! `link --report`: the images that were linked and their inputs, as a table or as one document of schema
//! `fatbin.link/1`. Later versions of fatbin only add fields.

use serde::Serialize;

use super::Screen;
use super::json::to_pretty_json;
use super::text::{Column, columns, counted, printable};
use crate::link::{AccountedInput, LinkReport, LinkedTarget, MissingKernel, UnusedArchive};
use crate::target::OffloadKind;

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.link/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    output: String,
    targets: Vec<JsonTarget<'a>>,
    unused_archives: Vec<JsonArchive<'a>>,
    missing_kernels: Vec<JsonKernel<'a>>,
    inputs: Vec<JsonInput<'a>>,
}

#[derive(Serialize)]
struct JsonInput<'a> {
    path: &'a str,
    state: &'static str,
    targets: Vec<JsonName<'a>>,
}

#[derive(Serialize)]
struct JsonTarget<'a> {
    triple: &'a str,
    arch: &'a str,
    kinds: Vec<&'static str>,
    inputs: &'a [String],
    programs: Vec<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    size: Option<u64>,
}

#[derive(Serialize)]
struct JsonArchive<'a> {
    path: &'a str,
    targets: Vec<JsonName<'a>>,
}

#[derive(Serialize)]
struct JsonName<'a> {
    triple: &'a str,
    arch: &'a str,
}

#[derive(Serialize)]
struct JsonKernel<'a> {
    path: &'a str,
    kind: &'static str,
    name: &'a str,
}

/// Returns the document, with a final newline.
pub fn link_json(report: &LinkReport) -> String {
    to_pretty_json(&Document {
        schema: SCHEMA,
        output: report.output.to_string_lossy().into_owned(),
        targets: report.targets.iter().map(JsonTarget::new).collect(),
        unused_archives: report.unused_archives.iter().map(JsonArchive::new).collect(),
        missing_kernels: report.missing_kernels.iter().map(JsonKernel::new).collect(),
        inputs: report.inputs.iter().map(JsonInput::new).collect(),
    })
}

impl<'a> JsonTarget<'a> {
    fn new(target: &'a LinkedTarget) -> Self {
        JsonTarget {
            triple: &target.triple,
            arch: &target.arch,
            kinds: names(&target.kinds),
            inputs: &target.host_files,
            programs: programs(target),
            size: target.size,
        }
    }
}

impl<'a> JsonArchive<'a> {
    fn new(archive: &'a UnusedArchive) -> Self {
        let targets = archive.targets.iter().map(|(triple, arch)| JsonName { triple, arch });
        JsonArchive { path: &archive.path, targets: targets.collect() }
    }
}

impl<'a> JsonInput<'a> {
    fn new(input: &'a AccountedInput) -> Self {
        let targets = input.targets.iter().map(|(triple, arch)| JsonName { triple, arch }).collect();
        JsonInput { path: &input.path, state: input.state.name(), targets }
    }
}

impl<'a> JsonKernel<'a> {
    fn new(kernel: &'a MissingKernel) -> Self {
        JsonKernel { path: &kernel.path, kind: kernel.kind.name(), name: &kernel.name }
    }
}

fn names(kinds: &[OffloadKind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

fn programs(target: &LinkedTarget) -> Vec<String> {
    target.programs.iter().map(|program| program.to_string_lossy().into_owned()).collect()
}

/// Returns a line for the output, a row for each target, and a line for each input and archive without use.
pub fn link_text(report: &LinkReport, screen: &Screen) -> String {
    let images = counted(report.targets.len(), "device image");
    let mut text = format!("{}: {images}\n", printable(&report.output.to_string_lossy()));
    let [kind, triple, arch, linker, inputs] = ["KIND", "TRIPLE", "ARCH", "LINKER", "INPUTS"].map(Column::left);
    let headings = [kind, triple, arch, linker, Column::right("SIZE"), inputs];
    if !report.targets.is_empty() {
        text += &columns(&headings, report.targets.iter().map(|target| row(target, screen)), screen);
    }
    let archives: Vec<String> = report.unused_archives.iter().map(|archive| format!("{}!", archive.path)).collect();
    for input in report.inputs.iter().filter(|input| !archives.iter().any(|archive| input.path.starts_with(archive))) {
        text += &input.loss().map_or(String::new(), |loss| format!("  {}\n", printable(&loss)));
    }
    for archive in &report.unused_archives {
        text += &format!("  {}\n", printable(&unused(archive)));
    }
    text
}

fn row(target: &LinkedTarget, screen: &Screen) -> Vec<String> {
    let linker = target.programs.last().and_then(|program| program.file_name());
    let linker = linker.map_or("linked already".to_owned(), |name| name.to_string_lossy().into_owned());
    let size = target.size.map_or(String::new(), |size| screen.size(size));
    let inputs = target.host_files.join(" ");
    let texts = [names(&target.kinds).join(" "), target.triple.clone(), target.arch.clone(), linker, size, inputs];
    texts.map(|text| printable(&text)).into()
}

/// Returns the reason why an archive contributes nothing.
pub fn unused(archive: &UnusedArchive) -> String {
    let targets: Vec<String> = archive.targets.iter().map(|(triple, arch)| format!("{triple} {arch}")).collect();
    format!(
        "{}: not linked: no object has code for {}; use --whole-archive, or --should-extract with a processor",
        archive.path,
        targets.join(", ")
    )
}
