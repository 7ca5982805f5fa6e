//! Cubins of releases where PyPI has only ptxas, as files and in containers of fatbinary 13.5.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::{contents, equal, extracted, fresh_output};
use crate::dropin::{Call, Pair};
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, fetched, not_fetched};

/// The last release of CUDA 11, and the first and the last of CUDA 12.
pub const RELEASES: [&str; 3] = ["11.8", "12.0", "12.9"];

const PTX: &str = include_str!("../cuobjdump/kernels.ptx");

/// Architectures, the first release with each, and the version of the PTX that ptxas needs.
const ARCHITECTURES: [(&str, &str, &str); 12] = [
    ("sm_50", "11.8", "7.8"),
    ("sm_60", "11.8", "7.8"),
    ("sm_70", "11.8", "7.8"),
    ("sm_75", "11.8", "7.8"),
    ("sm_80", "11.8", "7.8"),
    ("sm_86", "11.8", "7.8"),
    ("sm_90", "11.8", "7.8"),
    ("sm_90a", "12.0", "8.0"),
    ("sm_100", "12.9", "8.8"),
    ("sm_100a", "12.9", "8.8"),
    ("sm_100f", "12.9", "8.8"),
    ("sm_120", "12.9", "8.8"),
];

/// Releases with cubins that cuobjdump 13.5 does not recognize as device code and fatbinary 13.5 does not concatenate.
const REJECTED: [&str; 1] = ["12.0"];

const OPTIONS: [&[&str]; 4] = [&[], &["-c"], &["-g"], &["-lineinfo"]];

/// fatbin reads each cubin, and agrees with cuobjdump on containers of them.
pub fn cubins(directory: &Path, release: &str) -> Result<()> {
    let ptxas = fetched(&format!("ptxas-{release}")).join("ptxas");
    let ptxas = Some(ptxas).filter(|path| path.is_file()).ok_or_else(|| not_fetched("ptxas"))?;
    let cuobjdump = Tool::Cuobjdump.path()?;
    let pair = Pair::new(directory, "cuobjdump", &cuobjdump)?;
    let known: Vec<_> = ARCHITECTURES.iter().filter(|(_, first, _)| *first <= release).collect();
    ensure!(known.len() >= 7, "{} architectures", known.len());
    for (number, options) in OPTIONS.iter().enumerate() {
        let mut images = Vec::new();
        for (arch, _, version) in &known {
            let (input, cubin) = (format!("{arch}.ptx"), format!("{number}-{arch}.cubin"));
            let text = PTX.replace("8.8", version).replace("sm_75", arch);
            std::fs::write(directory.join(&input), text)?;
            let step =
                Step::new(directory, &ptxas).args(*options).args([&format!("-arch={arch}"), "-o", &cubin, &input]);
            step.run()?;
            states(directory, &cubin, arch)?;
            let path = format!("../{cubin}");
            let is_rejected = is_rejected(&pair, release, &path, arch)?;
            images.push((is_rejected, format!("--image3=kind=elf,sm={},file={cubin}", &arch["sm_".len()..])));
            if is_rejected {
                continue;
            }
            for option in ["-res-usage", "-symbols", "-ltext"] {
                pair.same(&Call::new(&[option, &path])).with_context(|| format!("{release} {options:?} {arch}"))?;
            }
        }
        let fat = format!("fat-{number}");
        for packing in [&[][..], &["--compress-all"], &["--concat", "--compress-all", "--compress-mode=size"]] {
            let what = format!("{release} {options:?} {packing:?}");
            let is_strict = packing.contains(&"--concat");
            let packed: Vec<_> = images.iter().filter(|(is_rejected, _)| !is_rejected || !is_strict).collect();
            let step = Step::new(directory, Tool::Fatbinary.path()?).arg(format!("--create={fat}")).args(packing);
            step.args(packed.iter().map(|(_, image)| image)).run()?;
            let ours = extracted(directory, &fat, &[".cubin"])?;
            let is_original = |name: &str| packed.iter().any(|(_, image)| image.ends_with(&format!("file={name}")));
            equal(&what, &ours, &contents(directory, is_original)?, packed.len())?;
            if packed.iter().all(|(is_rejected, _)| !is_rejected) {
                let theirs = fresh_output(directory)?;
                Step::new(&theirs, &cuobjdump).args(["-xelf", "all", &format!("../{fat}")]).run()?;
                equal(&what, &ours, &contents(&theirs, |_| true)?, packed.len())?;
            }
        }
    }
    Ok(())
}

/// Returns whether cuobjdump rejects a cubin. It must be of a release in [`REJECTED`]. The drop-in lists it.
fn is_rejected(pair: &Pair, release: &str, path: &str, arch: &str) -> Result<bool> {
    let (theirs, ours) = pair.both(&Call::new(&["-lelf", path]))?;
    let is_listed = ours.status == 0 && ours.out.ends_with(&format!(".{}.cubin\n", arch.trim_end_matches('f')));
    ensure!(is_listed, "{path}: {ours:?}");
    ensure!(theirs == ours || REJECTED.contains(&release) && theirs.status == 255, "{path}: {theirs:?}");
    Ok(theirs != ours)
}

/// fatbin reads the architecture and the kernels from the cubin itself.
fn states(directory: &Path, cubin: &str, arch: &str) -> Result<()> {
    let done = Step::new(directory, fatbin_program()).args(["inspect", "--json", cubin]).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let image = &document["files"][0]["images"][0];
    let kernels = image["kernels"].as_array().map_or(0, Vec::len);
    ensure!(image["arch"] == arch && kernels == 2, "{}", done.error(format!("expected {arch} and 2 kernels")));
    Ok(())
}
