//! Threads on packages that people install: output is the same with any number of them, and `--threads 1` starts none.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};
use crate::real_files;

/// Commands that read images.
const COMMANDS: [&str; 7] = [
    "scan --json --hash",
    "inspect --json",
    "inspect --matrix --json",
    "verify",
    "size --by kernel --duplicates --json",
    "requires --json",
    "lock -o -",
];

/// More than a machine of continuous integration has processors.
const THREADS: usize = 7;

/// A package of CUDA with one library, one with bundles for ROCm, and one with compressed bundles.
const FILES: [&str; 3] = ["nvjpeg", "qiskit-aer", "pennylane"];

pub fn trials() -> Vec<Trial> {
    let output = FILES.map(|file| trial(format!("output/{file}"), move |directory| has_same_output(directory, file)));
    output.into_iter().chain([trial("none-started".to_owned(), starts_no_thread)]).collect()
}

/// Returns a trial in a separate directory.
fn trial(name: String, test: impl FnOnce(&Path) -> Result<()> + Send + 'static) -> Trial {
    Trial::ignorable_test(format!("threads/{name}"), move || {
        completion(fresh_directory("threads", &name.replace('/', "-")).and_then(|directory| test(&directory)))
    })
}

fn fatbin(directory: &Path, threads: usize, command: &str) -> Step {
    let step = Step::new(directory, fatbin_program()).args(command.split_whitespace());
    step.args(["--threads", &threads.to_string()])
}

fn has_same_output(directory: &Path, name: &'static str) -> Result<()> {
    let path = real_files::path_of(name)?;
    for command in COMMANDS {
        let expected = fatbin(directory, 1, command).arg(&path).run()?;
        ensure!(!expected.stdout.is_empty(), "{}", expected.error("no output"));
        let done = fatbin(directory, THREADS, command).arg(&path).run()?;
        ensure!(done.stdout == expected.stdout, "{}", done.error("the output differs from that of one thread"));
    }
    let page = |threads: usize| -> Result<Vec<u8>> {
        fatbin(directory, threads, "inspect --html page").arg(&path).run()?;
        Ok(std::fs::read(directory.join("page"))?)
    };
    let expected = page(1)?;
    ensure!(page(THREADS)? == expected, "{name}: the page differs from that of one thread");
    Ok(())
}

fn starts_no_thread(directory: &Path) -> Result<()> {
    let strace = in_path("strace").ok_or_else(|| Missing::new("strace", "strace"))?;
    let path = real_files::path_of("nvjpeg")?;
    for command in COMMANDS {
        for (threads, starts_some) in [("1", false), ("2", true)] {
            let trace = Step::new(directory, &strace).args(["-f", "-qq", "-e", "trace=clone,clone3,fork,vfork"]);
            let run = trace.args(["-o", "started", fatbin_program()]).args(command.split_whitespace());
            let done = run.args(["--threads", threads]).arg(&path).run()?;
            let started = std::fs::read_to_string(directory.join("started"))?.lines().count();
            ensure!((started > 0) == starts_some, "{}", done.error(format!("{started} threads were started")));
        }
    }
    Ok(())
}
