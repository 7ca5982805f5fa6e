//! Images out of files that people install: kernels by the hundred, of compilers that are not on this machine.

use std::path::Path;

use anyhow::{Context, Result};
use libtest_mimic::Trial;

use super::{amdgpu, cubin, trial};
use crate::harness::step::Step;
use crate::real_files;

pub fn trials() -> Vec<Trial> {
    vec![
        trial("real/rocrand-gfx1030".to_owned(), |folder| amd(folder, "rocrand", "gfx1030", "full")),
        trial("real/pennylane-gfx942".to_owned(), |folder| amd(folder, "pennylane", "gfx942", "none")),
        trial("real/nvjpeg-sm_90".to_owned(), |folder| nvidia(folder, "nvjpeg", "sm_90")),
        trial("real/bitsandbytes-sm_120".to_owned(), |folder| nvidia(folder, "bitsandbytes", "sm_120")),
    ]
}

fn amd(folder: &Path, file: &'static str, arch: &str, debug: &str) -> Result<()> {
    largest(folder, file, arch)?;
    amdgpu::compare(folder, debug).map(drop)
}

fn nvidia(folder: &Path, file: &'static str, arch: &str) -> Result<()> {
    largest(folder, file, arch)?;
    cubin::compare(folder, "none").map(drop)
}

/// The largest ELF image for `arch` becomes `image`.
fn largest(folder: &Path, file: &'static str, arch: &str) -> Result<()> {
    let file = real_files::path_of(file)?;
    let step = Step::new(folder, env!("CARGO_BIN_EXE_fatbin")).args(["extract", "--arch", arch, "-o", "images"]);
    step.arg(file).run()?;
    let mut images = Vec::new();
    for entry in std::fs::read_dir(folder.join("images"))? {
        let entry = entry?;
        if entry.path().extension().is_some_and(|extension| extension == "elf") {
            images.push((entry.metadata()?.len(), entry.path()));
        }
    }
    let (_, image) = images.into_iter().max().context("an image")?;
    std::fs::rename(image, folder.join("image"))?;
    Ok(std::fs::remove_dir_all(folder.join("images"))?)
}
