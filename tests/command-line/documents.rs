//! The documents for contributors and users: links lead somewhere, listed files exist, workflows follow their schemas.

use std::path::{Path, PathBuf};

use yaml_rust2::{Yaml, YamlLoader};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

pub fn read(name: &str) -> String {
    std::fs::read_to_string(root().join(name)).unwrap_or_else(|error| panic!("{name}: {error}"))
}

pub fn files_below(directory: &Path, extension: &str) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(files_below(&path, extension));
        } else if path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files
}

/// All Markdown documents: the root directory, `docs`, and the documents of fixtures and bindings.
pub fn documents() -> Vec<PathBuf> {
    let mut documents = files_below(&root().join("docs"), "md");
    for entry in std::fs::read_dir(root()).unwrap() {
        documents.extend(Some(entry.unwrap().path()).filter(|path| path.extension().is_some_and(|it| it == "md")));
    }
    for directory in ["fixtures", "bindings", "packaging"] {
        documents.extend(files_below(&root().join(directory), "md"));
    }
    documents
}

/// The texts between `open` and `close`.
fn between<'a>(text: &'a str, open: &str, close: &str) -> Vec<&'a str> {
    text.split(open).skip(1).filter_map(|rest| rest.split_once(close)).map(|(inner, _)| inner).collect()
}

#[test]
fn links_between_documents_lead_to_files() {
    let mut count = 0;
    for document in documents() {
        let text = std::fs::read_to_string(&document).unwrap();
        for link in between(&text, "](", ")") {
            let path = document.parent().unwrap().join(link.split('#').next().unwrap());
            assert!(link.starts_with("https://") || path.exists(), "{}: {link} leads nowhere", document.display());
            count += 1;
        }
    }
    assert!(count > 30, "{count} links found");
}

#[test]
fn every_page_is_listed_in_its_directory() {
    for directory in ["tasks", "guide", "formats"] {
        let index = read(&format!("docs/{directory}/README.md"));
        for page in files_below(&root().join("docs").join(directory), "md") {
            let name = page.file_name().unwrap().to_str().unwrap();
            let is_listed = index.lines().any(|row| row.starts_with("| [") && row.contains(&format!("]({name})")));
            assert!(name == "README.md" || is_listed, "docs/{directory}/README.md lacks {name}");
        }
    }
}

#[test]
fn every_example_is_listed_in_the_guide() {
    let page = read("docs/guide/library.md");
    for example in std::fs::read_dir(root().join("examples")).unwrap() {
        let (path, name) = (example.as_ref().unwrap().path(), example.unwrap().file_name().into_string().unwrap());
        let is_example = path.extension().is_some_and(|it| it == "rs") || path.join("Cargo.toml").exists();
        let is_listed = page.contains(&format!("](../../examples/{name})"));
        assert!(!is_example || is_listed, "docs/guide/library.md lacks {name}");
    }
}

/// A section of `docs/adding.md`: its example, and its items, each a file with the words that it must contain.
struct CheckList<'a> {
    title: &'a str,
    example: &'a str,
    items: Vec<(&'a str, Vec<&'a str>)>,
}

fn check_lists(text: &str) -> Vec<CheckList<'_>> {
    let sections = text.split("\n## ").skip(1);
    let lists = sections.map(|section| {
        let title = section.lines().next().unwrap();
        let example = between(section, "\nExample: `", "`").pop().unwrap_or_else(|| panic!("{title}: no example"));
        let items = section.split("\n- ").skip(1).flat_map(items_of).collect();
        CheckList { title, example, items }
    });
    lists.collect()
}

/// The files of an item, each followed by its words in parentheses: `` `FILE` (`WORD`, `WORD`), `FILE` (`WORD`) and `FILE`
/// (`WORD`): TEXT``.
fn items_of(item: &str) -> Vec<(&str, Vec<&str>)> {
    let mut found = Vec::new();
    let mut rest = item.trim_start_matches("Optional: ");
    while let Some((file, after)) = rest.strip_prefix('`').and_then(|rest| rest.split_once("` (")) {
        let (words, after) = after.split_once(')').unwrap();
        found.push((file, words.split('`').skip(1).step_by(2).collect()));
        let after = after.trim_start_matches([' ', '\n', ',']);
        rest = after.strip_prefix("and ").unwrap_or(after);
    }
    assert!(!found.is_empty(), "no file with words: {item}");
    found
}

#[test]
fn check_lists_name_existing_files_and_words() {
    let text = read("docs/adding.md");
    let lists = check_lists(&text);
    assert_eq!(lists.len(), 8);
    for CheckList { title, items, .. } in &lists {
        assert!(items.len() >= 5, "{title}: {items:?}");
        for (file, words) in items {
            let content = read(file);
            for word in words {
                assert!(content.contains(word), "docs/adding.md, {title}: {file} does not contain {word}");
            }
        }
    }
}

