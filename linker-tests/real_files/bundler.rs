//! clang-offload-bundler, which requires one file per bundle: the reader cuts the bundles out by its own offsets.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::{Found, RealFile, hashes, named, reader, scanned, trial};
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};

pub fn trials() -> impl Iterator<Item = Trial> {
    let names = ["bitsandbytes", "bitsandbytes-windows", "pennylane", "rocrand"];
    named(names).map(|file| trial(file, "clang-offload-bundler", equals_the_bundler))
}

fn equals_the_bundler(directory: &Path, file: &RealFile) -> Result<()> {
    // ROCm 5 names the host by three parts of a triple, which release 22 rejects: "invalid bundle id".
    let tool = match file.name {
        "rocrand" => llvm_tool("clang-offload-bundler", "19", "clang-tools-19")?,
        _ => Tool::OffloadBundler.path()?,
    };
    let path = file.path()?;
    std::fs::create_dir(directory.join("bundles"))?;
    reader(directory)?.args(["--cut", "bundles"]).arg(&path).run()?;
    let (found, done) = scanned(directory, &path)?;
    let mut found: Vec<Found> = found.into_iter().filter(|it| ["bundle", "ccob"].contains(&&*it.container)).collect();
    found.sort();
    let bundles: Vec<_> = found.chunk_by(|one, other| (&one.file, one.offset) == (&other.file, other.offset)).collect();
    let cut = std::fs::read_dir(directory.join("bundles"))?.count();
    ensure!(bundles.len() == cut && cut > 0, "{}", done.error(format!("{cut} bundles were cut out")));
    for bundle in bundles {
        let name = bundle[0].file.rsplit('/').next().context("a name")?;
        let input = directory.join("bundles").join(format!("{name}@{}", bundle[0].offset));
        let list =
            Step::new(directory, &tool).args(["-type=o", "-list"]).arg(format!("-input={}", input.display())).run()?;
        ensure!(list.stdout.lines().count() == bundle.len(), "{}", list.error(done.error("another number")));
        let taken_out = directory.join("taken-out");
        std::fs::create_dir(&taken_out)?;
        // The host's image is empty.
        let images: Vec<&Found> = bundle.iter().filter(|image| !image.target.starts_with("host-")).collect();
        let targets: Vec<&str> = images.iter().map(|image| image.target.as_str()).collect();
        let step =
            Step::new(&taken_out, &tool).args(["-type=o", "-unbundle", &format!("-targets={}", targets.join(","))]);
        // An output is named by the position of its image in the list.
        let outputs = (0..targets.len()).map(|index| format!("-output={index}"));
        step.arg(format!("-input={}", input.display())).args(outputs).run()?;
        for (hash, index) in hashes(&taken_out)? {
            let image = images[index.parse::<usize>()?];
            ensure!(image.sha256 == hash, "{}", list.error(format!("{image:?}: the bundler has {hash}")));
        }
        std::fs::remove_dir_all(&taken_out)?;
    }
    Ok(())
}
