//! Commands that change finished files: `fatbin prune` and others, on real libraries and on programs that run afterwards.
//!
//! | module | trials |
//! |---|---|
//! | [`moved`] | libraries whose sections another tool has moved, read by the loader and the runtime |
//! | [`host_half`] | damaged libraries, read by the loader, by runtimes and by `verify` |
//! | [`repaired`] | wheels and libraries that other tools have changed, compared with what they were |
//! | [`prune`] | real libraries and programs pruned to the images that devices need |
//! | [`split`] | device code in separate files, and back |
//! | [`strip`] | images without debug information: the same code for disassemblers and linkers |
//! | [`archives`] | static libraries and wheels with changed members, for archivers, linkers and installers |
//! | [`wheels`] | real wheels pruned to one device, installed and imported |
//! | [`transcode`] | containers in other forms, and replaced images, read by the vendors' tools |

mod archives;
mod host_half;
mod moved;
mod prune;
mod repaired;
mod split;
mod strip;
mod transcode;
mod wheels;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    let all = [
        prune::trials(),
        host_half::trials(),
        split::trials(),
        strip::trials(),
        archives::trials(),
        transcode::trials(),
        wheels::trials(),
        moved::trials(),
        repaired::trials(),
    ];
    all.into_iter().flatten().collect()
}

/// Returns a trial in a separate directory, which is removed if the trial passes: real libraries are large.
fn trial(name: String, test: impl Fn(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("edit/{name}"), move || {
        completion(fresh_directory("edit", &directory).and_then(|directory| {
            test(&directory)?;
            Ok(std::fs::remove_dir_all(&directory)?)
        }))
    })
}

fn fatbin(directory: &Path) -> Step {
    Step::new(directory, fatbin_program())
}

/// An image as `fatbin scan --hash` reports it.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// Offset of the outermost container.
    container: u64,
    container_type: String,
    arch: String,
    image: String,
    sha256: String,
}

/// Returns the device images of a file, and the run of `fatbin scan`.
fn scanned(directory: &Path, path: &Path) -> Result<(Vec<Found>, Done)> {
    let done = fatbin(directory).args(["scan", "--json", "--hash"]).arg(path).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let mut found = Vec::new();
    let elements = |value: &Value, name: &str| value[name].as_array().cloned().unwrap_or_default();
    for file in elements(&document, "files") {
        ensure!(elements(&file, "errors").is_empty(), "{}", done.error("errors in a good file"));
        for container in elements(&file, "containers") {
            for image in elements(&container, "images").iter().filter(|image| image["kind"] != "host") {
                let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
                found.push(Found {
                    container: container["offset"].as_u64().context("an offset")?,
                    container_type: text(&container["type"]),
                    arch: text(&image["arch"]),
                    image: text(&image["image"]),
                    sha256: text(&image["sha256"]),
                });
            }
        }
    }
    Ok((found, done))
}

/// Unpacks the files of a wheel whose names match a pattern into the directory `libraries`, and returns them.
fn unzipped(directory: &Path, wheel: &Path, pattern: &str) -> Result<Vec<PathBuf>> {
    let unzip = in_path("unzip").ok_or_else(|| Missing::new("unzip", "unzip"))?;
    Step::new(directory, unzip).args(["-q", "-j"]).arg(wheel).args([pattern, "-d", "libraries"]).run()?;
    let files = std::fs::read_dir(directory.join("libraries"))?.map(|entry| Ok(entry?.path()));
    let mut files = files.collect::<Result<Vec<_>>>()?;
    files.sort();
    Ok(files)
}
