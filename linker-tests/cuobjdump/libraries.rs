//! Libraries that people install, of CUDA 11.8 to 13.2: every list, the resources and symbols of 28,000 functions, and the
//! extracted files.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{pair, trial};
use crate::dropin::{Call, Pair, Side};
use crate::harness::step::Step;
use crate::harness::tools::{Missing, fetched, find_in, in_path, not_fetched};
use crate::real_files;

/// Libraries with cubins of CUDA 12.1 that cuobjdump rejects as invalid.
const GIVES_UP_ON: [&str; 1] = ["libbitsandbytes_cuda121.so"];

/// Wheel of a library with 153 images, among them cubins for `sm_101`.
const CURAND: &str = "nvidia_curand_cu12-10.3.10.19-py3-none-manylinux_2_27_x86_64";

const LISTS: [&str; 9] = [
    "",
    "-lelf -lptx",
    "-all -lelf -lptx",
    "-all -res-usage",
    "-all -symbols",
    "-all -ltext",
    "-all -ptx -arch sm_90",
    "-arch sm_75 -xelf all",
    "-all -xelf all -xptx all",
];

pub fn trials() -> impl Iterator<Item = Trial> {
    ["bitsandbytes", "nvjpeg", "qiskit-aer", "curand"].into_iter().map(|name| {
        trial(format!("libraries/{name}"), move |directory| {
            equals_cuobjdump(directory, name)?;
            // The libraries take hundreds of megabytes; the steps of the trial write them again.
            Ok(std::fs::remove_dir_all(directory)?)
        })
    })
}

fn wheel(name: &'static str) -> Result<PathBuf> {
    if name == "curand" {
        return Ok(find_in(&fetched("curand"), CURAND).ok_or_else(|| not_fetched(CURAND))?);
    }
    real_files::path_of(name)
}

fn equals_cuobjdump(directory: &Path, name: &'static str) -> Result<()> {
    let pair = pair(directory)?;
    let unzip = in_path("unzip").ok_or_else(|| Missing::new("unzip", "unzip"))?;
    Step::new(directory, unzip).args(["-q", "-j"]).arg(wheel(name)?).args(["*.so*", "-d", "libraries"]).run()?;
    let mut compared = 0;
    for entry in std::fs::read_dir(directory.join("libraries"))? {
        let library = entry?.file_name().to_string_lossy().into_owned();
        let path = format!("../libraries/{library}");
        if GIVES_UP_ON.contains(&library.as_str()) {
            reads_what_cuobjdump_rejects(&pair, &path)?;
            continue;
        }
        for list in LISTS {
            let line: Vec<&str> = list.split_whitespace().chain([path.as_str()]).collect();
            let (theirs, ours) = pair.both(&Call::new(&line))?;
            // The difference may be of megabytes.
            ensure!(theirs.status == ours.status && theirs.err == ours.err, "{line:?}: {} {}", ours.status, ours.err);
            let mut lines = theirs.out.lines().zip(ours.out.lines());
            let different = lines.find(|(theirs, ours)| theirs != ours);
            ensure!(theirs.out == ours.out, "{line:?}: other lines, first: {different:?}");
            ensure!(theirs.left == ours.left, "{line:?}: other files");
            compared += usize::from(!theirs.out.is_empty());
        }
    }
    ensure!(compared >= LISTS.len(), "nothing to compare");
    Ok(())
}

/// The drop-in lists as many images as both programs list in the same library for CUDA 11.8.
fn reads_what_cuobjdump_rejects(pair: &Pair, path: &str) -> Result<()> {
    let call = Call::new(&["-all", "-lelf", "-lptx", path]);
    let theirs = pair.call(Side::Theirs, &call)?;
    ensure!(theirs.status == 1 && theirs.err.contains("Invalid ELF in"), "cuobjdump reads it now: {theirs:?}");
    let ours = pair.call(Side::Ours, &call)?;
    let count = ours.out.lines().count();
    ensure!(ours.status == 0 && count == 55, "{count} lines: {}", ours.err);
    Ok(())
}
