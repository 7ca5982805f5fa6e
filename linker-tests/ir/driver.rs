//! The OpenMP driver of clang up to 14, and of 15 on request: it calls clang-offload-wrapper, and compiles what that wrote.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::link_drop_in;
use crate::harness::step::Step;
use crate::harness::tools::llvm_tool;
use crate::harness::trial::{completion, fresh_directory};
use crate::runtimes::{HOST, directories_of, openmp_library};

/// Releases with this driver, and the flags that select it.
const RELEASES: [(&str, &[&str]); 2] = [("14", &[]), ("15", &["--no-offload-new-driver"])];

/// Ways to compile: name, flags.
const WAYS: [(&str, &[&str]); 4] = [
    ("default", &[]),
    ("optimized", &["-O2"]),
    // The compiler writes assembly of the wrapper first.
    ("save-temps", &["-save-temps"]),
    ("no-pie", &["-no-pie", "-fno-pie"]),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (release, driver) in RELEASES {
        for (way, flags) in WAYS {
            let name = format!("driver-{release}-{way}");
            let flags = [driver, flags].concat();
            trials.push(Trial::ignorable_test(format!("ir/{name}"), move || {
                completion(fresh_directory("ir", &name).and_then(|directory| runs(&directory, release, &flags)))
            }));
        }
    }
    trials
}

/// Builds `cases/openmp` by one command with the drop-in first on the compiler's path, and runs it with the real runtime.
fn runs(directory: &Path, release: &str, flags: &[&str]) -> Result<()> {
    let libomp = openmp_library(release, "libomp.so.5")?;
    let libomptarget = openmp_library(release, "libomptarget.so")?;
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    link_drop_in(&directory.join("links"), "clang-offload-wrapper")?;
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp");

    let step = Step::new(directory, &clang).args(["-B", "links", "-fopenmp"]).args(flags);
    let step = step.arg(format!("-fopenmp-targets={HOST}")).args(["-Xopenmp-target", "-DMARKER=42", "-L"]);
    let library_directory = libomptarget.parent().map(PathBuf::from).unwrap_or_default();
    let compile = step.arg(library_directory).arg(case.join("main.c")).args(["-o", "program"]);
    // The compiler must find the drop-in, or this trial would test LLVM's own tool.
    let found = Step::new(directory, &clang).args(["-B", "links", "-print-prog-name=clang-offload-wrapper"]).run()?;
    ensure!(found.stdout == "links/clang-offload-wrapper\n", found.error("not the drop-in"));
    compile.run()?;

    let step = Step::new(directory, directory.join("program")).env("OMP_TARGET_OFFLOAD", "MANDATORY");
    let done = step.env("LD_LIBRARY_PATH", directories_of(&[&libomp, &libomptarget])).run()?;
    let expected = std::fs::read_to_string(case.join("expected-stdout"))?;
    ensure!(done.stdout == expected, done.error(format!("expected: {expected}")));
    Ok(())
}
