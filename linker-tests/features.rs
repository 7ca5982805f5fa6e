//! The lists of features in `docs/features.md`: they have every option of the tools, and name tests that exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use anyhow::{Result, bail, ensure};
use libtest_mimic::Trial;

use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};
use crate::harness::trial::{completion, fresh_directory};

/// A tool: a name in a heading of the page, the path of the program, and the sources with the options of the drop-in.
struct Subject {
    name: &'static str,
    path: fn() -> Result<PathBuf>,
    drop_in: &'static str,
}

const SUBJECTS: [Subject; 8] = [
    Subject {
        name: "clang-offload-wrapper",
        path: || llvm_tool("clang-offload-wrapper", "14", "clang-tools-14"),
        drop_in: "offload_wrapper.rs",
    },
    Subject { name: "llvm-offload-wrapper", path: || Tool::OffloadWrapper.path(), drop_in: "offload_wrapper.rs" },
    Subject {
        name: "llvm-offload-binary",
        path: || Tool::OffloadBinary.path(),
        drop_in: "offload_packager/options.rs",
    },
    Subject {
        name: "clang-offload-packager",
        path: || llvm_tool("clang-offload-packager", "22", "clang-tools-22"),
        drop_in: "offload_packager/options.rs",
    },
    Subject {
        name: "clang-offload-bundler",
        path: || Tool::OffloadBundler.path(),
        drop_in: "offload_bundler/options.rs",
    },
    Subject {
        name: "clang-linker-wrapper",
        path: || llvm_tool("clang-linker-wrapper", "22", "clang-tools-22"),
        drop_in: "linker_wrapper/options.rs",
    },
    Subject { name: "cuobjdump", path: || Tool::Cuobjdump.path(), drop_in: "cuobjdump/options.rs" },
    Subject { name: "fatbinary", path: || Tool::Fatbinary.path(), drop_in: "fatbinary/options.rs" },
];

/// Returns the trials. `names` are the names of all other trials.
pub fn trials(names: BTreeSet<String>) -> Vec<Trial> {
    let options = SUBJECTS.iter().map(|subject| {
        Trial::ignorable_test(format!("features/options/{}", subject.name), move || {
            completion(fresh_directory("features", subject.name).and_then(|directory| has_options(subject, &directory)))
        })
    });
    let tests = Trial::ignorable_test("features/tests", move || completion(tests_exist(&names)));
    options.chain([tests]).collect()
}

fn page() -> Result<String> {
    Ok(fs::read_to_string(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/features.md"))?)
}

/// An item of a list: `- **VERDICT** OPTIONS: TEXT. Tests: TESTS`.
struct Item<'a> {
    verdict: &'a str,
    options: &'a str,
    tests: &'a str,
}

fn item(line: &str) -> Option<Item<'_>> {
    let (verdict, rest) = line.strip_prefix("- **")?.split_once("** ")?;
    let (text, tests) = rest.split_once(" Tests: ")?;
    let options = text.split(": ").next()?;
    Some(Item { verdict, options, tests })
}

/// Every option in the help of a tool, and every option of its drop-in, is in an item of the tool's section.
fn has_options(subject: &Subject, directory: &Path) -> Result<()> {
    // LLVM's other tools list the options of all passes as hidden ones.
    let flag = if subject.name == "clang-linker-wrapper" { "--help-hidden" } else { "--help" };
    let help = Step::new(directory, (subject.path)()?).arg(flag).run()?.stdout;
    let options: BTreeSet<String> = help.lines().filter_map(option).map(str::to_owned).collect();
    ensure!(options.len() > 4, "{} options found in the help: {options:?}", options.len());
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("src/dropin").join(subject.drop_in);
    let own = options_in(&fs::read_to_string(&source)?);
    ensure!(own.len() > 2, "{} options found in {}: {own:?}", own.len(), source.display());
    let page = page()?;
    let is_own = |section: &&str| section.lines().next().is_some_and(|heading| heading.contains(subject.name));
    let mut known = BTreeSet::new();
    for section in page.split("\n## ").filter(|section| shares_source(section, subject) || is_own(section)) {
        let options = section.lines().filter_map(item).map(|item| item.options);
        known.extend(options.flat_map(|text| text.split('`').skip(1).step_by(2)).map(str::to_owned));
    }
    let missing: Vec<&String> = options.union(&own).filter(|option| !known.contains(*option)).collect();
    ensure!(missing.is_empty(), "docs/features.md, {}: no item for {missing:?}", subject.name);
    Ok(())
}

/// Returns whether a section is about another tool with the same source of the drop-in.
fn shares_source(section: &str, subject: &Subject) -> bool {
    let heading = section.lines().next().unwrap_or_default();
    SUBJECTS.iter().any(|other| other.drop_in == subject.drop_in && heading.contains(other.name))
}

/// Returns the names in the tables of options in a source: `option("NAME", …)` and its like, and `("--NAME=", …)`.
fn options_in(source: &str) -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for call in ["option(", "list(", "deprecated(", "name: "] {
        for (at, _) in source.match_indices(call) {
            let name = source[at + call.len()..].trim_start().strip_prefix('"').and_then(|rest| rest.split_once('"'));
            if let Some((name, _)) = name {
                let dashes = if name.len() == 1 { "-" } else { "--" };
                found.insert(format!("{dashes}{name}"));
            }
        }
    }
    for (at, _) in source.match_indices("(\"--") {
        let name = source[at + 2..].split(['"', '=']).next().unwrap_or_default();
        found.insert(name.to_owned());
    }
    // The ends of option lists, and the tools themselves.
    found.retain(|name| !["--", "--cuobjdump", "--fatbinary"].contains(&name.as_str()));
    found
}

/// Returns the option that a line of a help describes, such as `  --image=<value> - TEXT`.
fn option(line: &str) -> Option<&str> {
    let name = line.trim_start();
    let is_option = name.starts_with('-') && line.len() - name.len() < 4;
    let end = name.find(['=', ' ', '<', '[']).unwrap_or(name.len());
    Some(&name[..end]).filter(|name| is_option && !name.trim_start_matches('-').is_empty())
}

const VERDICTS: [&str; 3] = ["same", "better", "no"];

/// Every item has a verdict and tests, and every test is a trial or a function.
fn tests_exist(trials: &BTreeSet<String>) -> Result<()> {
    let sources = sources()?;
    let mut count = 0;
    for line in page()?.lines().filter(|line| line.starts_with("- ")) {
        let Some(Item { verdict, tests, .. }) = item(line) else { bail!("{line}: not an item with tests") };
        ensure!(VERDICTS.contains(&verdict), "{line}: {verdict} is not a verdict");
        ensure!(tests.contains('`'), "{line}: names no test");
        for test in tests.split('`').skip(1).step_by(2) {
            let is_trial = trials.contains(test);
            let is_function = sources.contains(&format!("fn {test}("));
            ensure!(is_trial || is_function, "{line}: {test} does not exist");
        }
        count += 1;
    }
    ensure!(count > 0, "no items");
    Ok(())
}

/// Returns the sources of the tests of the program.
fn sources() -> Result<String> {
    let mut text = String::new();
    let mut directories = vec![Path::new(env!("CARGO_MANIFEST_DIR")).join("tests")];
    while let Some(directory) = directories.pop() {
        for entry in fs::read_dir(&directory)? {
            let path = entry?.path();
            if path.is_dir() {
                directories.push(path);
            } else if path.extension().is_some_and(|extension| extension == "rs") {
                text += &fs::read_to_string(path)?;
            }
        }
    }
    if text.is_empty() {
        bail!("no sources of tests");
    }
    Ok(text)
}
