//! `scripts/count`: a slower program fails.

use std::path::{Path, PathBuf};
use std::process::Output;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::command::command;
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// The job that the trial counts.
const JOB: &str = "scan";

pub fn trials() -> Vec<Trial> {
    let test =
        || completion(fresh_directory("counts", "slow-program").and_then(|directory| a_slow_program_fails(&directory)));
    vec![Trial::ignorable_test("counts/slow-program", test)]
}

/// The program that cargo has built for the trials has the same source as the recorded one, and is not optimized.
fn a_slow_program_fails(directory: &Path) -> Result<()> {
    let output = count(directory, &[JOB])?;
    ensure!(output.status.code() == Some(1), "{output:?}");
    let message = String::from_utf8(output.stderr)?;
    ensure!(message.contains("count: more than 5 % more instructions: scan: from "), "{message}");
    ensure!(message.contains("scripts/count --update"), "{message}");
    Ok(())
}

/// Runs `scripts/count` with the program that is not optimized.
fn count(directory: &Path, arguments: &[&str]) -> Result<Output> {
    for (tool, package) in [("valgrind", "valgrind"), ("python3", "python3")] {
        in_path(tool).ok_or_else(|| Missing::new(tool, package))?;
    }
    let script = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("scripts/count");
    let mut command = command(script);
    command.args(["--program", env!("CARGO_BIN_EXE_fatbin")]).args(arguments);
    Ok(command.env("TMPDIR", directory).output()?)
}
