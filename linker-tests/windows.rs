//! The program for Windows, run under Wine.
//!
//! `scripts/windows` builds it. The trials may be left out even in strict mode: the build includes Rust's standard library
//! and takes minutes.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool};
use crate::harness::trial::{completion, fresh_directory};
use crate::harness::wine::wine;

/// Directory of the program for Windows, and of the library that Wine lacks.
const BUILD: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/target/windows/x86_64-pc-windows-gnu/debug");

/// The library beside the program that Wine loads it with.
const LIBRARY: &str = "bcryptprimitives.dll";

pub fn trials() -> Vec<Trial> {
    vec![Trial::ignorable_test("windows/install-links", || {
        completion(fresh_directory("windows", "install-links").and_then(|directory| installs_executables(&directory)))
    })]
}

/// Makes the library through which programs without a C runtime call the functions of Windows.
pub fn import_library(directory: &Path) -> Result<PathBuf> {
    let (definitions, library) = (directory.join("kernel32.def"), directory.join("kernel32.lib"));
    std::fs::write(&definitions, "LIBRARY kernel32.dll\nEXPORTS\nExitProcess\nGetStdHandle\nWriteFile\n")?;
    let step = Step::new(directory, Tool::Dlltool.path()?).args(["-m", "i386:x86-64", "-d"]);
    step.arg(definitions).arg("-l").arg(&library).run()?;
    Ok(library)
}

fn fatbin() -> Result<PathBuf> {
    let program = Path::new(BUILD).join("fatbin.exe");
    ensure!(program.is_file(), Missing::optional("fatbin.exe", "scripts/windows builds it"));
    Ok(program)
}

/// Every printed path exists, can be run, and is replaced by a second call; a file of another kind is left alone.
fn installs_executables(directory: &Path) -> Result<()> {
    let program = fatbin()?;
    let install = || wine(directory, &program, &["install-links", "tools"]);
    let tools = directory.join("tools");
    for _ in 0..2 {
        let run = install()?;
        ensure!(run.status.success(), "{run:?}");
        let printed = String::from_utf8(run.stdout)?;
        ensure!(printed.lines().any(|line| line == r"tools\llvm-offload-binary.exe"), "{printed}");
        for line in printed.lines() {
            let link = directory.join(line.replace('\\', "/"));
            ensure!(link.is_file(), "{line}: printed, but no such file");
        }
        ensure!(std::fs::read_dir(&tools)?.count() == printed.lines().count(), "other files than were printed");
    }
    std::fs::copy(Path::new(BUILD).join(LIBRARY), tools.join(LIBRARY)).context(LIBRARY)?;
    let version = wine(directory, &tools.join("llvm-offload-binary.exe"), &["--version"])?;
    ensure!(version.stdout.starts_with(b"fatbin "), "{version:?}");

    std::fs::write(tools.join("llvm-offload-wrapper.exe"), "another program")?;
    let run = install()?;
    let message = "fatbin: tools\\llvm-offload-wrapper.exe: already exists and is not a link; remove it first";
    let printed = String::from_utf8_lossy(&run.stderr);
    ensure!(run.status.code() == Some(2) && printed.trim_end() == message, "{run:?}");
    ensure!(std::fs::read(tools.join("llvm-offload-wrapper.exe"))? == b"another program", "the file was replaced");
    Ok(())
}
