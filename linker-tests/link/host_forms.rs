//! `fatbin link` in builds: archivers under a build tool's launcher, and the compilers of a program's language.

use std::path::Path;

use anyhow::{Context, Result, ensure};

use super::{fatbin, inputs};
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::linker_wrapper::kernel;
use crate::runtimes::{directories_of, openmp_library};

/// A launcher for links also starts archivers. They run unchanged: their libraries have no registration, and the program
/// that is linked with them registers the device code.
pub fn archivers(directory: &Path) -> Result<()> {
    inputs::compile_hip(directory, &["gfx90a"])?;
    let llvm_ar = llvm_tool("llvm-ar", "22", "llvm-22")?;
    for ar in [Tool::Ar.path()?, llvm_ar] {
        let _ = std::fs::remove_file(directory.join("libk.a"));
        fatbin(directory).args(["link", "--"]).arg(&ar).args(["qc", "libk.a", "kernel.o", "helper.o"]).run()?;
        fatbin(directory).args(["link", "--", "ranlib", "libk.a"]).run()?;
        let members = Step::new(directory, &ar).args(["t", "libk.a"]).run()?.stdout;
        ensure!(members == "kernel.o\nhelper.o\n", "{}: {members}", ar.display());
    }
    let report = fatbin(directory).args(["link", "-v", "--report", "json", "--", "ar", "t", "libk.a"]).run()?;
    ensure!(!report.stdout.contains("\"output\""), "{}", report.error("an archiver links nothing"));
    let error = fatbin(directory).args(["link", "--", "ar", "t", "missing.a"]).run().err().context("ar succeeded")?;
    ensure!(error.to_string().contains("ar: failed with exit status"), "{error}");
    Ok(())
}

/// A program in C++ whose device code needs the libraries of C++.
const CXX: &str = "\
struct Guard { ~Guard(); };
#pragma omp declare target
__attribute__((noinline)) int helper(int x);
Guard::~Guard() { helper(0); }
int helper(int x) { return x + 1; }
#pragma omp end declare target
extern \"C\" int printf(const char *, ...);
int main() {
    int r = 0;
#pragma omp target map(from : r)
    {
        Guard guard;
        r = helper(41);
    }
    printf(\"%d\\n\", r);
}
";

/// The compiler of the program links the device code for the CPU, because it knows the libraries of its language.
pub fn cpu_device_in_cxx(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("cxx.cpp"), CXX)?;
    let clang = llvm_tool("clang++", "22", "clang-22")?;
    let compile = Step::new(directory, &clang).args(["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-fPIE"]);
    compile.args(["-c", "cxx.cpp", "-o", "cxx.o"]).run()?;
    let libraries = [openmp_library("22", "libomp.so")?, openmp_library("22", "libomptarget.so")?];
    let clang = clang.to_str().context("the path is text")?;
    for host in ["g++", clang] {
        let link = fatbin(directory).args(["link", "--", host, "-Wl,--no-as-needed", "cxx.o"]).args(&libraries);
        link.args(["-o", "program"]).run()?;
        let run = Step::new(directory, directory.join("program")).env("OMP_TARGET_OFFLOAD", "MANDATORY");
        let done = run.env("LD_LIBRARY_PATH", directories_of(&[&libraries[0], &libraries[1]])).run()?;
        ensure!(done.stdout == "42\n", "{}", done.error(format!("{host}: expected 42")));
    }
    Ok(())
}

/// Assembly text that clang up to 19 stores with `-S`: clang assembles it for a CPU, and no GPU loads it.
pub fn assembly(directory: &Path) -> Result<()> {
    std::fs::write(directory.join("kernel.hip"), kernel("hip"))?;
    std::fs::write(directory.join("openmp.c"), inputs::OPENMP)?;
    for release in ["16", "19"] {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let links = format!("links-{release}");
        fatbin(directory).args(["install-links", "--llvm", release, &links]).run()?;
        let compile = Step::new(directory, &clang).args(["-fopenmp", "-fopenmp-targets=x86_64-pc-linux-gnu", "-O1"]);
        compile.args(["-fPIE", "-S", "openmp.c", "-o", "openmp.s"]).run()?;
        Step::new(directory, &clang).args(["-c", "openmp.s", "-o", "openmp.o"]).run()?;
        let libraries =
            [openmp_library(release, "libomp.so.5")?, openmp_library(release, &format!("libomptarget.so.{release}"))?];
        let wrapper = directory.join(links).join("clang-linker-wrapper");
        let words = |step: Step| step.args(["-Wl,--no-as-needed", "openmp.o"]).args(&libraries).args(["-o", "program"]);
        let ours = words(fatbin(directory).args(["link", "--", "cc"]));
        let drop_in =
            Step::new(directory, wrapper).arg("--host-triple=x86_64-unknown-linux-gnu").arg("--linker-path=cc");
        for link in [ours, words(drop_in)] {
            link.run()?;
            let run = Step::new(directory, directory.join("program")).env("OMP_TARGET_OFFLOAD", "MANDATORY");
            let done = run.env("LD_LIBRARY_PATH", directories_of(&[&libraries[0], &libraries[1]])).run()?;
            ensure!(done.stdout == "42\n", "{}", done.error(format!("{release}: expected 42")));
        }

        let hip = ["-x", "hip", "-nogpulib", "-nogpuinc", "--offload-new-driver", "--offload-arch=gfx90a"];
        let compile = Step::new(directory, &clang).args(hip);
        compile.args(["-S", "kernel.hip", "-o", "hip.s"]).run()?;
        Step::new(directory, &clang).args(["-c", "hip.s", "-o", "hip.o"]).run()?;
        let words =
            ["--", "cc", "-shared", "-nostdlib", "-Wl,--unresolved-symbols=ignore-all", "hip.o", "-o", "hip.so"];
        let error = fatbin(directory).arg("link").args(words).run().err().context("text was registered as code")?;
        let message = "hip.o: the image for gfx90a is no device code but text";
        ensure!(error.to_string().contains(message), "{release}: {error}");
        let warned = fatbin(directory).args(["link", "--check-entries=warn"]).args(words).run()?;
        ensure!(warned.report.contains("hip.o: the image for gfx90a is no device code"), "{}", warned.report);
    }
    Ok(())
}
