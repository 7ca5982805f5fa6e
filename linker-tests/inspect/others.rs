//! Kernels in SPIR-V, and in images for the host itself.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;
use serde_json::json;

use super::{Ours, clang, source, trial};
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

pub fn trials() -> Vec<Trial> {
    vec![trial("spirv".to_owned(), spirv), trial("openmp-on-the-host".to_owned(), openmp)]
}

/// clang writes SPIR-V without other tools since LLVM 22.
fn spirv(directory: &Path) -> Result<()> {
    let step = clang(directory)?.args(["-x", "cl", "--target=spirv64", "-c", "-o", "image"]);
    step.arg(source("kernels.cl")).run()?;
    let ours = Ours::of(directory, "image")?;
    let names: Vec<&String> = ours.kernels.keys().collect();
    ensure!(names == ["any", "sized"], "{}", ours.error("should be any and sized"));
    ensure!(ours.kernels["sized"]["required_threads"] == json!([64, 2, 1]), "{}", ours.error("should be 64x2x1"));
    ensure!(ours.kernels["any"]["required_threads"].is_null(), "{}", ours.error("should be of any size"));
    Ok(())
}

/// The host's own image is a shared library; its kernels are recognized by clang's names.
fn openmp(directory: &Path) -> Result<()> {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp/main.c");
    let target = "x86_64-unknown-linux-gnu";
    let step = clang(directory)?.args(["-fopenmp", "--offload-device-only", "-DMARKER=42", "-fPIC", "-g", "-c"]);
    step.arg(format!("-fopenmp-targets={target}")).arg(case).args(["-o", "device.o"]).run()?;
    Step::new(directory, Tool::Cc.path()?).args(["-shared", "-o", "device.so", "device.o"]).run()?;
    let wrap = Step::new(directory, fatbin_program()).args(["wrap", "--kind", "openmp", "-o", "image"]);
    wrap.arg(format!("--image=file=device.so,triple={target}")).run()?;
    let ours = Ours::of(directory, "image")?;
    let symbols = Step::new(directory, Tool::Readelf.path()?).args(["--dyn-syms", "--wide", "device.so"]).run()?;
    let kernels = symbols.stdout.lines().filter(|line| line.contains(" FUNC ") && line.contains(" __omp_offloading_"));
    ensure!(kernels.count() == ours.kernels.len() && !ours.kernels.is_empty(), "{}", symbols.error(ours.error("")));
    for (name, kernel) in &ours.kernels {
        ensure!(kernel["code_size"].as_u64() > Some(0), "{}", ours.error(name));
        let is_named = |file: &str| file.ends_with("linker-tests/cases/openmp/main.c");
        ensure!(kernel["source"]["file"].as_str().is_some_and(is_named), "{}", ours.error(name));
    }
    Ok(())
}
