//! `fatbin inspect` compared with the vendors' tools on the same files.
//!
//! The kernels of `kernels.cu` use every resource: shared memory, a stack, spilled registers, launch bounds. clang compiles
//! them for AMD's processors and, through ptxas, for NVIDIA's; `kernels.cl` contains what only OpenCL can express. Every figure
//! must equal the output of `llvm-readelf` or `cuobjdump`, `llvm-dwarfdump` and `llvm-cxxfilt`, also for images of real files.

mod amdgpu;
mod cubin;
mod dwarf;
mod others;
mod real;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::step::{Done, Step};
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    [amdgpu::trials(), cubin::trials(), others::trials(), real::trials()].into_iter().flatten().collect()
}

/// Returns a trial in a directory of its own.
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
        let done = Step::new(directory, env!("CARGO_BIN_EXE_fatbin")).args(["inspect", "--json", file]).run()?;
        let document: Value = serde_json::from_str(&done.stdout)?;
        let image = document["files"][0]["images"][0].clone();
        let kernels = image["kernels"].as_array().context("no image")?;
        let kernels = kernels.iter().map(|kernel| (text(&kernel["name"]), kernel.clone())).collect();
        Ok(Ours { done, image, kernels })
    }

    /// Checks that the displayed names equal those of llvm-cxxfilt. Names of real templates are not compared: GNU's and LLVM's
    /// tools format lambdas and nested argument lists differently.
    fn has_names_of_cxxfilt(&self, directory: &Path) -> Result<()> {
        let filtered = Step::new(directory, Tool::Cxxfilt.path()?).args(self.kernels.keys()).run()?;
        ensure!(filtered.stdout.lines().count() == self.kernels.len(), "{}", filtered.error("a line a name"));
        for ((name, kernel), line) in self.kernels.iter().zip(filtered.stdout.lines()) {
            let ours = kernel["demangled"].as_str().unwrap_or(name);
            ensure!(
                ours.replace("> >", ">>") == line.replace("> >", ">>"),
                "{}",
                self.error(format!("cxxfilt: {line}"))
            );
        }
        Ok(())
    }

    fn error(&self, message: impl std::fmt::Display) -> anyhow::Error {
        self.done.error(message)
    }
}

/// Formats a JSON value as tools print it; empty for null.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