#[test]
fn check_lists_name_every_file_of_their_example() {
    let text = read("docs/adding.md");
    for CheckList { title, example, items } in check_lists(&text) {
        for file in files_below(&root().join("src"), "rs") {
            let name = file.strip_prefix(root()).unwrap().to_str().unwrap().replace('\\', "/");
            let is_test = name.ends_with("tests.rs");
            if !is_test && std::fs::read_to_string(&file).unwrap().contains(example) {
                let is_listed = items.iter().any(|(file, _)| *file == name);
                assert!(is_listed, "docs/adding.md, {title}: {name} contains {example} and is not listed");
            }
        }
    }
}

#[test]
fn architecture_and_contributing_name_existing_paths() {
    for document in ["ARCHITECTURE.md", "CONTRIBUTING.md"] {
        let text = read(document);
        for path in text.split('`').skip(1).step_by(2) {
            let is_path = ["docs/", "scripts/", "tests/"].iter().any(|directory| path.starts_with(directory));
            let name = path.split(' ').next().unwrap();
            assert!(!is_path || root().join(name).exists(), "{document}: {name} does not exist");
        }
    }
}

pub fn to_json(yaml: &Yaml) -> serde_json::Value {
    match yaml {
        Yaml::String(text) => text.as_str().into(),
        Yaml::Integer(number) => (*number).into(),
        Yaml::Real(number) => number.parse::<f64>().unwrap().into(),
        Yaml::Boolean(value) => (*value).into(),
        Yaml::Array(items) => items.iter().map(to_json).collect(),
        Yaml::Hash(entries) => {
            let name = |key: &Yaml| key.as_str().unwrap_or_else(|| panic!("{key:?} is not a string")).to_owned();
            entries.iter().map(|(key, value)| (name(key), to_json(value))).collect::<serde_json::Map<_, _>>().into()
        }
        Yaml::Null | Yaml::BadValue | Yaml::Alias(_) => serde_json::Value::Null,
    }
}

/// `scripts/test` fetches the schemas. Without them, only strict mode fails.
#[test]
fn workflows_and_action_follow_the_published_schemas() {
    let schemas = root().join("target/runtimes/workflow-schemas");
    if !schemas.exists() {
        assert!(std::env::var("FATBIN_STRICT").as_deref() != Ok("1"), "{} is missing", schemas.display());
        eprintln!("ignored: {} is missing; run scripts/test --install", schemas.display());
        return;
    }
    let workflows =
        [".github/workflows/ci.yml", ".github/workflows/release.yml"].map(|name| (name, "github-workflows.json"));
    for (name, schema) in workflows.into_iter().chain([("action.yml", "github-actions.json")]) {
        let schema = std::fs::read(schemas.join(schema)).unwrap();
        let schema = serde_json::from_slice(&schema).unwrap();
        let document = to_json(&YamlLoader::load_from_str(&read(name)).unwrap()[0]);
        let validator = jsonschema::validator_for(&schema).unwrap();
        let errors: Vec<String> = validator.iter_errors(&document).map(|error| error.to_string()).collect();
        assert!(errors.is_empty(), "{name}: {errors:#?}");
    }
}

/// A tag can be moved to other code; the hash of a commit cannot.
#[test]
fn workflows_and_action_pin_the_actions_that_they_use() {
    for name in [".github/workflows/ci.yml", ".github/workflows/release.yml", "action.yml"] {
        let text = read(name);
        let used: Vec<&str> = text.lines().filter_map(|line| line.split_once("uses: ")).map(|(_, used)| used).collect();
        assert!(!used.is_empty(), "{name}");
        for action in used {
            let (_, commit) = action.split_once('@').expect("an action at a version");
            let (hash, release) = commit.split_once(" # v").unwrap_or((commit, ""));
            let is_hash = hash.len() == 40 && hash.bytes().all(|byte| byte.is_ascii_hexdigit());
            assert!(is_hash && !release.is_empty(), "{name}: {action}");
        }
    }
}

/// Users of the library as a parser build no command line.
#[test]
fn library_for_files_has_no_crates_of_the_command_line() {
    let arguments =
        ["tree", "--package=fatbin", "--no-default-features", "--features=files", "--edges=normal", "--prefix=none"];
    let output = std::process::Command::new(env!("CARGO"))
        .args(arguments)
        .args(["--offline", "--locked"])
        .current_dir(root())
        .output()
        .unwrap();
    let tree = String::from_utf8(output.stdout).unwrap();
    let crates: Vec<&str> = tree.lines().filter_map(|line| line.split(' ').next()).collect();
    assert!(crates.contains(&"object"), "{tree}{}", String::from_utf8_lossy(&output.stderr));
    for name in ["anyhow", "clap", "console", "indicatif"] {
        assert!(!crates.contains(&name), "{name}: {tree}");
    }
}
