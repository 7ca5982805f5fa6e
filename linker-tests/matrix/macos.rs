//! The rows of the matrix for macOS: programs without a library, linked by ld64.lld and run under Linux by `macho-loader.c`.
//!
//! The entries come from `fatbin wrap --entry`, because ld64.lld 22 drops the entries of host programs. No tool of LLVM
//! writes a reference.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::cell::difference;
use super::host::{HOSTS, Host, LinkOutput, read};
use super::images::Images;
use super::rows::{ROWS, Row};
use super::{Results, once, wrap};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::harness::trial::{completion, fresh_directory};

/// Column, triple, name of the machine for the linker, and under Linux.
const MACOS: [(&str, &str, &str, &str); 2] = [
    ("x86_64-macos", "x86_64-apple-macosx11.0", "x86_64", "x86_64"),
    ("aarch64-macos", "arm64-apple-macosx11.0", "arm64", "aarch64"),
];

/// The library that ld64.lld demands of every program; nothing is taken from it.
pub const LIBRARY: &str = "--- !tapi-tbd
tbd-version: 4
targets: [ x86_64-macos, arm64-macos ]
install-name: /usr/lib/libSystem.B.dylib
exports:
  - targets: [ x86_64-macos, arm64-macos ]
    symbols: [ dyld_stub_binder ]
...
";

pub fn trials() -> Vec<Trial> {
    let rows = ROWS.iter().filter(|row| row.has_mach_o_objects());
    let trial = |row: &'static Row| {
        Trial::ignorable_test(format!("matrix/{}/macos", row.name()), move || completion(all_machines(row)))
    };
    rows.map(trial).collect()
}

fn all_machines(row: &Row) -> Result<()> {
    let mut results = Results::default();
    let name = format!("matrix/{}/macos", row.name());
    let directory = fresh_directory(&name, "")?;
    for (column, triple, architecture, machine) in MACOS {
        let directory = fresh_directory(&name, column)?;
        let images = Images::write(&directory)?;
        wrap(row, triple, &images, &row.entry_options(), &directory.join("wrapper.o"))?;
        let object = std::fs::read(directory.join("wrapper.o"))?;
        let expected = read(&super::directory().join("expected").join(row.log))?.replace("{host}", triple);
        let inputs = [column.as_bytes(), row.judge().as_bytes(), expected.as_bytes(), &object];
        let outcome = once(&inputs, || check(row, &directory, triple, architecture, machine, &expected));
        results.add(&format!("{column} ld64.lld options"), outcome.into());
    }
    results.finish(&directory)
}

/// Links a wrapper object with a program, runs it, and compares its output.
fn check(row: &Row, directory: &Path, triple: &str, architecture: &str, machine: &str, expected: &str) -> Result<()> {
    compile(row, directory, triple)?;
    std::fs::write(directory.join("libSystem.tbd"), LIBRARY)?;
    let step = Step::new(directory, Tool::Ld64Lld.path()?).args(["-arch", architecture]);
    let step = step.args(["-platform_version", "macos", "11.0", "11.0", "-e", "_start", "-dead_strip"]);
    // Addresses as they are in the file, for a loader that relocates nothing.
    let step = step.args(["-no_fixup_chains", "-o", "program"]);
    let objects = ["main.o", "host.o", "judge.o", "runtime.o", "wrapper.o", "libSystem.tbd"];
    step.args(objects).run()?;

    let linux = HOSTS.iter().find(|host| host.name == machine).context("Linux on the machine")?;
    let log = linux.run(directory, &loader(linux, directory)?)?.arg("program").run()?.stdout;
    ensure!(log == expected, "{}", difference(expected, &log));
    Ok(())
}

fn compile(row: &Row, directory: &Path, triple: &str) -> Result<()> {
    let source = |name: &str| super::directory().join(name);
    let judge: &[&str] = if row.judge() == "sycl-main" { &["-DSYCL_OFFLOAD_BINARIES"] } else { &[] };
    let sources = [
        (fixture("judge.c")?, judge, "judge.o"),
        (source("main.c"), &[], "main.o"),
        (source("program.c"), &[], "host.o"),
        (source("macos.c"), &[], "runtime.o"),
    ];
    for (source, flags, object) in sources {
        let step = Step::new(directory, Tool::Clang.path()?).arg(format!("--target={triple}")).args(flags);
        let step = step.args(["-ffreestanding", "-fno-stack-protector", "-O1", "-Wall", "-Wextra", "-Werror", "-c"]);
        step.arg(source).args(["-o", object]).run()?;
    }
    Ok(())
}

/// Makes the program that runs a program for macOS under Linux.
pub fn loader(linux: &Host, directory: &Path) -> Result<PathBuf> {
    let (loader, source) = (directory.join("loader"), super::directory().join("macho-loader.c"));
    linux.compiler(directory)?.arg(source).args(["-o", "loader.o"]).run()?;
    let step = linux.link(Linker::Lld, directory, LinkOutput::Static)?.arg("-o").arg(&loader);
    linux.end_of_link(step.arg("loader.o"), LinkOutput::Static)?.run()?;
    Ok(loader)
}
