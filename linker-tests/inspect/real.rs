//! Images of packages that people install: hundreds of kernels by compilers that are not on this machine.

use std::path::Path;

use anyhow::{Context, Result};
use libtest_mimic::Trial;

use super::{amdgpu, cubin, trial};
use crate::harness::step::Step;
use crate::real_files;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("real/rocrand-gfx1030".to_owned(), |directory| amd(directory, "rocrand", "gfx1030", "full")),
        trial("real/pennylane-gfx942".to_owned(), |directory| amd(directory, "pennylane", "gfx942", "none")),
        trial("real/nvjpeg-sm_90".to_owned(), |directory| nvidia(directory, "nvjpeg", "sm_90")),
        trial("real/bitsandbytes-sm_120".to_owned(), |directory| nvidia(directory, "bitsandbytes", "sm_120")),
    ]
}

fn amd(directory: &Path, file: &'static str, arch: &str, debug: &str) -> Result<()> {
    largest(directory, file, arch)?;
    amdgpu::compare(directory, debug).map(drop)
}

fn nvidia(directory: &Path, file: &'static str, arch: &str) -> Result<()> {
    largest(directory, file, arch)?;
    cubin::compare(directory, "none").map(drop)
}

/// Extracts the largest ELF image for `arch` to `image`.
fn largest(directory: &Path, file: &'static str, arch: &str) -> Result<()> {
    let file = real_files::path_of(file)?;
    let step = Step::new(directory, env!("CARGO_BIN_EXE_fatbin")).args(["extract", "--arch", arch, "-o", "images"]);
    step.arg(file).run()?;
    let mut images = Vec::new();
    for entry in std::fs::read_dir(directory.join("images"))? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "elf") {
            images.push((entry.metadata()?.len(), entry.path()));
        }
    }
    let (_, image) = images.into_iter().max().context("an image")?;
    std::fs::rename(image, directory.join("image"))?;
    Ok(std::fs::remove_dir_all(directory.join("images"))?)
}
