//! CUDA files on a GPU: the driver's choice among images and its floors, compared with the predictions of `select` and
//! `requires`.
//!
//! `scripts/gpu` builds a directory of programs, images and predictions that runs on any machine with a GPU. Here it
//! runs against a stand-in for libcuda, which records and checks each call. This shows that the trials work and that
//! two readers of the same documents agree. It shows nothing about a driver. On a machine with a GPU, `gpu/device` runs
//! the directory there.

use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::OnceLock;

use anyhow::{Context, Result, anyhow, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, fetched, find_in, in_path, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Devices and drivers of the stand-in: machine code, lower minor versions, drivers before zstd and before CUDA 13.
const DEVICES: [(&str, &str); 6] = [
    ("sm_80", "12.0"),
    ("sm_89", "12.0"),
    ("sm_90", "12.8"),
    ("sm_90", "13.0"),
    ("sm_100", "12.8"),
    ("sm_120", "13.0"),
];

/// Exit status of the programs without a GPU.
const NO_DEVICE: i32 = 77;

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (device, driver) in DEVICES {
        let test = move || completion(stand_in(device, driver));
        trials.push(Trial::ignorable_test(format!("gpu/stand-in/{device}/{driver}"), test));
    }
    trials.push(Trial::ignorable_test("gpu/differences", || completion(reports_differences())));
    trials.push(Trial::ignorable_test("gpu/violations", || completion(records_violations())));
    trials.push(Trial::ignorable_test("gpu/device", || completion(device())));
    trials
}

/// Returns the directory of the trials, which is built once.
fn directory() -> Result<&'static Path> {
    static DIRECTORY: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    Tool::Cc.path()?;
    Tool::Fatbinary.path()?;
    Tool::Clang.path()?;
    Tool::Libomp.path()?;
    Tool::Libomptarget.path()?;
    for release in ["ptxas-11.8", "ptxas-12.0", "ptxas-12.9", "cuda-nvcc-13.0", "cuda-tools"] {
        find_in(&fetched(release), "ptxas").ok_or_else(|| not_fetched(&format!("ptxas of {release}")))?;
    }
    for release in ["11", "12", "13"] {
        let library = format!("libcudart.so.{release}");
        find_in(&fetched(&format!("cuda-{release}")), &library).ok_or_else(|| not_fetched(&library))?;
    }
    in_path("python3").ok_or_else(|| Missing::new("python3", "python3"))?;
    let built = DIRECTORY.get_or_init(|| build().map_err(|error| format!("{error:#}")));
    built.as_deref().map_err(|error| anyhow!("{error}"))
}

fn build() -> Result<PathBuf> {
    let root = fresh_directory("gpu", "build")?;
    let mut step = script(&root, "build").args(["folder", "--local", "--for-stand-in", "--fatbin", fatbin_program()]);
    for (device, driver) in DEVICES {
        step = step.args(["--device", device, "--release", driver]);
    }
    step.run()?;
    Ok(root.join("folder"))
}

fn script(directory: &Path, name: &str) -> Step {
    Step::new(directory, Path::new(env!("CARGO_MANIFEST_DIR")).join("scripts/gpu")).arg(name)
}

/// All trials agree with the predictions, and no recorded call is a violation.
fn stand_in(device: &str, driver: &str) -> Result<()> {
    let directory = fresh_directory("gpu", &format!("{device}-{driver}"))?;
    let step = Step::new(&directory, self::directory()?.join("run"));
    let done = step.args(["--stand-in", device, "--driver", driver, "--results", "results.json"]).run()?;
    let results: Value = serde_json::from_slice(&std::fs::read(directory.join("results.json"))?)?;
    let count = |verdict: &str| results["counts"][verdict].as_u64().context("a count");
    let calls = std::fs::read_to_string(directory.join("results.calls"))?;
    let launches = calls.lines().filter(|call| call.starts_with("cuLaunchKernel ->")).count();
    if count("agrees")? < 150 || count("DIFFERS")? != 0 || launches < 50 {
        return Err(done.error(format!("{launches} launches")));
    }
    Ok(())
}

/// A result that differs from its prediction is reported, and the exit status is 1.
fn reports_differences() -> Result<()> {
    let directory = fresh_directory("gpu", "differences")?;
    Step::new(&directory, "cp").arg("-r").arg(self::directory()?).arg("copy").run()?;
    let path = directory.join("copy/manifest.json");
    let mut manifest: Value = serde_json::from_slice(&std::fs::read(&path)?)?;
    let trials = manifest["trials"].as_array_mut().context("trials")?;
    let changed = trials.iter_mut().find(|trial| trial["name"] == "select/equal-cubins").context("a trial")?;
    changed["predictions"]["sm_90"]["13.0"]["value"] = 7.into();
    std::fs::write(&path, serde_json::to_vec(&manifest)?)?;
    let mut run = command(directory.join("copy/run"));
    let output = run.args(["--stand-in", "sm_90", "--driver", "13.0", "--only", "equal-cubins"]).output()?;
    let stdout = String::from_utf8_lossy(&output.stdout);
    ensure!(output.status.code() == Some(1) && stdout.contains("1 differ,"), "{}\n{stdout}", output.status);
    Ok(())
}

/// Damaged files reach the stand-in, which records a violation for each.
fn records_violations() -> Result<()> {
    let root = self::directory()?;
    let directory = fresh_directory("gpu", "violations")?;
    let good = std::fs::read(root.join("fatbins/select-same-90.fatbin"))?;
    // Version of the container, size of the header of the entry, its flag for 64-bit programs, magic of the cubin.
    for (name, offset) in [("version", 4), ("header", 16 + 4), ("flags", 16 + 40), ("cubin", 80)] {
        let mut damaged = good.clone();
        *damaged.get_mut(offset).context("an offset in the file")? = 0;
        std::fs::write(directory.join(name), damaged)?;
        let log = directory.join(format!("{name}.calls"));
        let mut loader = command(root.join("bin/loader"));
        loader.arg("batch").env("LD_LIBRARY_PATH", root.join("stand-in")).env("GPU_STAND_IN_LOG", &log);
        loader.env("GPU_STAND_IN_DEVICE", "sm_90").env("GPU_STAND_IN_DRIVER", "13.0");
        let mut child = loader.stdin(Stdio::piped()).stdout(Stdio::null()).spawn()?;
        let mut input = child.stdin.take().context("a pipe")?;
        std::io::Write::write_all(&mut input, format!("module {}\n", directory.join(name).display()).as_bytes())?;
        drop(input);
        ensure!(child.wait()?.success(), "{name}: the loader failed");
        let calls = std::fs::read_to_string(&log)?;
        ensure!(calls.contains("violation cuModuleLoadData: "), "{name}: no violation in\n{calls}");
    }
    Ok(())
}

/// Runs everything on the GPU of this machine. No machine of continuous integration has one, so a missing GPU is no failure in
/// strict mode either.
fn device() -> Result<()> {
    let loader = command(self::directory()?.join("bin/loader")).output()?;
    if loader.status.code() == Some(NO_DEVICE) {
        return Err(Missing::optional("GPU of NVIDIA with its driver", "scripts/gpu runs on a machine with one").into());
    }
    let directory = fresh_directory("gpu", "device")?;
    script(&directory, "run").args(["folder", "--local"]).args(["--fatbin", fatbin_program()]).run()?;
    Ok(())
}
