//! Completions in zsh and fish. Those of bash are tested in `tests/command-line`.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, in_path};
use crate::harness::trial::{completion, fresh_directory};

/// Command lines with one completion, and that completion.
const LINES: [(&str, &str); 8] = [
    ("fatbin insp", "inspect"),
    ("fatbin scan --nd", "--ndjson"),
    ("fatbin check --format ma", "markdown"),
    ("fatbin extract --kind hi", "hip"),
    ("fatbin extract --arch gfx90a", "gfx90a"),
    ("fatbin prune --device gfx942", "gfx942"),
    ("fatbin help no-k", "no-kernel-image"),
    ("fatbin explain E0101", "E0101"),
];

pub fn trials() -> Vec<Trial> {
    type Test = fn(&Path) -> Result<Vec<String>>;
    let shells: [(&str, Test); 2] = [("zsh", completed_by_zsh), ("fish", completed_by_fish)];
    let trial = |(shell, test): (&'static str, Test)| {
        Trial::ignorable_test(format!("shells/{shell}"), move || {
            completion(fresh_directory("shells", shell).and_then(|directory| completes(shell, test(&directory)?)))
        })
    };
    shells.into_iter().map(trial).collect()
}

fn completes(shell: &str, completed: Vec<String>) -> Result<()> {
    ensure!(completed.len() == LINES.len(), "{shell}: {completed:?}");
    for ((line, expected), found) in LINES.iter().zip(completed) {
        let last = found.split_whitespace().next_back();
        ensure!(last == Some(*expected), "{shell}: {line}: {found:?}");
    }
    Ok(())
}

/// Returns the command lines after Tab.
fn completed_by_zsh(directory: &Path) -> Result<Vec<String>> {
    let shell = in_path("zsh").ok_or_else(|| Missing::new("zsh", "zsh"))?;
    std::fs::write(directory.join("_fatbin"), script(directory, "zsh")?)?;
    let complete = concat!(env!("CARGO_MANIFEST_DIR"), "/linker-tests/shells/complete.zsh");
    let step = Step::new(directory, shell).args(["-f", complete]).arg(directory);
    Ok(step.args(LINES.map(|(line, _)| line)).run()?.stdout.lines().map(str::to_owned).collect())
}

/// Returns the first completion of each command line, without its description.
fn completed_by_fish(directory: &Path) -> Result<Vec<String>> {
    let shell = in_path("fish").ok_or_else(|| Missing::new("fish", "fish"))?;
    std::fs::write(directory.join("fatbin.fish"), script(directory, "fish")?)?;
    let complete = |(line, _): (&str, &str)| {
        let command = format!("source fatbin.fish; complete --do-complete '{line}'");
        let done = Step::new(directory, &shell).args(["--no-config", "-c", &command]).run()?;
        Ok(done.stdout.split(['\t', '\n']).next().unwrap_or_default().to_owned())
    };
    LINES.into_iter().map(complete).collect()
}

fn script(directory: &Path, shell: &str) -> Result<String> {
    Ok(Step::new(directory, fatbin_program()).args(["completions", shell]).run()?.stdout)
}
