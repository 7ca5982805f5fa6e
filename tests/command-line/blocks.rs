//! Every code block of the documents is run, or checked by its language. A language that no test handles is a failure.

use std::path::Path;

use yaml_rust2::{Yaml, YamlLoader};

use crate::Sandbox;
use crate::documents::{documents, read, to_json};

/// A code block: its page, the word after the fence, and the lines.
struct Block {
    page: String,
    language: String,
    text: String,
}

fn blocks() -> Vec<Block> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut blocks = Vec::new();
    for path in documents() {
        let page = path.strip_prefix(root).unwrap().to_str().unwrap();
        let text = read(page);
        let mut fences = text.split("\n```");
        fences.next();
        while let Some(block) = fences.next() {
            let (language, text) = block.split_once('\n').unwrap_or((block, ""));
            assert!(fences.next().is_some_and(|rest| rest.is_empty() || rest.starts_with('\n')), "{page}: {block}");
            blocks.push(Block { page: page.to_owned(), language: language.to_owned(), text: format!("{text}\n") });
        }
    }
    blocks
}

#[test]
fn every_code_block_is_run_or_checked() {
    let blocks = blocks();
    assert!(blocks.len() > 150, "{} blocks", blocks.len());
    let failures: Vec<String> = blocks
        .iter()
        .filter_map(|block| Some(format!("{}: {}:\n{}", block.page, check(block).err()?, block.text)))
        .collect();
    assert!(failures.is_empty(), "{}", failures.join("\n"));
}

fn check(block: &Block) -> Result<(), String> {
    match block.language.as_str() {
        // readme.rs, errors.rs.
        "console" => is_below(block, &["README.md", "docs/guide/", "docs/tasks/", "docs/errors/"]),
        // Layouts, messages, and the commands that linker-tests/readme.rs runs.
        "text" if block.text.contains("$ ") => is_below(block, &["README.md", "docs/tasks/"]),
        "text" => Ok(()),
        "python" => is_read_by(block, "linker-tests/python.rs"),
        "rust" => {
            is_excerpt(block, "//", &sources("examples/build-script", &["build.rs", "src/lib.rs", "src/main.rs"]))
        }
        "cmake" | "meson" | "starlark" => {
            let names = ["CMakeLists.txt", "meson.build", "WORKSPACE", "BUILD.bazel"];
            is_excerpt(block, "#", &sources("integrations/example", &names))
        }
        "toml" => check_toml(block),
        "yaml" => check_yaml(&block.text),
        "c" => check_c(&block.text),
        "sh" => check_sh(&block.text),
        other => Err(format!("no test handles the language {other:?}")),
    }
}

fn is_below(block: &Block, places: &[&str]) -> Result<(), String> {
    let is_run = places.iter().any(|place| block.page.starts_with(place));
    is_run.then_some(()).ok_or_else(|| format!("no test runs {} blocks of this page", block.language))
}

fn is_read_by(block: &Block, test: &str) -> Result<(), String> {
    read(test).contains(&format!("\"{}\"", block.page)).then_some(()).ok_or_else(|| format!("{test} does not run it"))
}

fn sources(directory: &str, names: &[&str]) -> String {
    names.iter().map(|name| read(&format!("{directory}/{name}"))).collect()
}

/// Each line is part of an example that linker-tests build. White space, comments and trailing commas do not count.
fn is_excerpt(block: &Block, comment: &str, example: &str) -> Result<(), String> {
    let condensed = |text: &str| {
        let code: String = text.lines().map(|line| line.split(comment).next().unwrap()).collect();
        code.split_whitespace().collect::<String>().replace(",)", ")").replace(",]", "]")
    };
    let example = condensed(example);
    let missing = block.text.lines().find(|line| !example.contains(&condensed(line)));
    missing.map_or(Ok(()), |line| Err(format!("no example has {line:?}")))
}

/// A policy that `check` reads, or dependencies on features that exist.
fn check_toml(block: &Block) -> Result<(), String> {
    let table: toml::Table = block.text.parse().map_err(|error| format!("{error}"))?;
    if let Some(dependencies) = table.get("dependencies").or_else(|| table.get("build-dependencies")) {
        let manifest: toml::Table = read("src/fatbin/Cargo.toml").parse().unwrap();
        let features = dependencies["fatbin"]["features"].as_array().unwrap();
        let unknown = features.iter().find(|name| manifest["features"].get(name.as_str().unwrap()).is_none());
        return unknown.map_or(Ok(()), |name| Err(format!("no feature {name}")));
    }
    let sandbox = Sandbox::new();
    sandbox.file("policy.toml", &block.text).fixture("answer-gfx90a.hsaco", "image");
    let printed = sandbox.fatbin("check --policy policy.toml image").err;
    if printed.contains("policy.toml") { Err(printed) } else { Ok(()) }
}

/// Steps that use the action have its inputs, and hooks exist.
fn check_yaml(text: &str) -> Result<(), String> {
    let load = |text: &str| YamlLoader::load_from_str(text).map_err(|error| format!("{error}"));
    let documents = load(text)?;
    let inputs = to_json(&load(&read("action.yml"))?[0])["inputs"].clone();
    let hooks = read(".pre-commit-hooks.yaml");
    let items = documents[0].as_vec().cloned().unwrap_or_default();
    for item in items {
        let names = item["with"].as_hash().into_iter().flatten().filter_map(|(name, _)| name.as_str());
        if let Some(name) = names.into_iter().find(|name| inputs[*name].is_null()) {
            return Err(format!("action.yml has no input {name}"));
        }
        let mut ids = item["hooks"].as_vec().into_iter().flatten().filter_map(|hook: &Yaml| hook["id"].as_str());
        if let Some(id) = ids.find(|id| !hooks.contains(&format!("- id: {id}\n"))) {
            return Err(format!(".pre-commit-hooks.yaml has no hook {id}"));
        }
    }
    Ok(())
}

/// readme.rs writes and compiles the files that a block names in its first line; their headers do not exist here.
fn check_c(text: &str) -> Result<(), String> {
    if text.starts_with("// ") {
        return Ok(());
    }
    let sandbox = Sandbox::new();
    sandbox.file("block.c", text);
    let headers = Path::new(env!("CARGO_MANIFEST_DIR")).join("bindings/c/include");
    let mut cc = sandbox.command("cc");
    cc.args(["-fsyntax-only", "-Wall", "-Werror", "-include", "stdint.h", "block.c", "-I"]).arg(headers);
    let run = crate::run(&mut cc);
    if run.status == 0 { Ok(()) } else { Err(run.err) }
}

/// A shell reads the block; its scripts exist, and its commands of fatbin have their options.
fn check_sh(text: &str) -> Result<(), String> {
    let sandbox = Sandbox::new();
    let run = crate::run(sandbox.file("block", text).command("bash").args(["-n", "block"]));
    if run.status != 0 {
        return Err(run.err);
    }
    for line in text.lines() {
        let mut words = line.split('#').next().unwrap().split_whitespace();
        let program = words.next().unwrap_or_default();
        let described = if program == "fatbin" {
            sandbox.fatbin(&format!("{} --help", words.next().unwrap_or_default())).ok()
        } else if program.starts_with("scripts/") {
            read(program)
        } else {
            continue;
        };
        if let Some(option) = words.find(|word| word.starts_with('-') && !described.contains(word)) {
            return Err(format!("{line}: no option {option}"));
        }
    }
    Ok(())
}
