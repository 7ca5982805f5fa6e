//! The book that `scripts/book` builds from the documents: every page has its title and links that lead somewhere, and a phone
//! shows it without scrolling sideways.

use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, fetched, in_path, not_fetched};
use crate::harness::trial::{completion, fresh_directory};

type Test = (&'static str, fn(&Path) -> Result<()>);

const TRIALS: [Test; 3] = [
    ("links", every_page_has_its_title_and_links_that_lead_somewhere),
    ("looks", pages_fit_a_phone_in_both_color_schemes),
    ("mistakes", broken_links_and_forgotten_pages_fail),
];

pub fn trials() -> Vec<Trial> {
    let trial = |&(name, test): &Test| {
        Trial::ignorable_test(format!("book/{name}"), move || {
            completion(fresh_directory("book", name).and_then(|directory| test(&directory)))
        })
    };
    TRIALS.iter().map(trial).collect()
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

fn python() -> Result<PathBuf> {
    in_path("python3").ok_or_else(|| Missing::new("python3", "python3").into())
}

/// Copies the repository to a directory, because concurrent trials build the book as well.
fn copy_repository(directory: &Path) -> Result<()> {
    let script = "mkdir -p \"$0\" && tar -c --exclude=target --exclude=.git . | tar -x -C \"$0\"";
    Step::new(root(), "sh").args(["-c", script]).arg(directory).run()?;
    Ok(())
}

/// Returns a shell that runs a command line. There, `$0` builds the book of a copy.
fn shell(directory: &Path, line: &str) -> Result<Step> {
    let site = fetched("book");
    if !site.is_dir() {
        return Err(not_fetched("target/runtimes/book").into());
    }
    python()?;
    let shell = Step::new(directory, "sh").env("PYTHONPATH", site).env("FATBIN_PROGRAM", fatbin_program());
    Ok(shell.args(["-c", line]).arg(directory.join("scripts/book")))
}

/// Copies the repository, and returns the book.
fn built(directory: &Path) -> Result<PathBuf> {
    copy_repository(directory)?;
    shell(directory, "\"$0\"")?.run()?;
    Ok(directory.join("target/book"))
}

fn every_page_has_its_title_and_links_that_lead_somewhere(directory: &Path) -> Result<()> {
    let book = built(directory)?;
    let check = root().join("linker-tests/book/check_links.py");
    let checked = Step::new(directory, python()?).arg("-B").arg(check).args([directory, &book]).run()?;
    ensure!(checked.stdout.ends_with(" pages\n"), "{}", checked.error("prints no number of pages"));
    Ok(())
}

fn pages_fit_a_phone_in_both_color_schemes(directory: &Path) -> Result<()> {
    let (driver, chromium) = (Tool::Chromedriver.path()?, Tool::Chromium.path()?);
    let book = built(directory)?;
    let visit = root().join("linker-tests/book/visit.py");
    let modules = root().join("linker-tests/page");
    let visit = Step::new(directory, python()?).env("PYTHONPATH", modules).arg("-B").arg(visit);
    visit.args([driver, chromium, book, directory.to_owned()]).run()?;
    Ok(())
}

/// Changes to a copy, each as a page and the text that is added to it, and the message.
const MISTAKES: [(&str, &str, &str); 3] = [
    ("docs/guide/scan.md", "\n[page](nothing.md)\n", "nothing.md"),
    ("docs/guide/wrap.md", "\n[heading](scan.md#no-such-heading)\n", "no-such-heading"),
    ("docs/guide/orphan.md", "# Orphan\n", "orphan.md"),
];

fn broken_links_and_forgotten_pages_fail(directory: &Path) -> Result<()> {
    for (number, (page, text, message)) in MISTAKES.into_iter().enumerate() {
        let copy = directory.join(number.to_string());
        copy_repository(&copy)?;
        let page = copy.join(page);
        let before = fs::read_to_string(&page).unwrap_or_default();
        fs::write(&page, before + text)?;
        let failed = shell(&copy, "! \"$0\" 2>&1")?.run()?;
        ensure!(failed.stdout.contains(message), "{}", failed.error("lacks the message"));
    }
    Ok(())
}
