//! Images of packages that people install: hundreds of kernels by compilers that are not on this machine.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use super::{amdgpu, cubin, equal_cxxfilt, text, trial};
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::real_files;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("real/rocrand-gfx1030".to_owned(), |directory| amd(directory, "rocrand", "gfx1030", "full")),
        trial("real/pennylane-gfx942".to_owned(), |directory| amd(directory, "pennylane", "gfx942", "none")),
        trial("real/nvjpeg-sm_90".to_owned(), |directory| nvidia(directory, "nvjpeg", "sm_90")),
        trial("real/bitsandbytes-sm_120".to_owned(), |directory| nvidia(directory, "bitsandbytes", "sm_120")),
        trial("real/names".to_owned(), names),
    ]
}

fn amd(directory: &Path, file: &'static str, arch: &str, debug: &str) -> Result<()> {
    largest(directory, file, arch)?;
    amdgpu::compare(directory, debug).map(drop)
}

fn nvidia(directory: &Path, file: &'static str, arch: &str) -> Result<()> {
    largest(directory, file, arch)?;
    cubin::compare(directory, "none").map(drop)
}

/// Libraries by nvcc, hipcc and clang for SYCL, with the number of different kernels, which guards against a loss of names.
const LIBRARIES: [(&str, usize); 5] =
    [("bitsandbytes", 277), ("nvjpeg", 248), ("pennylane", 344), ("qiskit-aer", 299), ("rocrand", 80)];

/// Compares the names of all kernels of all libraries with the output of llvm-cxxfilt, without any exception.
fn names(directory: &Path) -> Result<()> {
    for (file, kernels) in LIBRARIES {
        let inspect = Step::new(directory, fatbin_program()).args(["inspect", "--json"]);
        let inspected = inspect.arg(real_files::path_of(file)?).run()?;
        let document: Value = serde_json::from_str(&inspected.stdout)?;
        let array = |value: &'static str| move |of: &'_ Value| of[value].as_array().cloned().unwrap_or_default();
        let all = array("files")(&document).iter().flat_map(array("images")).collect::<Vec<_>>();
        let all: Vec<Value> = all.iter().flat_map(array("kernels")).collect();
        let names: BTreeMap<_, _> = all.iter().map(|it| (text(&it["name"]), it["demangled"].as_str())).collect();
        ensure!(names.len() == kernels, "{file}: {} kernels, not {kernels}", names.len());
        equal_cxxfilt(directory, names)?;
    }
    Ok(())
}

/// Extracts the largest ELF image for `arch` to `image`.
fn largest(directory: &Path, file: &'static str, arch: &str) -> Result<()> {
    let file = real_files::path_of(file)?;
    let step = Step::new(directory, fatbin_program()).args(["extract", "--arch", arch, "-o", "images"]);
    step.arg(file).run()?;
    let mut images = Vec::new();
    for entry in std::fs::read_dir(directory.join("images"))? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "cubin" || extension == "hsaco") {
            images.push((entry.metadata()?.len(), entry.path()));
        }
    }
    let (_, image) = images.into_iter().max().context("an image")?;
    std::fs::rename(image, directory.join("image"))?;
    Ok(std::fs::remove_dir_all(directory.join("images"))?)
}
