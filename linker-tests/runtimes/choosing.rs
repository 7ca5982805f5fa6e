//! Which of several images a real runtime takes, beside what `fatbin select` says that it takes.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{HOST, folders_of, openmp_library, wrap};
use crate::step::Step;
use crate::tools::{Linker, Tool, llvm_tool};

/// Two images for the host's own processor, in either order: both run, so what is printed tells which was taken.
pub fn openmp(folder: &Path, release: &'static str, linker: Linker) -> Result<()> {
    let libomp = openmp_library(release, "libomp.so.5")?;
    let libomptarget = openmp_library(release, &format!("libomptarget.so.{release}"))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/openmp/main.c");
    let clang = || -> Result<Step> {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let step = Step::new(folder, clang).args(["-O1", "-fPIE", "-fPIC", "-fopenmp", "-c"]);
        Ok(step.arg(format!("-fopenmp-targets={HOST}")).arg(&source))
    };
    clang()?.args(["--offload-host-only", "-o", "host.o"]).run()?;
    for marker in ["41", "42"] {
        let object = format!("{marker}.o");
        clang()?.args(["--offload-device-only", &format!("-DMARKER={marker}"), "-o", &object]).run()?;
        Step::new(folder, Tool::Cc.path()?).args(["-shared", "-o", &format!("{marker}.so"), &object]).run()?;
    }
    for markers in [["41", "42"], ["42", "41"]] {
        let images = markers.map(|marker| format!("--image=file={marker}.so,triple={HOST}"));
        let abi = format!("llvm{release}");
        wrap(folder).args(["--kind", "openmp", "--abi", &abi, "-o", "wrapper.o"]).args(&images).run()?;
        let step = Step::new(folder, Tool::Cc.path()?).args(linker.cc_flags()?);
        let step = step.args(["-pie", "-o", "program", "host.o", "wrapper.o", "-Wl,--no-as-needed"]);
        step.arg(&libomp).arg(&libomptarget).run()?;
        let step = Step::new(folder, folder.join("program"));
        let step = step.env("LD_LIBRARY_PATH", folders_of(&[&libomp, &libomptarget]));
        let done = step.env("OMP_TARGET_OFFLOAD", "MANDATORY").run()?;
        let expected = format!("device wrote {},", markers[selected(folder, release)?]);
        if !done.stdout.starts_with(&expected) {
            return Err(done.complain(format!("select says of images {markers:?} in this order: {expected}")));
        }
    }
    Ok(())
}

/// The image that `select` says this release takes.
fn selected(folder: &Path, release: &str) -> Result<usize> {
    let select = Step::new(folder, env!("CARGO_BIN_EXE_fatbin"));
    let done = select.args(["select", "--json", "--device", "x86_64", "program"]).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let choices = document["files"][0]["choices"].as_array().context("choices")?;
    ensure!(choices.len() == 1, "{}", done.stdout);
    let answer = &choices[0]["answers"][0];
    let of_release = if release.parse::<u32>()? <= 20 { &answer["earlier"] } else { answer };
    Ok(of_release["chosen"].as_u64().context("an image that is chosen")? as usize)
}
