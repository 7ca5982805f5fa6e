//! Packages that people install, compared with independent readers: `reader.py`, which is written from the layouts alone,
//! NVIDIA's cuobjdump for the files that it can read, and clang-offload-bundler for bundles cut out of their files.
//!
//! Each must find the same images, byte for byte, for the same processors, and no others. The files cover CUDA 11.8 to 13.2 in
//! shared libraries and DLLs, ROCm 5.3 to 7.15 in plain and compressed bundles, and SYCL.

mod bundler;
mod cuobjdump;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Missing, fetched, find_in, in_path, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Name for the trials, stem of the file name, and number of images, which guards against an omission common to all readers.
struct RealFile {
    name: &'static str,
    stem: &'static str,
    images: usize,
}

const FILES: [RealFile; 6] = [
    RealFile { name: "bitsandbytes", stem: "bitsandbytes-0.50.2-py3-none-manylinux_2_24_x86_64", images: 636 },
    RealFile { name: "bitsandbytes-windows", stem: "bitsandbytes-0.50.2-py3-none-win_amd64", images: 514 },
    RealFile { name: "nvjpeg", stem: "nvidia_nvjpeg_cu12-12.4.0.76-py3-none-manylinux2014_x86_64", images: 175 },
    RealFile {
        name: "pennylane",
        stem: "pennylane_lightning_amdgpu-0.45.0-cp312-cp312-manylinux_2_28_x86_64",
        images: 60,
    },
    RealFile { name: "qiskit-aer", stem: "qiskit_aer_gpu-0.18.2-cp312-cp312-manylinux_2_27_x86_64", images: 28 },
    RealFile { name: "rocrand", stem: "librocrand.so", images: 8 },
];

pub fn trials() -> Vec<Trial> {
    let reader = FILES.iter().map(|file| trial(file, "reader", equals_the_reader));
    reader.chain(cuobjdump::trials()).chain(bundler::trials()).collect()
}

/// Returns a trial on one of the files, in a separate directory.
fn trial(file: &'static RealFile, what: &'static str, test: fn(&Path, &RealFile) -> Result<()>) -> Trial {
    Trial::ignorable_test(format!("real_files/{what}/{}", file.name), move || {
        completion(fresh_directory("real_files", &format!("{what}-{}", file.name)).and_then(|directory| {
            test(&directory, file)?;
            // The extracted images take hundreds of megabytes; the steps of the trial make them again.
            Ok(std::fs::remove_dir_all(&directory)?)
        }))
    })
}

/// Returns the names of the files in the table.
pub fn names() -> [&'static str; FILES.len()] {
    FILES.each_ref().map(|file| file.name)
}

/// Returns the path of a file by its name in the table.
pub fn path_of(name: &'static str) -> Result<PathBuf> {
    named([name]).next().expect("one for one").path()
}

fn named<const N: usize>(names: [&'static str; N]) -> impl Iterator<Item = &'static RealFile> {
    names.into_iter().map(|name| FILES.iter().find(|file| file.name == name).expect("a file of the table"))
}

impl RealFile {
    fn path(&self) -> Result<PathBuf> {
        Ok(find_in(&fetched("real-files"), self.stem).ok_or_else(|| not_fetched(self.stem))?)
    }
}

/// Properties of an image that all readers report.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
struct Found {
    /// Name of the innermost file.
    file: String,
    container: String,
    offset: u64,
    /// Bundle entry ID, or else the arch, or else `-`.
    target: String,
    sha256: String,
}

/// Returns the images that fatbin finds, and its run.
fn scanned(directory: &Path, path: &Path) -> Result<(Vec<Found>, Done)> {
    let done = Step::new(directory, fatbin_program()).args(["scan", "--json", "--hash"]).arg(path).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let mut images = Vec::new();
    for file in elements(&document, "files") {
        ensure!(elements(file, "errors").is_empty(), "{}", done.error("errors in a good file"));
        for container in elements(file, "containers") {
            for image in elements(container, "images") {
                let target = [&image["id"], &image["arch"]].into_iter().find_map(Value::as_str).unwrap_or("-");
                images.push(Found {
                    file: text(&file["path"]),
                    container: text(&container["type"]),
                    offset: container["offset"].as_u64().context("an offset")?,
                    target: target.to_owned(),
                    sha256: text(&image["sha256"]),
                });
            }
        }
    }
    Ok((images, done))
}

fn elements<'a>(value: &'a Value, name: &str) -> &'a [Value] {
    value[name].as_array().map_or(&[], Vec::as_slice)
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn reader(directory: &Path) -> Result<Step> {
    let python = in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    Ok(Step::new(directory, python).arg(concat!(env!("CARGO_MANIFEST_DIR"), "/linker-tests/real_files/reader.py")))
}

fn equals_the_reader(directory: &Path, file: &RealFile) -> Result<()> {
    let path = file.path()?;
    let theirs = reader(directory)?.arg(&path).run()?;
    let expected: Vec<Found> =
        theirs.stdout.lines().map(line_of_the_reader).collect::<Option<_>>().context("a line")?;
    ensure!(expected.len() == file.images, "{}", theirs.error(format!("there should be {}", file.images)));
    let (found, done) = scanned(directory, &path)?;
    for (own, other) in found.iter().zip(&expected) {
        ensure!(own == other, "{}", done.error(format!("found {own:?}\nthe reader {other:?}")));
    }
    ensure!(found.len() == expected.len(), "{}", done.error(format!("there should be {}", expected.len())));
    Ok(())
}

fn line_of_the_reader(line: &str) -> Option<Found> {
    let [file, container, offset, target, sha256] = line.split('\t').collect::<Vec<_>>()[..] else { return None };
    let [file, container, target, sha256] = [file, container, target, sha256].map(str::to_owned);
    Some(Found { file, container, offset: offset.parse().ok()?, target, sha256 })
}

/// Returns SHA-256 and name of every file in a directory.
fn hashes(directory: &Path) -> Result<Vec<(String, String)>> {
    let mut names = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        names.push(entry?.file_name());
    }
    let done = Step::new(directory, "sha256sum").arg("--").args(names).run()?;
    let line = |line: &str| line.split_once("  ").map(|(hash, name)| (hash.to_owned(), name.to_owned()));
    done.stdout.lines().map(line).collect::<Option<_>>().context("a line of sha256sum")
}
