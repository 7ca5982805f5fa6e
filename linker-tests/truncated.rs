//! Real libraries cut at several places, like the remains of a download. Linkers store the section headers at the end, so every
//! cut removes some of them; without an error, such a library would be one without device code.

use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::command::command;
use crate::harness::tools::{fetched, find_in, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

/// Name for the trials, directory of fetched files, and stem of the file name: a library with device code, and one without.
const LIBRARIES: [(&str, &str, &str); 2] =
    [("rocrand", "real-files", "librocrand.so"), ("cudart", "cuda-13", "libcudart.so")];

pub fn trials() -> Vec<Trial> {
    let trial = |(name, fetched, stem)| {
        Trial::ignorable_test(format!("truncated/{name}"), move || completion(library(name, fetched, stem)))
    };
    LIBRARIES.into_iter().map(trial).collect()
}

fn library(name: &str, package: &str, stem: &str) -> Result<()> {
    let original: PathBuf = find_in(&fetched(package), stem).ok_or_else(|| not_fetched(stem))?;
    let directory = fresh_directory("truncated", name)?;
    let path = directory.join("lib.so");
    std::fs::copy(original, &path)?;
    let bytes = std::fs::read(&path)?;
    let offset = u64::from_le_bytes(*bytes[40..].first_chunk().context("a header")?);
    let (size, needed) = (bytes.len() as u64, u64::from(bytes[60]) * 64);
    ensure!(size == offset + needed, "the section headers are not at the end");
    // From the end, so that one copy is cut again and again.
    let cuts = [size - 1, offset + 64, offset + 1, offset, offset - 1, size / 2, size / 100, 4096, 64];
    for cut in cuts {
        OpenOptions::new().write(true).open(&path)?.set_len(cut)?;
        let available = cut.saturating_sub(offset);
        let message = format!("section headers at {offset:#x}: truncated: need {needed} bytes, {available} available");
        for subcommand in ["scan", "verify"] {
            reports(&directory, subcommand, &message).with_context(|| format!("cut to {cut} bytes"))?;
        }
    }
    OpenOptions::new().write(true).open(&path)?.set_len(63)?;
    reports(&directory, "scan", "ELF header at 0x0: truncated: need 64 bytes, 63 available")
}

/// Checks that a command ends with status 2 and prints this message once. Containers that were cut are further errors.
fn reports(directory: &Path, subcommand: &str, message: &str) -> Result<()> {
    let run = command(env!("CARGO_BIN_EXE_fatbin")).args([subcommand, "lib.so"]).current_dir(directory).output()?;
    let error = String::from_utf8_lossy(&run.stderr);
    let line = format!("fatbin: lib.so: {message}");
    let count = error.lines().filter(|&found| found == line).count();
    ensure!(run.status.code() == Some(2) && count == 1, "fatbin {subcommand}: {}\n{error}expected: {line}", run.status);
    Ok(())
}
