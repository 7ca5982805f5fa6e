//! NVIDIA's reader, on the shared libraries with CUDA: it extracts cubins and PTX, with the arch in their names.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{Found, RealFile, hashes, named, scanned, trial};
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, in_path};

/// A library with cubins of CUDA 12.1 that cuobjdump rejects as invalid: it exits with status 1 and omits the rest. All sections
/// and segments of the cubins are inside the file, and readelf accepts them.
const GIVES_UP_ON: &str = "libraries/libbitsandbytes_cuda121.so";

pub fn trials() -> impl Iterator<Item = Trial> {
    named(["bitsandbytes", "nvjpeg", "qiskit-aer"]).map(|file| trial(file, "cuobjdump", equals_cuobjdump))
}

fn equals_cuobjdump(directory: &Path, file: &RealFile) -> Result<()> {
    let tool = Tool::Cuobjdump.path()?;
    let unzip = in_path("unzip").ok_or_else(|| Missing::new("unzip", "unzip"))?;
    Step::new(directory, unzip).args(["-q", "-j"]).arg(file.path()?).args(["*.so*", "-d", "libraries"]).run()?;
    let (found, done) = scanned(directory, Path::new("libraries"))?;
    let mut found: Vec<Found> = found.into_iter().filter(|image| image.container == "cuda-fatbin").collect();
    found.sort();
    let libraries: Vec<&[Found]> = found.chunk_by(|one, other| one.file == other.file).collect();
    ensure!(!libraries.is_empty(), "{}", done.error("nothing to compare"));
    for library in libraries {
        let name = &library[0].file;
        let taken_out = directory.join("taken-out");
        std::fs::create_dir(&taken_out)?;
        let run = ["-xelf", "-xptx"].into_iter().try_for_each(|option| {
            // Without -all, cuobjdump skips relocatable device code.
            Step::new(&taken_out, &tool).args(["-all", option, "all"]).arg(directory.join(name)).run().map(drop)
        });
        if name == GIVES_UP_ON {
            ensure!(run.is_err(), "{name}: cuobjdump reads it now: it can be compared");
            std::fs::remove_dir_all(&taken_out)?;
            continue;
        }
        run?;
        let theirs = hashes(&taken_out)?.into_iter().map(|(hash, name)| Some((arch(&name)?, hash)));
        let mut theirs: Vec<(String, String)> = theirs.collect::<Option<_>>().context("an arch in a name")?;
        let mut ours: Vec<_> = library.iter().map(|image| (image.target.clone(), image.sha256.clone())).collect();
        theirs.sort();
        ours.sort();
        ensure!(ours == theirs, "{}", done.error(format!("{name}: cuobjdump takes out\n{theirs:#?}")));
        std::fs::remove_dir_all(&taken_out)?;
    }
    Ok(())
}

/// Returns the arch in a file name `library.NUMBER.ARCH.cubin`.
fn arch(name: &str) -> Option<String> {
    name.rsplit('.').nth(1).map(str::to_owned)
}
