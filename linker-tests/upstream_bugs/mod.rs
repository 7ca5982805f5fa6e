//! What today's tools do wrong on well-formed files, and ours right.
//!
//! Each trial first shows the failure, on a file that it makes, so that we notice when a release mends it and stop saying so;
//! then it takes every image out with our program and compares the bytes. LLVM's are of release 22.1, cuobjdump of CUDA 13.5.

mod cuobjdump;
mod llvm;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::step::{Done, Step};
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    llvm::trials().into_iter().chain(cuobjdump::trials()).collect()
}

fn trial(name: &str, test: fn(&Path) -> Result<()>) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("upstream_bugs/{name}"), move || {
        completion(fresh_directory("upstream_bugs", &directory).and_then(|directory| test(&directory)))
    })
}

const LINUX: &str = "x86_64-unknown-linux-gnu";
const WINDOWS: &str = "x86_64-pc-windows-msvc";

/// Makes `name`, an object that has `content` as its section `section`.
fn object(directory: &Path, name: &str, target: &str, section: &str, content: &str) -> Result<()> {
    // The one letter that both assemblers have for read-only data.
    let flags = if target == LINUX { "a" } else { "dr" };
    let text = format!(".section {section},\"{flags}\"\n.balign 8\n.incbin \"{content}\"\n");
    std::fs::write(directory.join("section.s"), text)?;
    let step = Step::new(directory, Tool::Clang.path()?).arg(format!("--target={target}"));
    step.args(["-c", "-o", name, "section.s"]).run()?;
    Ok(())
}

/// The words of a command that is to fail, as it does.
fn failing(step: Step) -> Result<String> {
    match step.run() {
        Ok(done) => Err(done.error("this was to fail, and no longer does")),
        Err(error) => Ok(error.to_string()),
    }
}

/// Whether today's tool fails still, for this reason.
fn fails_with(step: Step, reason: &str) -> Result<()> {
    let words = failing(step)?;
    ensure!(words.contains(reason), "this was to fail for another reason: {reason}\n{words}");
    Ok(())
}

fn ours(directory: &Path, arguments: &[&str]) -> Result<Done> {
    Step::new(directory, env!("CARGO_BIN_EXE_fatbin")).args(arguments).run()
}

/// Whether our program takes exactly these images out of a file, in this order.
fn ours_takes_out(directory: &Path, file: &str, images: &[PathBuf]) -> Result<()> {
    let done = ours(directory, &["extract", file, "-o", "ours"])?;
    let written: Vec<&str> = done.stdout.lines().collect();
    ensure!(written.len() == images.len(), "{}", done.error(format!("should be {}", images.len())));
    for (own, image) in written.iter().zip(images) {
        ensure!(
            same(&directory.join(own), &directory.join(image))?,
            "{}",
            done.error(format!("{own} is another image"))
        );
    }
    Ok(())
}

fn same(one: &Path, other: &Path) -> Result<bool> {
    let read = |path: &Path| std::fs::read(path).with_context(|| path.display().to_string());
    Ok(read(one)? == read(other)?)
}

/// The files in a directory whose names begin like this, in their order.
fn files_beginning(directory: &Path, prefix: &str) -> Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory)? {
        let entry = entry?;
        if entry.file_name().to_string_lossy().starts_with(prefix) {
            files.push(entry.path());
        }
    }
    files.sort();
    Ok(files)
}

fn bytes_of(path: &Path) -> Result<Vec<u8>> {
    match std::fs::read(path) {
        Ok(bytes) => Ok(bytes),
        Err(error) => bail!("{}: {error}", path.display()),
    }
}

fn hsaco() -> Result<PathBuf> {
    fixture("answer-gfx90a.hsaco")
}

fn cubin() -> Result<PathBuf> {
    fixture("answer-sm_90.cubin")
}
