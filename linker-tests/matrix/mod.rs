//! The matrix: every offload kind, ABI, host, linker and form of program, and one judge for all.
//!
//! A row is a kind with an ABI that supports it ([`rows`]), a column is a host ([`host`]); each pair is a trial,
//! `matrix/KIND/ABI/HOST`. A trial covers every linker in every form: each of these cells links a program with the object of
//! `fatbin wrap`, runs it and compares the output of the judge (`fixtures/judge.c`) with the log in `expected/` byte for byte
//! ([`cell`]). In half of the forms the offload entries come from `fatbin wrap --entry`, in the other half
//! from a host program in C, and both must give the same log.
//!
//! Two more cells link objects that clang compiled from LLVM IR of `fatbin wrap` ([`compiled`]).
//!
//! Where a reference tool exists, it confirms the log: the trial links that tool's object too and requires the same log from it
//! ([`reference`]). qemu emulates machines other than this one.
//!
//! Rows of one ABI generation have equal objects. Cells with the same objects are tried once: the others get its result.
//!
//! The result of each cell is recorded in `target/tmp/matrix/KIND/ABI/HOST/cells`.
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

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};

use anyhow::{Error, Result, anyhow};
use libtest_mimic::Trial;

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
    // Rows with equal objects are apart, so that the second one need not wait for the first.
    for row in &ROWS {
        for host in HOSTS.iter() {
            let name = format!("matrix/{}/{}", row.name(), host.name);
            trials.push(Trial::ignorable_test(name, || completion(all_cells(row, host))));
        }
    }
    trials.extend(windows::trials());
    trials.extend(macos::trials());
    trials
}

/// Returns the directory of the matrix's sources and logs.
fn directory() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/matrix")
}

fn all_cells(row: &Row, host: &Host) -> Result<()> {
    let directory = fresh_directory(&format!("matrix/{}", row.name()), host.name)?;
    let kit = Kit::of(host)?;
    let images = Images::write(&directory)?;
    let expected = host::read(&self::directory().join("expected").join(row.log))?.replace("{host}", host.triple);
    let cells = Cells { row, host, kit: &kit, directory: &directory, expected: &expected };

    let (with_entries, without) = (directory.join("with-entries.o"), directory.join("without.o"));
    wrap(row, host.triple, &images, &row.entry_options(), &with_entries)?;
    wrap(row, host.triple, &images, &[], &without)?;
    let objects = [std::fs::read(&with_entries)?, std::fs::read(&without)?];
    let known = KNOWN.of((objects, kit.program_with_entries(row), row.judge(), row.log));
    // A trial that failed while it held the lock left nothing.
    let mut known = known.lock().unwrap_or_else(PoisonError::into_inner);
    let mut results = match &*known {
        Some(lines) => Results { lines: lines.clone(), ..Results::default() },
        None => links(&cells, &with_entries, &without),
    };
    if results.all_passed() {
        *known = Some(results.lines.clone());
    }
    drop(known);
    for ir in Ir::ALL {
        results
            .add(&format!("{} {}", ir.name(), ir.program_form().name()), compiled::check(&cells, ir, &images).into());
    }
    if let Some(reference) = row.reference {
        let outcome = match reference.lacks(host.name) {
            Some(reason) => Outcome::None(reason),
            None => reference::check(&cells, reference, &images, &without).into(),
        };
        results.add("reference pie", outcome);
    }
    results.finish(&directory)
}

/// Links and runs with every linker in every form.
fn links(cells: &Cells, with_entries: &Path, without: &Path) -> Results {
    let (row, kit) = (cells.row, cells.kit);
    let mut results = Results::default();
    for linker in Linker::ALL {
        for form in ProgramForm::ALL {
            let outcome = match cells.host.lacks(linker, form) {
                Some(reason) => Outcome::None(reason),
                // Only the wrapper writes SYCL's entries.
                None if form.entries_from_options() || row.section.is_none() => {
                    cells.check(linker, form, with_entries, &kit.program()).into()
                }
                None => cells.check(linker, form, without, &kit.program_with_entries(row)).into(),
            };
            results.add(&format!("{} {}", linker.name(), form.name()), outcome);
        }
    }
    results
}

/// Everything that the links of a trial depend on: the wrapper objects, the program with entries (of a host), the judge and its
/// expected log.
type Inputs = ([Vec<u8>; 2], PathBuf, &'static str, &'static str);

/// Recorded cells of links that all passed, by their inputs.
struct Known(Mutex<BTreeMap<Inputs, Arc<Mutex<Option<String>>>>>);

static KNOWN: Known = Known(Mutex::new(BTreeMap::new()));

impl Known {
    fn of(&self, inputs: Inputs) -> Arc<Mutex<Option<String>>> {
        Arc::clone(self.0.lock().unwrap_or_else(PoisonError::into_inner).entry(inputs).or_default())
    }
}

fn wrap(row: &Row, triple: &str, images: &Images, entries: &[String], object: &Path) -> Result<()> {
    let step = Step::new(object.parent().unwrap_or(object), env!("CARGO_BIN_EXE_fatbin")).arg("wrap");
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

    fn all_passed(&self) -> bool {
        self.failed == 0 && self.missing.is_none()
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
