//! Offload entries that are not referenced by name, in a link with garbage collection.
//!
//! lld counts a reference to the bounds of a section only with `-z nostart-stop-gc`. With `--match host.o`, fatbin's object
//! references the entries themselves, and no flag is needed.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{cc, wrap};
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};

const HOST: &str = "x86_64-pc-linux-gnu";

pub fn survive_collection(directory: &Path, linker: Linker) -> Result<()> {
    links_and_runs(directory, linker, &["-Wl,--gc-sections"])
}

pub fn survive_folding(directory: &Path, linker: Linker) -> Result<()> {
    links_and_runs(directory, linker, &["-Wl,--gc-sections", "-Wl,--icf=all"])
}

/// Links and runs the program of the case `openmp` with the real runtime.
fn links_and_runs(directory: &Path, linker: Linker, flags: &[&str]) -> Result<()> {
    let case = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp");
    let clang = || -> Result<Step> {
        let step =
            Step::new(directory, Tool::Clang.path()?).args(["-O1", "-fPIE", "-ffunction-sections", "-fdata-sections"]);
        Ok(step.arg("-fopenmp").arg(format!("-fopenmp-targets={HOST}")).arg("-c").arg(case.join("main.c")))
    };
    clang()?.args(["--offload-host-only", "-o", "host.o"]).run()?;
    clang()?.args(["--offload-device-only", "-fPIC", "-DMARKER=42", "-o", "device.o"]).run()?;
    cc(directory)?.args(["-shared", "-o", "device.so", "device.o"]).run()?;
    let image = format!("--image=file=device.so,triple={HOST}");
    wrap(directory, "openmp").args(["--match", "host.o", &image, "-o", "wrapper.o"]).run()?;

    let (libomp, libomptarget) = (Tool::Libomp.path()?, Tool::Libomptarget.path()?);
    let step =
        cc(directory)?.args(linker.cc_flags()?).args(flags).args(["-pie", "-o", "program", "host.o", "wrapper.o"]);
    step.arg("-Wl,--no-as-needed").arg(&libomp).arg(&libomptarget).run()?;
    let libraries = libomp.parent().unwrap_or(&libomp);
    let step = Step::new(directory, directory.join("program")).env("LD_LIBRARY_PATH", libraries);
    let done = step.env("OMP_TARGET_OFFLOAD", "MANDATORY").run()?;
    let expected = std::fs::read_to_string(case.join("expected-stdout"))?;
    ensure!(done.stdout == expected, done.error(format!("expected: {expected}")));
    Ok(())
}
