//! The answers in the README, from the package that they are about.

use std::env::{join_paths, split_paths, var_os};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::coverage::torchvision_wheel;
use crate::harness::step::Step;
use crate::harness::trial::{completion, fresh_directory};

/// Name of the package in the README.
const WHEEL: &str = "torchvision.whl";

pub fn trials() -> Vec<Trial> {
    vec![Trial::ignorable_test("readme/answers", || {
        completion(fresh_directory("readme", "answers").and_then(|directory| answers(&directory)))
    })]
}

/// The README shows the output of each of its commands. With `FATBIN_WRITE_README=1`, the trial writes the outputs instead of
/// comparing them.
fn answers(directory: &Path) -> Result<()> {
    std::os::unix::fs::symlink(torchvision_wheel()?, directory.join(WHEEL))?;
    let readme = Path::new(env!("CARGO_MANIFEST_DIR")).join("README.md");
    let text = fs::read_to_string(&readme)?;
    let (before, rest) = text.split_once("\n```text\n").context("a block of text")?;
    let (block, after) = rest.split_once("\n```\n").context("the end of the block")?;
    let mut shown = Vec::new();
    for line in block.lines().filter(|line| line.starts_with("$ ")) {
        let done = Step::new(directory, "sh").env("PATH", path()?).args(["-c", &line[2..]]).run()?;
        ensure!(!done.stdout.is_empty(), "{}", done.error("prints nothing"));
        shown.push(format!("{line}\n{}", done.stdout));
    }
    ensure!(shown.len() >= 3, "{} commands", shown.len());
    let shown = shown.concat();
    if var_os("FATBIN_WRITE_README").is_some() {
        fs::write(readme, format!("{before}\n```text\n{shown}```\n{after}"))?;
    } else {
        ensure!(shown == format!("{block}\n"), "README.md differs; FATBIN_WRITE_README=1 writes this:\n{shown}");
    }
    Ok(())
}

/// Returns the search path, with the program first.
fn path() -> Result<std::ffi::OsString> {
    let program = PathBuf::from(env!("CARGO_BIN_EXE_fatbin"));
    let own = program.parent().context("a directory")?.to_owned();
    let others = var_os("PATH").unwrap_or_default();
    Ok(join_paths([own].into_iter().chain(split_paths(&others)))?)
}
