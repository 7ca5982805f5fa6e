//! clang's driver of earlier releases with fatbin as its clang-linker-wrapper.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{fatbin, inputs};
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::linker_wrapper::kernel;
use crate::runtimes::{directories_of, openmp_library};

/// HIP libraries have the images of the reference's: IDs and kernels are equal. OpenMP programs offload to the CPU under the
/// runtime of their release.
pub fn drivers(directory: &Path) -> Result<()> {
    for release in ["15", "16", "19"] {
        let links = format!("links-{release}");
        fatbin(directory).args(["install-links", "--llvm", release, &links]).run()?;
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        llvm_tool("clang-linker-wrapper", release, &format!("clang-tools-{release}"))?;
        hip(directory, &clang, &links)?;
        openmp(directory, release, &clang, &links)?;
    }
    Ok(())
}

fn hip(directory: &Path, clang: &Path, links: &str) -> Result<()> {
    inputs::compile_hip_with(directory, clang, &["gfx90a", "gfx1030"])?;
    Step::new(directory, Tool::Ar.path()?).args(["rcs", "libhelper.a", "helper.o"]).run()?;
    for options in [&["-O3"][..], &["-O2", "-g"], &["-Xoffload-linker", "--build-id=none"]] {
        let library = |name: &str, search: &[&str]| -> Result<String> {
            let link = Step::new(directory, clang).args(search).args(["--offload-link", "--offload-new-driver"]);
            link.args(options).args(["-shared", "-nostdlib", "kernel.o", "-L.", "-lhelper", "-o", name]).run()?;
            images(directory, name)
        };
        let (theirs, ours) = (library("theirs.so", &[])?, library("ours.so", &["-B", links])?);
        ensure!(theirs == ours, "{} {options:?}:\n{theirs}\n{ours}", clang.display());
        ensure!(theirs.matches("_Z6kernelPi").count() == 2, "{theirs}");
    }
    Ok(())
}

/// Returns a line for each image of a file: ID and kernels.
pub fn images(directory: &Path, name: &str) -> Result<String> {
    let json = |command: &str| -> Result<Value> {
        Ok(serde_json::from_str(&fatbin(directory).args([command, "--json", name]).run()?.stdout)?)
    };
    let (scan, inspect) = (json("scan")?, json("inspect")?);
    let listed = scan["files"][0]["containers"][0]["images"].as_array().context("no images")?;
    let mut lines: Vec<String> = listed.iter().map(|image| image["id"].to_string()).collect();
    for image in inspect["files"][0]["images"].as_array().context("no images")? {
        let kernels = image["kernels"].as_array().into_iter().flatten();
        let mut kernels: Vec<String> = kernels.map(|kernel| kernel["name"].to_string()).collect();
        kernels.sort();
        lines.push(format!("{} {kernels:?}", image["arch"]));
    }
    // Releases use different orders. No runtime depends on them.
    lines.sort();
    Ok(lines.join("\n"))
}

/// An unused function that uses an undefined function.
const UNUSED: &str = "\
__attribute__((device)) int missing(int);
__attribute__((device)) int unused(int x) { return missing(x); }
";

/// Libraries with members of archives have the same kernels as the reference's libraries. Up to LLVM 20, a member is
/// linked if it defines a used symbol or has a kernel. Later releases link all members.
pub fn archives(directory: &Path) -> Result<()> {
    for release in ["15", "16", "19", "22"] {
        let links = format!("links-{release}");
        fatbin(directory).args(["install-links", "--llvm", release, &links]).run()?;
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        llvm_tool("clang-linker-wrapper", release, &format!("clang-tools-{release}"))?;
        inputs::compile_hip_with(directory, &clang, &["gfx90a"])?;
        let second = kernel("hip").replace("void kernel(", "void second(").replace("int main() { return 0; }", "");
        for (name, source) in [("second", second.as_str()), ("unused", UNUSED)] {
            std::fs::write(directory.join(format!("{name}.hip")), source)?;
            let compile = Step::new(directory, &clang).args(inputs::RDC).args(["-fPIC", "-O1", "-c"]);
            compile.args(["--offload-arch=gfx90a", &format!("{name}.hip"), "-o", &format!("{name}.o")]).run()?;
        }
        let archive = format!("lib{release}.a");
        let ar = Step::new(directory, Tool::Ar.path()?);
        ar.args(["rcs", &archive, "unused.o", "helper.o", "second.o"]).run()?;
        let library = |name: &str, search: &[&str]| -> Result<String> {
            let link = Step::new(directory, &clang).args(search).args(["--offload-link", "--offload-new-driver"]);
            link.args(["-shared", "-nostdlib", "kernel.o", &archive, "-o", name]).run()?;
            images(directory, name)
        };
        let (theirs, ours) = (library("theirs.so", &[])?, library("ours.so", &["-B", &links])?);
        ensure!(theirs == ours, "{release}:\n{theirs}\n{ours}");
        ensure!(theirs.contains("_Z6kernelPi") && theirs.contains("_Z6secondPi"), "{theirs}");

        let report = fatbin(directory).args(["link", "--abi", &format!("llvm{release}"), "--report", "json"]);
        let lld = format!("--device-link-tool=amdgcn=/usr/lib/llvm-{release}/bin/ld.lld");
        let report = report.args([&lld, "--", "true", "kernel.o", &archive, "-o", "x"]).run()?;
        let report: Value = serde_json::from_str(&report.stdout)?;
        let inputs = report["targets"][0]["inputs"].as_array().context("no target")?.len();
        ensure!(inputs == if release == "22" { 4 } else { 3 }, "{release}: {report}");
    }
    Ok(())
}

fn openmp(directory: &Path, release: &str, clang: &Path, links: &str) -> Result<()> {
    std::fs::write(directory.join("openmp.c"), inputs::OPENMP)?;
    let libraries =
        [openmp_library(release, "libomp.so.5")?, openmp_library(release, &format!("libomptarget.so.{release}"))?];
    let program = format!("program-{release}");
    let compile = Step::new(directory, clang).args(["-B", links, "-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu"]);
    // The driver names the libraries of a single release, which is a different one.
    let link = compile.args(["-O2", "-Wl,--no-as-needed", "openmp.c"]).args(&libraries);
    let directory_of = libraries[1].parent().context("a library is in a directory")?;
    link.arg("-L").arg(directory_of).args(["-o", &program]).run()?;
    let run = Step::new(directory, directory.join(&program)).env("OMP_TARGET_OFFLOAD", "MANDATORY");
    let done = run.env("LD_LIBRARY_PATH", directories_of(&[&libraries[0], &libraries[1]])).run()?;
    if done.stdout == "42\n" { Ok(()) } else { Err(done.error("expected 42")) }
}
