//! Inventory and verdict as CycloneDX 1.6: files with device code are components, and their images are nested
//! components.
//!
//! Serial number and time are left out, so that equal inputs give equal documents.

use serde_json::{Value, json};

use super::sentence;
use crate::analyze::survey::Survey;
use crate::base::bytes::hexadecimal;
use crate::check::Verdict;
use crate::cli::report::json::to_displayed_json;
use crate::scan::inventory::Image;

/// Returns the document, with a final newline.
pub fn verdict_cyclonedx(verdict: &Verdict, files: &[&Survey]) -> String {
    let with_code = files.iter().filter(|survey| survey.file.device_images().next().is_some());
    let components: Vec<Value> = with_code.enumerate().map(|(number, survey)| file(number, survey, verdict)).collect();
    let tool = json!({
        "type": "application",
        "name": "fatbin",
        "version": env!("CARGO_PKG_VERSION"),
    });
    let outcome = property("fatbin:check:outcome", verdict.outcome().name().to_owned());
    let document = json!({
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": { "tools": { "components": [tool] }, "properties": [outcome] },
        "components": components,
    });
    to_displayed_json(document)
}

fn file(number: usize, survey: &Survey, verdict: &Verdict) -> Value {
    let file = &survey.file;
    let images = survey.images().enumerate().map(|(index, (image, _))| component(number, index, image));
    let evaluations = verdict.evaluations.iter().filter(|it| it.path == file.path);
    let rules =
        evaluations.map(|it| property(&format!("fatbin:check:{}", it.rule.name()), it.outcome.name().to_owned()));
    let findings = verdict.findings.iter().filter(|finding| finding.path == file.path);
    let findings = findings.map(|it| property("fatbin:finding", format!("{}: {}", it.rule.name(), sentence(it))));
    let size = property("fatbin:size", file.size.to_string());
    json!({
        "type": "file",
        "bom-ref": format!("file-{number}"),
        "name": file.path,
        "components": images.collect::<Vec<_>>(),
        "properties": std::iter::once(size).chain(rules).chain(findings).collect::<Vec<_>>(),
    })
}

fn component(file: usize, index: usize, image: &Image) -> Value {
    let names = [image.triple.as_deref(), image.arch.as_deref()];
    let name: Vec<&str> = names.into_iter().flatten().chain([image.image_kind.name()]).collect();
    let properties = [
        ("kind", image.kind.map(|kind| kind.name().to_owned())),
        ("image", Some(image.image_kind.name().to_owned())),
        ("triple", image.triple.clone()),
        ("arch", image.arch.clone()),
        ("offset", image.offset.map(|offset| offset.to_string())),
        ("size", image.size.map(|size| size.to_string())),
        ("full-size", image.full_size.map(|size| size.to_string())),
        ("codec", image.codec.map(|codec| codec.name().to_owned())),
    ];
    let known = properties.into_iter().filter_map(|(name, value)| Some((name, value?)));
    let properties: Vec<Value> = known.map(|(name, value)| property(&format!("fatbin:{name}"), value)).collect();
    let mut component = json!({
        "type": "file",
        "bom-ref": format!("file-{file}-image-{index}"),
        "name": name.join(" "),
        "properties": properties,
    });
    if let Some(hash) = image.sha256 {
        component["hashes"] = json!([{ "alg": "SHA-256", "content": hexadecimal(&hash) }]);
    }
    component
}

fn property(name: &str, value: String) -> Value {
    json!({ "name": name, "value": value })
}
