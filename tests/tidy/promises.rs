//! The promises of SECURITY.md: each sentence has a test that tries to break it.
//!
//! A promise is an item of the list under `## Promises`, and ends with its tests: `Tests:` and their names in backticks.
//! A name is the end of the path of a test, `MODULE::TEST`, or the name of a trial: `PROGRAM: TRIAL`.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

/// Directories with tests.
const TESTS: [&str; 3] = ["src", "tests", "linker-tests"];

/// A promise and its tests.
struct Promise {
    /// Text without the tests.
    text: String,
    tests: Vec<String>,
}

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns the promises in the text of SECURITY.md.
fn promises(policy: &str) -> Vec<Promise> {
    let (_, section) = policy.split_once("\n## Promises\n").expect("a section about promises");
    let section = section.split("\n## ").next().unwrap_or_default();
    let items = section.split("\n- ").skip(1).map(|item| item.split_whitespace().collect::<Vec<_>>().join(" "));
    items
        .map(|item| {
            let (text, tests) = item.rsplit_once("Tests: ").unwrap_or((&item, ""));
            let tests = tests.split('`').skip(1).step_by(2).map(str::to_owned).collect();
            Promise { text: text.trim().to_owned(), tests }
        })
        .collect()
}

/// Number of sentences in a text. Its title in bold is one if nothing follows it.
fn sentences(text: &str) -> usize {
    let after_title = text.rsplit_once("** ").map_or(text, |(_, after)| after);
    after_title.matches(". ").count() + 1
}

/// Returns the paths of all tests: the modules of their files, and their names.
fn tests() -> BTreeSet<String> {
    let mut found = BTreeSet::new();
    for directory in TESTS {
        add_tests(&root().join(directory), &[], &mut found);
    }
    found
}

fn add_tests(directory: &Path, modules: &[&str], found: &mut BTreeSet<String>) {
    for entry in fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let name = path.file_stem().unwrap().to_str().unwrap();
        let inner = [modules, &[name]].concat();
        if path.is_dir() {
            add_tests(&path, &inner, found);
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            let own = if ["mod", "main", "tests"].contains(&name) { modules } else { &inner };
            let text = fs::read_to_string(&path).unwrap();
            found.extend(names_of_tests(&text).map(|name| format!("{}::{name}", own.join("::"))));
        }
    }
}

/// Returns the names of the functions after `#[test]`.
fn names_of_tests(text: &str) -> impl Iterator<Item = &str> {
    let mut is_test = false;
    text.lines().filter_map(move |line| {
        let line = line.trim_start();
        is_test |= line == "#[test]";
        let name = line.strip_prefix("fn ").filter(|_| is_test)?;
        is_test = false;
        name.split('(').next()
    })
}

/// Returns whether a program has a trial with this name.
fn has_trial(program: &str, trial: &str) -> bool {
    let sources = match program {
        "scripts/torture" => ["scripts/torture", "scripts/trials/mutations.py"],
        "linker-tests" => ["linker-tests/link/mod.rs", "linker-tests/main.rs"],
        _ => return false,
    };
    sources.iter().any(|source| fs::read_to_string(root().join(source)).unwrap().contains(&format!("\"{trial}\"")))
}

fn exists(reference: &str, tests: &BTreeSet<String>) -> bool {
    match reference.split_once(": ") {
        Some((program, trial)) => has_trial(program, trial),
        None => {
            let end = format!("::{reference}");
            reference.contains("::") && tests.iter().any(|test| test.ends_with(&end) || test == reference)
        }
    }
}

#[test]
fn every_promise_has_a_test_that_tries_to_break_it() {
    let policy = fs::read_to_string(root().join("SECURITY.md")).unwrap();
    let promises = promises(&policy);
    let tests = tests();
    assert!(promises.len() > 10 && tests.len() > 1000, "{} promises, {} tests", promises.len(), tests.len());
    for Promise { text, tests: references } in &promises {
        let sentences = sentences(text);
        let named = references.len();
        assert!(named >= sentences, "{text}\n{sentences} sentences, {named} tests (Tests: `MODULE::TEST`)");
        for reference in references {
            assert!(exists(reference, &tests), "{text}\nno test or trial `{reference}`");
        }
    }
}

#[test]
fn promises_without_tests_and_names_of_none_are_found() {
    let policy = "# P\n\n## Promises\n\n- **A.** One. Two.\n  Tests: `a::b`,\n  `scripts/torture: bombs`.\n- **B**, and c.\n\n## Next\n";
    let [first, second] = &promises(policy)[..] else { panic!("two promises") };
    assert_eq!((first.text.as_str(), sentences(&first.text)), ("**A.** One. Two.", 2));
    assert_eq!(first.tests, ["a::b", "scripts/torture: bombs"]);
    assert_eq!((sentences(&second.text), second.tests.len()), (1, 0));
    let tests = BTreeSet::from(["x::a::b".to_owned()]);
    for (reference, is_known) in [
        ("a::b", true),
        ("x::a::b", true),
        ("b", false),
        ("y::b", false),
        ("scripts/torture: bombs", true),
        ("scripts/torture: flips", true),
        ("scripts/torture: none", false),
        ("scripts/none: bombs", false),
        ("linker-tests: response-files", true),
    ] {
        assert_eq!(exists(reference, &tests), is_known, "{reference}");
    }
    let names: Vec<&str> =
        names_of_tests("#[test]\n#[cfg(unix)]\nfn a() {\n}\nfn b() {}\n    #[test]\n    fn c() {").collect();
    assert_eq!(names, ["a", "c"]);
}
