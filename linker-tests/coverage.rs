//! Kernels by device: libraries that nvcc links, and torchvision, which is built for more architectures in one part than in
//! another.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{fetched, find_in, not_fetched};
use crate::harness::trial::{completion, fresh_directory};
use crate::vendors::nvcc;

/// Stem of the file name of a wheel that is not among the real files.
pub const TORCHVISION: &str = "torchvision-0.29.2-py3-none-manylinux_2_28_x86_64";

/// Two kernels. Code for `sm_86` lacks one.
const REMOVED: &str = "\
__global__ void everywhere(int *p) { *p = 1; }
#if !defined(__CUDA_ARCH__) || __CUDA_ARCH__ != 860
__global__ void removed(int *p) { *p = 2; }
#endif
";

/// A check that finds violations, as a command that succeeds.
const VIOLATED: &str = "\"$0\" \"$@\"; test $? -eq 1";

const SPECIALIZED: &str = "__global__ void specialized(int *p) { *p = 3; }\n";

pub fn trials() -> Vec<Trial> {
    let trial = |name: &'static str, test: fn(&Path) -> Result<()>| {
        Trial::ignorable_test(format!("coverage/{name}"), move || {
            completion(fresh_directory("coverage", name).and_then(|directory| test(&directory)))
        })
    };
    vec![trial("torchvision", torchvision), trial("removed", removed_kernel), trial("specialized", specialized_kernels)]
}

/// Returns the document of `inspect --matrix`.
fn matrix(directory: &Path, file: &Path) -> Result<Value> {
    let step = Step::new(directory, fatbin_program()).args(["inspect", "--matrix", "--json"]).arg(file);
    Ok(serde_json::from_str::<Value>(&step.run()?.stdout)?["matrix"].take())
}

/// Returns the number of kernels by device and state.
fn states(matrix: &Value) -> Result<BTreeMap<(String, String), usize>> {
    let mut states = BTreeMap::new();
    for kernel in matrix["kernels"].as_array().context("kernels")? {
        for cell in kernel["devices"].as_array().context("devices")? {
            let text = |key: &str| cell[key].as_str().unwrap_or_default().to_owned();
            *states.entry((text("device"), text("state"))).or_insert(0) += 1;
        }
    }
    Ok(states)
}

fn expect(states: &BTreeMap<(String, String), usize>, expected: &[(&str, &str, usize)]) -> Result<()> {
    for (device, state, count) in expected {
        let found = states.get(&((*device).to_owned(), (*state).to_owned())).copied().unwrap_or_default();
        ensure!(found == *count, "{found} kernels {state} on {device}, expected {count}: {states:?}");
    }
    Ok(())
}

/// Returns the path of torchvision's wheel.
pub fn torchvision_wheel() -> Result<PathBuf> {
    Ok(find_in(&fetched("torchvision"), TORCHVISION).ok_or_else(|| not_fetched(TORCHVISION))?)
}

/// No kernel has a gap. The library for decoding, which is built for architectures that its own kernels lack, is not
/// judged.
fn torchvision(directory: &Path) -> Result<()> {
    let matrix = matrix(directory, &torchvision_wheel()?)?;
    ensure!(matrix["gaps"].as_array().is_some_and(Vec::is_empty), "{}", matrix["gaps"]);
    let states = states(&matrix)?;
    expect(&states, &[("sm_80", "native", 49), ("sm_120", "native", 49), ("sm_110", "none", 0)])
}

fn compile(directory: &Path, options: &[&str], source: &str, object: &str) -> Result<()> {
    let name = format!("{object}.cu");
    fs::write(directory.join(&name), source)?;
    Step::new(directory, nvcc::nvcc("13.5")?).args(options).args(["-c", &name, "-o", object]).run()?;
    Ok(())
}

/// A kernel that one architecture lacks is exactly one gap, for `inspect` and for `check`.
fn removed_kernel(directory: &Path) -> Result<()> {
    let archs = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_86,code=[sm_86,compute_86]"];
    compile(directory, &archs, REMOVED, "removed.o")?;
    let matrix = matrix(directory, Path::new("removed.o"))?;
    let gaps = matrix["gaps"].as_array().context("gaps")?;
    ensure!(gaps.len() == 1 && gaps[0]["device"] == "sm_86", "{matrix}");
    ensure!(gaps[0]["kernel"].as_str().is_some_and(|name| name.contains("removed")), "{matrix}");
    fs::write(directory.join("policy.toml"), "kernels = [{ devices = 'all' }]\n")?;
    let check = Step::new(directory, "sh").args(["-c", VIOLATED, fatbin_program(), "check"]);
    let done = check.args(["--policy", "policy.toml", "removed.o"]).run()?;
    let finding = "removed.o: kernel-coverage: kernel removed(int*): fails on sm_86: ";
    let findings = done.stdout.matches("kernel-coverage: ").count();
    ensure!(findings == 1 && done.stdout.starts_with(finding), "{}", done.error("no gap"));
    Ok(())
}

/// Kernels for `sm_90a` alone are no gaps, even next to kernels for three architectures.
fn specialized_kernels(directory: &Path) -> Result<()> {
    compile(directory, &["-gencode=arch=compute_90a,code=sm_90a"], SPECIALIZED, "specialized.o")?;
    let archs = ["-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90,code=sm_90"];
    compile(directory, &archs, "__global__ void plain(int *p) { *p = 4; }\n", "plain.o")?;
    let options = ["-shared", "-o", "both.so", "specialized.o", "plain.o", "-cudart", "none"];
    Step::new(directory, nvcc::nvcc("13.5")?).args(options).run()?;
    for (file, expected) in [
        ("specialized.o", &[("sm_90", "native", 1)][..]),
        ("both.so", &[("sm_80", "native", 1), ("sm_80", "none", 1), ("sm_90", "native", 2)]),
    ] {
        let matrix = matrix(directory, Path::new(file))?;
        ensure!(matrix["gaps"].as_array().is_some_and(Vec::is_empty), "{file}: {matrix}");
        expect(&states(&matrix)?, expected)?;
    }
    Ok(())
}
