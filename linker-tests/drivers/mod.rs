//! Every clang as a client of the drop-ins: command lines of users with the tools of the compiler's release and with the links
//! of `fatbin install-links`.
//!
//! The command lines of a table run one after the other in one directory, so that links use the objects of earlier
//! lines. Both sides must agree after each line: exit status, output, commands of clang's driver, and every file to the
//! byte, unless the table states a reason. The table states the drop-ins that a line calls, and the run must confirm
//! it. Programs for the host as an OpenMP device run.
//!
//! | table | command lines |
//! |---|---|
//! | `hip`, `openmp-old` | the driver that bundles and wraps |
//! | `hip-new`, `openmp` | the driver that embeds offload binaries |
//! | `cuda` | CUDA, and OpenMP for NVIDIA's devices |

mod compare;
mod session;
mod table;

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use libtest_mimic::Trial;

use crate::dropin::Side;
use crate::harness::trial::{completion, fresh_directory};
use session::{File, Outcome, Session};
use table::{Line, Reason};

/// Releases of clang: all in Debian 12, and the newest.
const RELEASES: [u32; 5] = [14, 15, 16, 19, 22];

/// Tables, and the releases that they have lines for.
const TABLES: [(&str, &[u32]); 5] = [
    ("hip", &RELEASES),
    ("hip-new", &[15, 16, 19, 22]),
    ("openmp-old", &[14, 15]),
    ("openmp", &[15, 16, 19, 22]),
    ("cuda", &RELEASES),
];

/// Minimum number of command lines of clang and its tools per release.
const FEWEST_LINES: usize = 60;

pub fn trials() -> Vec<Trial> {
    let mut trials = vec![Trial::test("drivers/tables", || Ok(tables_have_enough_lines()?))];
    for (table, releases) in TABLES {
        for &release in releases {
            let run = move || completion(both_sides_agree(table, release));
            trials.push(Trial::ignorable_test(format!("drivers/{table}-{release}"), run));
        }
    }
    trials
}

fn tables_have_enough_lines() -> Result<()> {
    for release in RELEASES {
        let tables = TABLES.iter().filter(|(_, releases)| releases.contains(&release));
        let count = |name: &str| -> Result<usize> {
            let lines = table::read(&path(name), release)?;
            Ok(lines.iter().filter(|line| line.runs_llvm()).count())
        };
        let counts: Result<Vec<usize>> = tables.map(|(name, _)| count(name)).collect();
        let counts = counts?;
        ensure!(counts.iter().all(|&count| count > 0), "a table has no line for LLVM {release}: {counts:?}");
        let lines: usize = counts.iter().sum();
        ensure!(lines >= FEWEST_LINES, "{lines} lines for LLVM {release}, expected {FEWEST_LINES}");
    }
    Ok(())
}

fn path(table: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("linker-tests/drivers/{table}.txt"))
}

fn both_sides_agree(table: &str, release: u32) -> Result<()> {
    let lines = table::read(&path(table), release)?;
    let directory = fresh_directory("drivers", &format!("{table}-{release}"))?;
    let mut outcomes = Vec::new();
    for side in [Side::Theirs, Side::Ours] {
        let session = Session::prepare(&directory, release, side, table)?;
        outcomes.push(session.run(&lines)?);
        session.close(&directory.join(format!("{side:?}")))?;
    }
    let [theirs, ours] = &outcomes[..] else { bail!("two sides") };
    let mut report = String::new();
    for (line, (theirs, ours)) in lines.iter().zip(theirs.iter().zip(ours)) {
        let mut faults = [expectation_faults(line, theirs, release), differences(line, theirs, ours)].concat();
        faults.extend(file_differences(line, theirs, ours, &directory)?);
        if !faults.is_empty() {
            let _ = writeln!(report, "{table}.txt:{}: {}\n  {}", line.number, line.command, faults.join("\n  "));
        }
    }
    ensure!(report.is_empty(), "in {}:\n{report}", directory.display());
    Ok(())
}

/// Returns the expectations of the table that the original tools do not meet.
fn expectation_faults(line: &Line, theirs: &Outcome, release: u32) -> Vec<String> {
    let mut faults = Vec::new();
    let expected = if line.fails { "a failure" } else { "success" };
    if theirs.status.is_none_or(|status| (status != 0) != line.fails) {
        faults.push(format!("status {:?}, expected {expected}:\n{}", theirs.status, theirs.output));
    }
    let calls = theirs.calls(line, release);
    if calls != line.calls {
        faults.push(format!("called {calls:?}, expected {:?}", line.calls));
    }
    faults
}

fn differences(line: &Line, theirs: &Outcome, ours: &Outcome) -> Vec<String> {
    let mut differences = Vec::new();
    if theirs.status != ours.status {
        differences.push(format!("status {:?} and {:?}", theirs.status, ours.status));
    }
    for (title, theirs, ours) in
        [("output", &theirs.output, &ours.output), ("commands", &theirs.commands, &ours.commands)]
    {
        let only = |these: &str, those: &str| -> Vec<String> {
            let those: BTreeSet<&str> = those.lines().collect();
            these.lines().filter(|line| !those.contains(line)).map(str::to_owned).collect()
        };
        let sorted = |text: &str| text.lines().map(str::to_owned).collect::<BTreeSet<_>>();
        let is_equal = theirs == ours || line.reason == Some(Reason::ListOrder) && sorted(theirs) == sorted(ours);
        if !is_equal {
            differences.push(format!("{title}: {:#?} and {:#?}", only(theirs, ours), only(ours, theirs)));
        }
    }
    if theirs.temporary != ours.temporary {
        differences.push(format!("temporary files {:?} and {:?}", theirs.temporary, ours.temporary));
    }
    differences
}

fn file_differences(line: &Line, theirs: &Outcome, ours: &Outcome, directory: &Path) -> Result<Vec<String>> {
    let mut differences = Vec::new();
    let names: BTreeSet<&String> = theirs.files.keys().chain(ours.files.keys()).collect();
    for name in names {
        let (theirs, ours) = (theirs.files.get(name), ours.files.get(name));
        let is_equal = match (theirs, ours, line.reason) {
            (Some(Some((mode, theirs))), Some(Some((other, ours))), Some(reason)) if theirs != ours => {
                (mode == other || reason == Reason::Layout) && compare::agree(reason, directory, name, theirs, ours)?
            }
            _ => theirs == ours,
        };
        if !is_equal {
            differences.push(format!("{name}: {} and {}", described(theirs), described(ours)));
        }
    }
    Ok(differences)
}

fn described(file: Option<&Option<File>>) -> String {
    match file {
        None => "unchanged".to_owned(),
        Some(None) => "removed".to_owned(),
        Some(Some((mode, bytes))) => format!("mode {mode:o}, {} bytes", bytes.len()),
    }
}
