//! `fatbin inspect` compared with the vendors' tools on the same files.
//!
//! The kernels of `kernels.cu` use every resource: shared memory, a stack, spilled registers, launch bounds. clang compiles
//! them for AMD's processors and, through ptxas, for NVIDIA's; `kernels.cl` contains what only OpenCL can express. Every figure
//! must equal the output of `llvm-readelf` or `cuobjdump`, `llvm-dwarfdump` and `llvm-cxxfilt`, also for images of real files.

mod amdgpu;
mod cubin;
mod dwarf;
pub mod locations;
mod others;
mod real;
mod refused;
mod stripped;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    let all = [
        amdgpu::trials(),
        cubin::trials(),
        locations::trials(),
        others::trials(),
        real::trials(),
        refused::trials(),
        stripped::trials(),
    ];
    all.into_iter().flatten().collect()
}

/// Returns a trial in a separate directory.
fn trial(name: String, test: impl FnOnce(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace(['/', ':'], "-");
    Trial::ignorable_test(format!("inspect/{name}"), move || {
        completion(fresh_directory("inspect", &directory).and_then(|it| test(&it)))
    })
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/inspect").join(name)
}

/// Returns clang without the headers and libraries of a GPU toolkit.
fn clang(directory: &Path) -> Result<Step> {
    Ok(Step::new(directory, Tool::Clang.path()?).args(["-O2", "-nogpulib"]))
}

/// fatbin's report about the only image of a file.
struct Ours {
    done: Done,
    image: Value,
    /// Kernels by name.
    kernels: BTreeMap<String, Value>,
}

impl Ours {
    fn of(directory: &Path, file: &str) -> Result<Ours> {
        let done = Step::new(directory, fatbin_program()).args(["inspect", "--json", file]).run()?;
        let document: Value = serde_json::from_str(&done.stdout)?;
        let image = document["files"][0]["images"][0].clone();
        let kernels = image["kernels"].as_array().context("no image")?;
        let kernels = kernels.iter().map(|kernel| (text(&kernel["name"]), kernel.clone())).collect();
        Ok(Ours { done, image, kernels })
    }

    fn has_names_of_cxxfilt(&self, directory: &Path) -> Result<()> {
        let names = self.kernels.iter().map(|(name, kernel)| (name.clone(), kernel["demangled"].as_str()));
        equal_cxxfilt(directory, names.collect())
    }

    fn error(&self, message: impl std::fmt::Display) -> anyhow::Error {
        self.done.error(message)
    }
}

/// Prefix of SYCL's kernel names, which name a type. fatbin prints the type alone.
const TYPE_NAME: &str = "typeinfo name for ";

/// Names that are passed to llvm-cxxfilt at a time. Systems limit the length of a command line.
const NAMES_AT_A_TIME: usize = 100;

/// Checks that the demangled name of each kernel, if it has one, is the output of llvm-cxxfilt.
fn equal_cxxfilt(directory: &Path, names: BTreeMap<String, Option<&str>>) -> Result<()> {
    let names: Vec<_> = names.into_iter().collect();
    for names in names.chunks(NAMES_AT_A_TIME) {
        let filtered = Step::new(directory, Tool::Cxxfilt.path()?).args(names.iter().map(|(name, _)| name)).run()?;
        ensure!(filtered.stdout.lines().count() == names.len(), "{}", filtered.error("not a line per name"));
        for ((name, ours), line) in names.iter().zip(filtered.stdout.lines()) {
            let theirs = line.strip_prefix(TYPE_NAME).unwrap_or(line);
            let ours = ours.unwrap_or(name);
            ensure!(ours == theirs, "{}", filtered.error(format!("{name}: {ours}, not {theirs}")));
        }
    }
    Ok(())
}

/// Formats a JSON value as tools print it; empty for null.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
