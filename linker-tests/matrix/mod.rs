//! The matrix: every offload kind, ABI, host, linker and form of program, and one judge for all.
//!
//! A row is a kind with an ABI that supports it ([`rows`]), a column is a host ([`host`]). Each row is a trial for each system,
//! `matrix/KIND/ABI/SYSTEM`. A cell links a program with the object of `fatbin wrap`, runs it and compares the output of the judge
//! (`fixtures/judge.c`) with the log in `expected/` byte for byte ([`cell`]). In half of the forms the offload entries come from
//! `fatbin wrap --entry`, in the other half from a host program in C, and both must give the same log.
//!
//! The first row with a section and a layout of entries is linked by every linker in every form; linkers treat the sections of
//! the others alike. The others are linked in every form, by the linkers in turn.
//!
//! Two more cells link objects that clang compiled from LLVM IR of `fatbin wrap` ([`compiled`]).
//!
//! Where a reference tool exists, it confirms the log: the trial links that tool's object too and requires the same log from it
//! ([`reference`]). qemu emulates machines other than this one.
//!
//! Rows of one ABI generation have equal objects. Cells with the same inputs are tried once.
//!
//! The result of each cell is recorded in `target/tmp/matrix/KIND/ABI/SYSTEM/cells`.
//! Links that do not exist (a linker without the host) are listed with their reasons, see [`Host::lacks`].

mod cell;
mod compiled;
pub mod host;
pub mod images;
mod kit;
pub mod macos;
mod reference;
mod rows;
mod windows;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use anyhow::{Error, Result, anyhow};
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Missing};
use crate::harness::trial::{completion, fresh_directory};
use cell::Cells;
use compiled::Ir;
use host::{HOSTS, Host, ProgramForm};
use images::Images;
use kit::Kit;
use rows::{ROWS, Row};

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::ignorable_test("matrix/rows", || {
        completion(fresh_directory("matrix", "rows").and_then(|directory| rows::match_the_program(&directory)))
    })];
    for row in &ROWS {
        trials.push(Trial::ignorable_test(format!("matrix/{}/linux", row.name()), || completion(linux(row))));
    }
    trials.extend(windows::trials());
    trials.extend(macos::trials());
    trials
}

/// Returns the directory of the matrix's sources and logs.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/matrix")
}

fn linux(row: &Row) -> Result<()> {
    let mut results = Results::default();
    let name = format!("matrix/{}/linux", row.name());
    let directory = fresh_directory(&name, "")?;
    for host in HOSTS.iter() {
        add_cells(row, host, &fresh_directory(&name, host.name)?, &mut results)?;
    }
    results.finish(&directory)
}

fn add_cells(row: &Row, host: &Host, directory: &Path, results: &mut Results) -> Result<()> {
    let kit = Kit::of(host)?;
    let images = Images::write(directory)?;
    let log = |name| -> Result<String> {
        Ok(host::read(&self::directory().join("expected").join(name))?.replace("{host}", host.triple))
    };
    let expected = log(row.log)?;
    let cells = Cells { row, host, kit: &kit, directory, expected: &expected };

    let with_entries = directory.join("with-entries.o");
    let without = directory.join("without.o");
    wrap(row, host.triple, &images, &row.entry_options(), &with_entries)?;
    wrap(row, host.triple, &images, &[], &without)?;
    for (linker, form) in pairs(row, host) {
        let outcome = match host.lacks(linker, form) {
            Some(reason) => Outcome::None(reason),
            // Only the wrapper writes SYCL's entries.
            None if form.entries_from_options() || row.section.is_none() => {
                cells.check(linker, form, &with_entries, &kit.program()).into()
            }
            None => cells.check(linker, form, &without, &kit.program_with_entries(row)).into(),
        };
        results.add(&format!("{} {} {}", host.name, linker.name(), form.name()), outcome);
    }
    for ir in Ir::ALL {
        let name = format!("{} {} {}", host.name, ir.name(), ir.program_form().name());
        results.add(&name, compiled::check(&cells, ir, &images).into());
    }
    if let Some(reference) = row.reference {
        let outcome = match reference.lacks(host.name) {
            Some(reason) => Outcome::None(reason),
            None => {
                let expected = log(reference.log(row))?;
                reference::check(&Cells { expected: &expected, ..cells }, reference, &images, &without).into()
            }
        };
        results.add(&format!("{} reference pie", host.name), outcome);
    }
    Ok(())
}

