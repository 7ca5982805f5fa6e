//! `fatbin embed`: objects compared with the output of `ld -r -b binary` and of assemblers ([`thousands`]), linked by
//! every linker ([`linkers`]), for other machines and systems ([`hosts`]), and used by Rust ([`rust`]).

mod hosts;
mod linkers;
mod rust;
mod thousands;

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::trial::{completion, fresh_directory};

pub fn trials() -> Vec<Trial> {
    let mut trials = linkers::trials();
    trials.extend(hosts::trials());
    trials.push(trial("embed/rust", rust::a_program_and_a_library_use_the_module));
    trials.push(trial("embed/thousands", thousands::objects_equal_those_of_the_linker_and_the_assembler));
    trials.push(trial("embed/names", thousands::names_of_cpp_are_those_of_the_compiler));
    trials
}

fn trial(name: &'static str, test: fn(&Path) -> Result<()>) -> Trial {
    Trial::ignorable_test(name, move || completion(fresh_directory(name, "files").and_then(|it| test(&it))))
}

fn fatbin(directory: &Path) -> Step {
    Step::new(directory, fatbin_program())
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/embed/check.c")
}

/// Files to embed: names and contents. The last one is not used by the program.
struct Files {
    kernel: Vec<u8>,
    text: Vec<u8>,
    unused: Vec<u8>,
}

impl Files {
    /// Writes the files to a directory.
    fn write(directory: &Path) -> Result<Files> {
        let read = |name| Ok::<_, anyhow::Error>(std::fs::read(fixture(name)?)?);
        // Nothing else in a program has these bytes.
        let unused: Vec<u8> =
            (0..9000_u32).flat_map(|number| number.wrapping_mul(2_654_435_761).to_le_bytes()).collect();
        let files = Files { kernel: read("answer-sm_90.cubin")?, text: read("answer-sm_80.ptx")?, unused };
        for (name, bytes) in [("kernel", &files.kernel), ("text", &files.text), ("unused", &files.unused)] {
            std::fs::write(directory.join(name), bytes)?;
        }
        Ok(files)
    }

    /// Macros for the compilation of `check.c`.
    fn macros(&self) -> [String; 2] {
        [("KERNEL", &self.kernel), ("TEXT", &self.text)]
            .map(|(name, bytes)| format!("-D{name}_HASH={:#x}u", fnv(bytes)))
    }

    /// Returns whether a file contains the file that is not used.
    fn has_unused(&self, path: &Path) -> Result<bool> {
        let bytes = std::fs::read(path).with_context(|| path.display().to_string())?;
        Ok(memchr::memmem::find(&bytes, &self.unused).is_some())
    }
}

/// Writes the object and the header for a host.
fn embed(directory: &Path, host: &str, object: &str, options: &[&str]) -> Result<()> {
    let step = fatbin(directory).args(["embed", "--host", host, "-o", object, "--header", "files.h"]).args(options);
    step.args(["--symbol", "kernel=kernel", "--symbol", "text=text", "--symbol", "unused=unused"]).run()?;
    Ok(())
}

/// Checks that `fatbin scan` lists both images with these symbols, in any order.
fn check_scan(directory: &Path, file: &str, options: &[&str], expected: &[(&str, &[u8])]) -> Result<()> {
    let done = fatbin(directory).args(["scan", "--json", "--hash"]).args(options).arg(file).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    let mut found = Vec::new();
    for container in document["files"][0]["containers"].as_array().context("containers")? {
        ensure!(container["type"] == "embedded", done.error("another container"));
        let image = &container["images"][0];
        found.push((image["symbol"].as_str().unwrap_or("-").to_owned(), image["size"].as_u64().unwrap_or(0)));
    }
    found.sort();
    let expected: Vec<(String, u64)> =
        expected.iter().map(|(name, bytes)| ((*name).to_owned(), bytes.len() as u64)).collect();
    ensure!(found == expected, done.error(format!("found {found:?}, expected {expected:?}")));
    Ok(())
}

/// Returns the hash of `check.c`.
fn fnv(bytes: &[u8]) -> u64 {
    let step = |hash: u64, byte: &u8| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3);
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, step)
}
