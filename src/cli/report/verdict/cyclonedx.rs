//! Inventory and verdict as CycloneDX 1.6: files with device code are components, and their images are nested
//! components.
//!
//! Serial number and time are left out, so that equal inputs give equal documents.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::sentence;
use crate::report::json::{displayed, displayed_element};
use fatbin_core::base::bytes::hexadecimal;
use fatbin_core::base::error::Result;
use fatbin_core::base::io::SortedTexts;
use fatbin_core::base::json::JsonWriter;
use fatbin_core::scan::inventory::{File, Image};
use fatbin_ops::check::Verdict;

/// Name of all texts, which stay in order.
const TEXTS: &str = "components";

/// Components of files, which are on disk until the verdict is known.
#[derive(Debug)]
pub struct Components {
    /// Images as components. After the images of a file come its size and path.
    texts: SortedTexts,
    /// Number of files.
    files: usize,
}

impl Default for Components {
    fn default() -> Self {
        Components { texts: SortedTexts::new(), files: 0 }
    }
}

impl Components {
    /// Adds a file, if it has device images.
    pub fn add(&mut self, file: &File) -> Result<()> {
        if file.device_images().next().is_none() {
            return Ok(());
        }
        for (index, image) in file.device_images().enumerate() {
            self.texts.add(TEXTS, &displayed_element(component(self.files, index, image), 4))?;
        }
        self.files += 1;
        self.texts.add(TEXTS, &format!("{} {}", file.size, file.path))
    }
}

/// Writes the document.
pub fn verdict_cyclonedx(verdict: &Verdict, components: Components, write: &mut dyn FnMut(&str)) -> Result<()> {
    let tool = json!({
        "type": "application",
        "name": "fatbin",
        "version": env!("CARGO_PKG_VERSION"),
    });
    let outcome = property("fatbin:check:outcome", verdict.outcome().name());
    let evaluations = by_path(&verdict.evaluations, |it| &it.path);
    let findings = by_path(&verdict.findings, |it| &it.path);
    let mut json = JsonWriter::plain(b'{', b'}');
    json.field("$schema", "http://cyclonedx.org/schema/bom-1.6.schema.json");
    json.field("bomFormat", "CycloneDX");
    json.begin_array("components");
    let mut files = 0;
    let mut is_first = true;
    components.texts.each(&mut |text| {
        let text = String::from_utf8_lossy(text);
        if is_first {
            json.begin_object();
            json.field("bom-ref", format!("file-{files}"));
            json.begin_array("components");
        }
        is_first = !text.starts_with('{');
        if is_first {
            json.end();
            let (size, path) = text.split_once(' ').unwrap_or_default();
            json.field("name", displayed(path.into()));
            let rules = evaluations.get(path).into_iter().flat_map(|own| *own);
            let rules = rules.map(|it| property(&format!("fatbin:check:{}", it.rule.name()), it.outcome.name()));
            let findings = findings.get(path).into_iter().flat_map(|own| *own);
            let findings =
                findings.map(|it| property("fatbin:finding", &format!("{}: {}", it.rule.name(), sentence(it))));
            let size = property("fatbin:size", size);
            json.field("properties", displayed([size].into_iter().chain(rules).chain(findings).collect()));
            json.field("type", "file");
            json.end();
            files += 1;
        } else {
            json.element(&text);
        }
        write(&json.take());
        Ok(())
    })?;
    json.end();
    json.field("metadata", json!({ "tools": { "components": [tool] }, "properties": [outcome] }));
    json.field("specVersion", "1.6");
    json.field("version", 1);
    json.end();
    write(&json.take());
    Ok(())
}

/// Returns the items of each path. Those of one path follow one another.
fn by_path<T>(items: &[T], path: fn(&T) -> &String) -> HashMap<&str, &[T]> {
    let chunks = items.chunk_by(|one, next| path(one) == path(next));
    chunks.filter_map(|own| Some((path(own.first()?).as_str(), own))).collect()
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
    let properties: Vec<Value> = known.map(|(name, value)| property(&format!("fatbin:{name}"), &value)).collect();
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

fn property(name: &str, value: &str) -> Value {
    json!({ "name": name, "value": value })
}