/// Returns the links of a row: all for the first row with a section and a layout, else each form once.
fn pairs(row: &Row, host: &Host) -> Vec<(Linker, ProgramForm)> {
    if row.is_first_with_its_entries() {
        return Linker::ALL.into_iter().flat_map(|linker| ProgramForm::ALL.map(|form| (linker, form))).collect();
    }
    let in_turn = |(index, form)| {
        let mut linkers = Linker::ALL;
        linkers.rotate_left((row.index() + index) % Linker::ALL.len());
        let linker = linkers.into_iter().find(|&linker| host.lacks(linker, form).is_none());
        (linker.unwrap_or(Linker::Lld), form)
    };
    ProgramForm::ALL.into_iter().enumerate().map(in_turn).collect()
}

/// Inputs of the cells that passed.
static PASSED: Mutex<BTreeSet<Vec<Vec<u8>>>> = Mutex::new(BTreeSet::new());

/// Runs a check, unless one with these inputs has passed.
fn once(inputs: &[&[u8]], check: impl FnOnce() -> Result<()>) -> Result<()> {
    let inputs: Vec<Vec<u8>> = inputs.iter().map(|input| input.to_vec()).collect();
    // A trial that failed while it held the lock left nothing.
    let passed = || PASSED.lock().unwrap_or_else(PoisonError::into_inner);
    if !passed().contains(&inputs) {
        check()?;
        passed().insert(inputs);
    }
    Ok(())
}

fn wrap(row: &Row, triple: &str, images: &Images, entries: &[String], object: &Path) -> Result<()> {
    let step = Step::new(object.parent().unwrap_or(object), fatbin_program()).arg("wrap");
    let step = step.args(["--kind", row.kind, "--abi", row.abi]).args(["--host", triple]).args(entries);
    step.args(images.of(row.kind)).arg("-o").arg(object).run()?;
    Ok(())
}

/// Result of a cell.
enum Outcome {
    Passed,
    /// The link does not exist, for this reason.
    None(&'static str),
    Missing(Error),
    Failed(Error),
}

impl From<Result<()>> for Outcome {
    fn from(result: Result<()>) -> Outcome {
        match result {
            Ok(()) => Outcome::Passed,
            Err(error) if error.is::<Missing>() => Outcome::Missing(error),
            Err(error) => Outcome::Failed(error),
        }
    }
}

/// Results of a trial's cells. A failing cell does not stop the others.
#[derive(Default)]
struct Results {
    lines: String,
    failures: String,
    failed: usize,
    missing: Option<Error>,
}

impl Results {
    fn add(&mut self, cell: &str, outcome: Outcome) {
        let word = match outcome {
            Outcome::Passed => "ok".to_owned(),
            Outcome::None(reason) => format!("none {reason}"),
            Outcome::Missing(error) => {
                let word = format!("missing {error}");
                self.missing = Some(error);
                word
            }
            Outcome::Failed(error) => {
                let _ = write!(self.failures, "\n\n{cell}: {error:#}");
                self.failed += 1;
                "failed".to_owned()
            }
        };
        let _ = writeln!(self.lines, "{cell} {word}");
    }

    /// Writes the list of cells to the trial's directory and returns the result of the trial.
    fn finish(self, directory: &Path) -> Result<()> {
        std::fs::write(directory.join("cells"), &self.lines)?;
        if self.failed > 0 {
            return Err(anyhow!("{} cells failed of\n{}{}", self.failed, self.lines, self.failures));
        }
        self.missing.map_or(Ok(()), Err)
    }
}
