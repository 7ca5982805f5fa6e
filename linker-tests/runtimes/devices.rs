//! The image that libomptarget loads on devices of different processors, under a stand-in for libcuda that prints the image's processor.
//!
//! Each device runs exactly one of the images. The runtimes of LLVM 15 to 17 read the processor from the offload binary around an image,
//! and load the last image of all on every device if the program registers the images alone.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{HOST, directories_of, openmp_library, wrap};
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, find_in, llvm_tool, not_fetched};

/// Processors of the images, in the order of the program.
const SETS: [&[&str]; 4] = [&["60", "90"], &["90", "60"], &["60", "75", "90"], &["90", "60", "75"]];

/// A program with one region.
const PROGRAM: &str = "\
int main(void) {
    int result = 0;
#pragma omp target map(tofrom : result)
    result = 42;
    return 0;
}
";

/// Compiles the host's code and the stand-in. Returns libomp and libomptarget.
fn prepare(directory: &Path, release: &str) -> Result<[PathBuf; 2]> {
    let libomp = openmp_library(release, "libomp.so.5")?;
    let libomptarget = openmp_library(release, &format!("libomptarget.so.{release}"))?;
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    std::fs::write(directory.join("program.c"), PROGRAM)?;
    let compile = Step::new(directory, clang).args(["-O1", "-fPIE", "-fopenmp", "--offload-host-only", "-c"]);
    compile.arg(format!("-fopenmp-targets={HOST}")).args(["program.c", "-o", "host.o"]).run()?;
    build_driver(directory)?;
    Ok([libomp, libomptarget])
}

/// Compares whether a release loads a cubin of CUDA 13 with the answer of `fatbin requires`. Without an image, the region
/// runs on the host.
pub fn load_cubin_of_cuda_13(directory: &Path, release: &str) -> Result<()> {
    let [libomp, libomptarget] = prepare(directory, release)?;
    let image =
        format!("--image=file={},triple=nvptx64-nvidia-cuda,arch=sm_90", fixture("answer-sm_90.cubin")?.display());
    let abi = format!("llvm{release}");
    wrap(directory).args(["--kind", "openmp", "--abi", &abi, "-o", "wrapper.o"]).arg(image).run()?;
    let link = Step::new(directory, Tool::Cc.path()?).args(["-pie", "host.o", "wrapper.o", "-o", "program"]);
    link.arg("-Wl,--no-as-needed").arg(&libomp).arg(&libomptarget).run()?;
    let run = Step::new(directory, directory.join("program")).env("CUDA_DEVICE", "90");
    let own = directory.join("libcuda.so.1");
    let done = run.env("LD_LIBRARY_PATH", directories_of(&[&own, &libomp, &libomptarget])).run()?;
    let answer = Step::new(directory, fatbin_program()).args(["requires", "--json", "wrapper.o"]).run()?;
    let answer: Value = serde_json::from_str(&answer.stdout)?;
    let all = answer["files"][0]["all"].as_array().context("a list of floors")?;
    let llvm = all.iter().find(|it| it["product"] == "llvm").context("a floor of LLVM")?;
    let loaded_by = llvm["floor"]["loaded_by"].as_array().context("the releases that load it")?;
    let expected = if loaded_by.iter().any(|it| it == release) { "sm_90\n" } else { "" };
    ensure!(done.stdout == expected, "{}", done.error(format!("requires says: {expected:?}")));
    Ok(())
}

pub fn load(directory: &Path, release: &str) -> Result<()> {
    let [libomp, libomptarget] = prepare(directory, release)?;
    write_images(directory)?;
    let abi = format!("llvm{release}");
    for set in SETS {
        let image = |arch: &&str| format!("--image=file={arch}.cubin,triple=nvptx64-nvidia-cuda,arch=sm_{arch}");
        let images = || set.iter().map(image);
        let link = |step: Step| step.arg("-Wl,--no-as-needed").arg(&libomp).arg(&libomptarget).run();
        wrap(directory).args(["--kind", "openmp", "--abi", &abi, "-o", "wrapper.o"]).args(images()).run()?;
        link(Step::new(directory, Tool::Cc.path()?).args(["-pie", "host.o", "wrapper.o", "-o", "wrapped"]))?;
        let fatbin = || Step::new(directory, fatbin_program());
        let packed = images().map(|image| format!("{image},kind=openmp"));
        fatbin().args(["pack", "--abi", &abi, "-o", "images.offload"]).args(packed).run()?;
        // The kernels of the images have other names.
        let linked = fatbin().args(["link", "--check-entries=off", "--abi", &abi, "--"]).arg(Tool::Cc.path()?);
        link(linked.args(["-pie", "host.o", "images.offload", "-o", "linked"]))?;
        for program in ["wrapped", "linked"] {
            for device in set {
                let run = Step::new(directory, directory.join(program)).env("OMP_TARGET_OFFLOAD", "MANDATORY");
                let run = run.env("CUDA_DEVICE", device);
                let own = directory.join("libcuda.so.1");
                let done = run.env("LD_LIBRARY_PATH", directories_of(&[&own, &libomp, &libomptarget])).run()?;
                let loaded = format!("sm_{device}\n");
                ensure!(done.stdout == loaded, "{}", done.error(format!("{program} of {set:?} on sm_{device}")));
            }
        }
    }
    Ok(())
}

/// Writes a cubin for each processor. The runtimes of all releases read the headers of CUDA 12.
fn write_images(directory: &Path) -> Result<()> {
    let ptxas: PathBuf = find_in(&fetched("ptxas-12.0"), "ptxas").ok_or_else(|| not_fetched("ptxas of ptxas-12.0"))?;
    for arch in SETS[2] {
        let source = format!(
            ".version 7.8\n.target sm_{arch}\n.address_size 64\n.visible .entry kernel(.param .u64 p) {{ ret; }}\n"
        );
        std::fs::write(directory.join(format!("{arch}.ptx")), source)?;
        let step = Step::new(directory, &ptxas).arg(format!("-arch=sm_{arch}")).arg(format!("{arch}.ptx"));
        step.args(["-o", &format!("{arch}.cubin")]).run()?;
    }
    Ok(())
}

fn build_driver(directory: &Path) -> Result<()> {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/runtimes/cuda_driver.c");
    let step = Step::new(directory, Tool::Cc.path()?).args(["-w", "-shared", "-fPIC", "-Wl,-soname,libcuda.so.1"]);
    step.arg(source).args(["-o", "libcuda.so.1"]).run()?;
    std::os::unix::fs::symlink("libcuda.so.1", directory.join("libcuda.so")).context("libcuda.so")
}
