//! The answers in the README and on the pages of tasks, from the package that they are about.

use std::env::{join_paths, split_paths, var_os};
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::coverage::torchvision_wheel;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::trial::{completion, fresh_directory};

/// Name of the package in the README.
const WHEEL: &str = "torchvision.whl";

/// Name of a trial, and its documents.
type Documents = (&'static str, fn() -> Result<Vec<PathBuf>>);

const TRIALS: [Documents; 2] = [("answers", || Ok(vec![root().join("README.md")])), ("tasks", tasks)];

pub fn trials() -> Vec<Trial> {
    let trial = |&(name, documents): &Documents| {
        Trial::ignorable_test(format!("readme/{name}"), move || {
            completion(fresh_directory("readme", name).and_then(|directory| answers(&directory, documents()?)))
        })
    };
    TRIALS.iter().map(trial).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn tasks() -> Result<Vec<PathBuf>> {
    let mut pages = Vec::new();
    for entry in fs::read_dir(root().join("docs/tasks"))? {
        pages.extend(Some(entry?.path()).filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    Ok(pages)
}

/// Start of a block of commands on the package.
const START: &str = "\n```text\n$ ";

/// The documents show the output of each of their commands. With `FATBIN_WRITE_README=1`, the trial writes the outputs instead
/// of comparing them.
fn answers(directory: &Path, documents: Vec<PathBuf>) -> Result<()> {
    let mut commands = 0;
    for document in documents {
        let directory = directory.join(document.file_stem().context("a name")?);
        fs::create_dir(&directory)?;
        std::os::unix::fs::symlink(torchvision_wheel()?, directory.join(WHEEL))?;
        let text = fs::read_to_string(&document)?;
        let mut parts = text.split(START);
        let mut shown = parts.next().context("a part")?.to_owned();
        for part in parts {
            let (block, after) = part.split_once("\n```\n").context("the end of the block")?;
            shown += "\n```text\n";
            for command in format!("$ {block}").lines().filter_map(|line| line.strip_prefix("$ ")) {
                // A command may have another status than 0: its output shows what it found.
                let line = format!("{{ {command}\n}} 2>&1 || true");
                let done = Step::new(&directory, "sh").env("PATH", path()?).args(["-c", &line]).run()?;
                shown += &format!("$ {command}\n{}", done.stdout);
                commands += 1;
            }
            shown += &format!("```\n{after}");
        }
        if var_os("FATBIN_WRITE_README").is_some() {
            fs::write(document, shown)?;
        } else {
            ensure!(shown == text, "{} differs; FATBIN_WRITE_README=1 writes this:\n{shown}", document.display());
        }
    }
    ensure!(commands >= 2, "{commands} commands");
    Ok(())
}

/// Returns the search path, with the program first.
fn path() -> Result<std::ffi::OsString> {
    let program = PathBuf::from(fatbin_program());
    let own = program.parent().context("a directory")?.to_owned();
    let others = var_os("PATH").unwrap_or_default();
    Ok(join_paths([own].into_iter().chain(split_paths(&others)))?)
}
