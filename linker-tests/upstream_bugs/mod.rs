//! Bugs of LLVM's and NVIDIA's tools on well-formed files, which fatbin handles.
//!
//! Each trial makes a file, extracts every image with fatbin, and compares the bytes. It also runs the upstream tool.
//! [`Upstream::release`], where the bug was found, must still show the bug; otherwise the trial proves nothing and
//! fails. Any other release may have fixed the bug, and the trial prints this.

mod cuobjdump;
mod llvm;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail, ensure};
use libtest_mimic::Trial;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    llvm::trials().into_iter().chain(cuobjdump::trials()).collect()
}

/// Returns a trial in a separate directory.
fn trial(name: &str, test: fn(&Path) -> Result<()>) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("upstream_bugs/{name}"), move || {
        completion(fresh_directory("upstream_bugs", &directory).and_then(|directory| test(&directory)))
    })
}

/// An upstream tool, and the release that has the bugs.
struct Upstream {
    tool: Tool,
    /// Text in the output of `--version`.
    release: &'static str,
}

const LLVM_OBJDUMP: Upstream = Upstream { tool: Tool::Objdump, release: "LLVM version 22.1." };
const OFFLOAD_BUNDLER: Upstream = Upstream { tool: Tool::OffloadBundler, release: "LLVM version 22.1." };
const OFFLOAD_BINARY: Upstream = Upstream { tool: Tool::OffloadBinary, release: "LLVM version 22.1." };
const CUOBJDUMP: Upstream = Upstream { tool: Tool::Cuobjdump, release: "release 13.5," };

impl Upstream {
    /// Checks the result of a test for the bug. An error means that the bug did not show. With the release that has the
    /// bug, this is an error; with any other release, the bug is printed as fixed.
    fn has_bug(&self, directory: &Path, test: Result<()>) -> Result<()> {
        let Err(fixed) = test else { return Ok(()) };
        let version = Step::new(directory, self.tool.path()?).arg("--version").run()?.stdout;
        if version.contains(self.release) {
            return Err(fixed);
        }
        println!("{}: fixed upstream in:\n{version}", directory.display());
        Ok(())
    }
}

const LINUX: &str = "x86_64-unknown-linux-gnu";
const WINDOWS: &str = "x86_64-pc-windows-msvc";

/// Compiles the object `name` with the file `content` as section `section`.
fn object(directory: &Path, name: &str, target: &str, section: &str, content: &str) -> Result<()> {
    // The flags of read-only data differ between the assemblers.
    let flags = if target == LINUX { "a" } else { "dr" };
    let text = format!(".section {section},\"{flags}\"\n.balign 8\n.incbin \"{content}\"\n");
    std::fs::write(directory.join("section.s"), text)?;
    let step = Step::new(directory, Tool::Clang.path()?).arg(format!("--target={target}"));
    step.args(["-c", "-o", name, "section.s"]).run()?;
    Ok(())
}

/// Returns the error of a command that must fail.
fn failing(step: Step) -> Result<String> {
    match step.run() {
        Ok(done) => Err(done.error("the command should fail, but succeeds")),
        Err(error) => Ok(error.to_string()),
    }
}

/// Checks that a command fails with an error that contains `reason`.
fn fails_with(step: Step, reason: &str) -> Result<()> {
    let error = failing(step)?;
    ensure!(error.contains(reason), "the error should contain: {reason}\n{error}");
    Ok(())
}

/// Runs fatbin.
fn ours(directory: &Path, arguments: &[&str]) -> Result<Done> {
    Step::new(directory, fatbin_program()).args(arguments).run()
}

/// Checks that fatbin extracts exactly these images from a file, in this order.
fn ours_extracts(directory: &Path, file: &str, images: &[PathBuf]) -> Result<()> {
    let done = ours(directory, &["extract", file, "-o", "ours"])?;
    let written: Vec<&str> = done.stdout.lines().collect();
    ensure!(written.len() == images.len(), "{}", done.error(format!("expected {} images", images.len())));
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

/// Returns the files in a directory whose names begin with `prefix`, sorted.
fn files_with_prefix(directory: &Path, prefix: &str) -> Result<Vec<PathBuf>> {
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
