//! The image that a real runtime selects, compared with the prediction of `fatbin select`.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{HOST, directories_of, hip_library, openmp_library, wrap};
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool, find_in, llvm_tool, not_fetched};

/// Runs two images for the host's own processor, in either order: the output identifies the selected image.
pub fn openmp(directory: &Path, release: &'static str, linker: Linker) -> Result<()> {
    let libomp = openmp_library(release, "libomp.so.5")?;
    let libomptarget = openmp_library(release, &format!("libomptarget.so.{release}"))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/cases/openmp/main.c");
    let clang = || -> Result<Step> {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        let step = Step::new(directory, clang).args(["-O1", "-fPIE", "-fPIC", "-fopenmp", "-c"]);
        Ok(step.arg(format!("-fopenmp-targets={HOST}")).arg(&source))
    };
    clang()?.args(["--offload-host-only", "-o", "host.o"]).run()?;
    for marker in ["41", "42"] {
        let object = format!("{marker}.o");
        clang()?.args(["--offload-device-only", &format!("-DMARKER={marker}"), "-o", &object]).run()?;
        Step::new(directory, Tool::Cc.path()?).args(["-shared", "-o", &format!("{marker}.so"), &object]).run()?;
    }
    for markers in [["41", "42"], ["42", "41"]] {
        let images = markers.map(|marker| format!("--image=file={marker}.so,triple={HOST}"));
        let abi = format!("llvm{release}");
        wrap(directory).args(["--kind", "openmp", "--abi", &abi, "-o", "wrapper.o"]).args(&images).run()?;
        let step = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?);
        let step = step.args(["-pie", "-o", "program", "host.o", "wrapper.o", "-Wl,--no-as-needed"]);
        step.arg(&libomp).arg(&libomptarget).run()?;
        let step = Step::new(directory, directory.join("program"));
        let step = step.env("LD_LIBRARY_PATH", directories_of(&[&libomp, &libomptarget]));
        let done = step.env("OMP_TARGET_OFFLOAD", "MANDATORY").run()?;
        let answer = answer(directory, "x86_64", "program")?;
        let of_release = if release.parse::<u32>()? <= 20 { &answer["earlier"] } else { &answer };
        let chosen = of_release["chosen"].as_u64().context("an image that is chosen")?;
        let expected = format!("device wrote {},", markers[chosen as usize]);
        if !done.stdout.starts_with(&expected) {
            return Err(done.error(format!("select says of images {markers:?} in this order: {expected}")));
        }
    }
    Ok(())
}

/// Target IDs in one bundle. Bundles of the second half are invalid: two of their entries are compatible with one device.
const BUNDLES: [&[&str]; 6] = [
    &["gfx908", "gfx90a"],
    &["gfx90a:xnack+", "gfx90a:xnack-"],
    &["gfx906:sramecc+:xnack-", "gfx90a:sramecc+:xnack-"],
    &["gfx90a", "gfx90a:xnack+"],
    &["gfx90a:xnack-", "gfx90a"],
    &["gfx90a", "gfx90a:sramecc+:xnack-"],
];

const DEVICES: [&str; 4] =
    ["gfx90a:sramecc+:xnack-", "gfx90a:sramecc-:xnack+", "gfx908:sramecc+:xnack-", "gfx906:sramecc+:xnack-"];

/// Low byte of `e_flags` in code for these processors.
const MACHINES: [(&str, u8); 3] = [("gfx906", 0x2f), ("gfx908", 0x30), ("gfx90a", 0x3f)];

/// Compares with libamd_comgr. HIP uses it to select the entry of a bundle, and it needs no device.
pub fn hip(directory: &Path, release: &'static str, linker: Linker) -> Result<()> {
    let hip = hip_library(release)?;
    let comgr = hip.parent().and_then(|directory| find_in(directory, "libamd_comgr.so.2"));
    let comgr = comgr.ok_or_else(|| not_fetched("libamd_comgr.so.2"))?;
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/runtimes/comgr.c");
    let step = Step::new(directory, Tool::Cc.path()?).args(linker.cc_flags()?).args(["-o", "ask", "-fPIE", "-pie"]);
    step.arg(source).arg(&comgr).arg("-Wl,--allow-shlib-undefined").run()?;
    for ids in BUNDLES {
        write_bundle(directory, ids)?;
        for device in DEVICES {
            let isa = format!("amdgcn-amd-amdhsa--{device}");
            let ask = Step::new(directory, directory.join("ask")).env("LD_LIBRARY_PATH", directories_of(&[&comgr]));
            let done = ask.args(["bundle", &isa]).run()?;
            let answer = answer(directory, device, "bundle")?;
            let chosen = answer["chosen"].as_u64().map(|index| answer["images"][index as usize]["offset"].to_string());
            let expected = chosen.unwrap_or("-1".to_owned());
            if done.stdout.trim() != expected {
                return Err(done.error(format!("select says of {ids:?} for {device}: {expected}")));
            }
        }
    }
    Ok(())
}

/// Makes a bundle with these IDs, each with code whose header matches. IDs that tools refuse are made by renaming.
fn write_bundle(directory: &Path, ids: &[&str]) -> Result<()> {
    let stand_in = ids[1].replace("gfx90a", "gfx942");
    let mut step = Step::new(directory, fatbin_program()).args(["bundle", "--raw", "--type=o", "-o", "bundle"]);
    step = step.args(["--align=4096", "--target=host-x86_64-unknown-linux-gnu=/dev/null"]);
    let code = std::fs::read(fixture("answer-gfx90a.hsaco")?)?;
    for (file, id, stands_for) in [("one", ids[0], ids[0]), ("two", &stand_in, ids[1])] {
        let machine = MACHINES.iter().find(|(name, _)| stands_for.starts_with(name)).context("a machine number")?;
        let mut own = code.clone();
        own[48] = machine.1;
        std::fs::write(directory.join(file), own)?;
        step = step.arg(format!("--target=hipv4-amdgcn-amd-amdhsa--{id}={file}"));
    }
    step.run()?;
    let mut bundle = std::fs::read(directory.join("bundle"))?;
    let places: Vec<usize> = bundle.windows(6).enumerate().filter(|(_, it)| *it == b"gfx942").map(|it| it.0).collect();
    ensure!(places.len() == 1, "the id stands in the bundle once, not at {places:?}");
    bundle[places[0]..places[0] + 6].copy_from_slice(b"gfx90a");
    Ok(std::fs::write(directory.join("bundle"), bundle)?)
}

/// Returns the result of `select` for the only bundle in a file.
fn answer(directory: &Path, device: &str, file: &str) -> Result<Value> {
    // The exit status is 1 if no image is selected, which is a valid result.
    let select = "\"$0\" select --json --device \"$1\" \"$2\" || [ $? = 1 ]";
    let step = Step::new(directory, "sh").args(["-c", select, fatbin_program(), device, file]);
    let done = step.run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let choices = document["files"][0]["choices"].as_array().context("choices")?;
    ensure!(choices.len() == 1 && choices[0]["answers"].as_array().is_some_and(|it| it.len() == 1), "{}", done.stdout);
    Ok(choices[0]["answers"][0].clone())
}
