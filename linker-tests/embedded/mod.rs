//! Device images without a container: every way to embed them, real libraries that contain them, and `fatbin embed`.

mod libraries;
mod ways;

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};

pub fn trials() -> Vec<Trial> {
    ways::trials().into_iter().chain(libraries::trials()).collect()
}

/// An image as `fatbin scan --json` lists it.
struct Found {
    symbol: Option<String>,
    section: Option<String>,
    arch: Option<String>,
    image: String,
    size: u64,
    is_estimated: bool,
}

/// Returns the images without a container in a file that has nothing else, and the run.
fn scanned(directory: &Path, file: &Path, options: &[&str]) -> Result<(Vec<Found>, Done)> {
    let done = Step::new(directory, fatbin_program()).args(["scan", "--json"]).args(options).arg(file).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let file = &document["files"][0];
    ensure!(file["errors"].as_array().is_some_and(Vec::is_empty), "{}", done.error("errors"));
    let mut images = Vec::new();
    for container in file["containers"].as_array().context("containers")? {
        ensure!(container["type"] == "embedded", "{}", done.error("another container"));
        let image = &container["images"][0];
        let text = |value: &Value| value.as_str().map(str::to_owned);
        images.push(Found {
            symbol: text(&image["symbol"]),
            section: text(&container["section"]),
            arch: text(&image["arch"]),
            image: text(&image["image"]).context("a kind")?,
            size: image["size"].as_u64().context("a size")?,
            is_estimated: image["size_is_estimated"] == true,
        });
    }
    Ok((images, done))
}

/// Extracts all images of a file and requires that they are these files, in any order.
fn extracts(directory: &Path, file: &Path, expected: &[&str]) -> Result<()> {
    let out = directory.join(format!("{}-images", file.file_name().context("a name")?.to_string_lossy()));
    let done = Step::new(directory, fatbin_program()).arg("extract").arg(file).arg("-o").arg(&out).run()?;
    let mut left: BTreeMap<&str, Vec<u8>> = BTreeMap::new();
    for name in expected {
        left.insert(name, std::fs::read(directory.join(name))?);
    }
    for entry in std::fs::read_dir(&out)? {
        let bytes = std::fs::read(entry?.path())?;
        let name = left.iter().find(|(_, image)| **image == bytes).map(|(name, _)| *name);
        let name = name.with_context(|| done.error("an image with other bytes").to_string())?;
        left.remove(name);
    }
    ensure!(left.is_empty(), "{}", done.error(format!("without {:?}", left.keys())));
    Ok(())
}
