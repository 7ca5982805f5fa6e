//! `link --report`: the images that were linked and their inputs, as a table or as one document of schema
//! `fatbin.link/1`. Later versions of fatbin only add fields.

use super::Screen;
use super::text::{Column, columns, counted, printable};
use fatbin_core::base::json::{JsonWriter, json_document};
use fatbin_core::target::OffloadKind;
use fatbin_ops::link::{LinkReport, LinkedTarget, UnusedArchive};

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.link/1";

/// Returns the document, with a final newline.
pub fn link_json(report: &LinkReport) -> String {
    json_document(SCHEMA, |json| {
        json.optional("output", report.output.as_ref().map(|output| output.to_string_lossy()));
        json.objects("targets", &report.targets, |json, target| {
            triple_and_arch(json, &target.triple, &target.arch);
            json.field("kinds", names(&target.kinds));
            json.field("inputs", &target.host_files);
            json.list("programs", target.programs.iter().map(|program| program.to_string_lossy()));
            json.optional("size", target.size);
        });
        json.objects("unused_archives", &report.unused_archives, |json, archive| {
            json.field("path", &archive.path);
            json.objects("targets", &archive.targets, |json, (triple, arch)| triple_and_arch(json, triple, arch));
        });
        json.objects("missing_kernels", &report.missing_kernels, |json, kernel| {
            json.field("path", &kernel.path);
            json.field("kind", kernel.kind.name());
            json.field("name", &kernel.name);
        });
        json.objects("inputs", &report.inputs, |json, input| {
            json.field("path", &input.path);
            json.field("state", input.state.name());
            json.objects("targets", &input.targets, |json, (triple, arch)| triple_and_arch(json, triple, arch));
        });
    })
}

fn triple_and_arch(json: &mut JsonWriter, triple: &str, arch: &str) {
    json.field("triple", triple);
    json.field("arch", arch);
}

fn names(kinds: &[OffloadKind]) -> Vec<&'static str> {
    kinds.iter().map(|kind| kind.name()).collect()
}

/// Returns a line for the output, a row for each target, and a line for each input and archive without use.
pub fn link_text(report: &LinkReport, screen: &Screen) -> String {
    let images = counted(report.targets.len(), "device image");
    let Some(output) = &report.output else { return String::new() };
    let mut text = format!("{}: {images}\n", printable(&output.to_string_lossy()));
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
