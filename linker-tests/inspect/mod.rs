//! What `fatbin inspect` says of kernels beside what the vendors' tools say of the same files.
//!
//! The kernels of `kernels.cu` take something of everything: shared memory, a stack, registers that do not fit, launch
//! bounds. clang compiles them for AMD's processors and, through ptxas, for NVIDIA's; `kernels.cl` has what only OpenCL can
//! say. Whatever our program states is asked of `llvm-readelf` or `cuobjdump` again, of `llvm-dwarfdump` and
//! `llvm-cxxfilt`, and has to be the same. So it is for images of real files.

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

/// A trial in a directory of its own.
fn trial(name: String, test: impl FnOnce(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace(['/', ':'], "-");
    Trial::ignorable_test(format!("inspect/{name}"), move || {
        completion(fresh_directory("inspect", &directory).and_then(|it| test(&it)))
    })
}

fn source(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/inspect").join(name)
}

/// clang without the headers and libraries that a GPU toolkit has.
fn clang(directory: &Path) -> Result<Step> {
    Ok(Step::new(directory, Tool::Clang.path()?).args(["-O2", "-nogpulib"]))
}

/// What our program says of the only image of a file.
struct Ours {
    done: Done,
    image: Value,
    /// By name.
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

    /// The names that are shown are those that llvm-cxxfilt gives. Those of real templates are not compared: GNU's tools and
    /// LLVM's write lambdas and the end of two lists of arguments in different ways.
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

/// A value of JSON as tools would print it; empty where there is none.
fn text(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}
