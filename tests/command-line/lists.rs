//! Lists outside the sources, in scripts, documents and tests of other directories, name everything that the library has.

use std::collections::BTreeSet;
use std::path::Path;

use fatbin::Host;
use fatbin_core::format::FORMATS;
use serde_json::Value;

use crate::Sandbox;

#[path = "../../linker-tests/debian.rs"]
#[allow(dead_code, reason = "other tests use the paths of tools")]
mod debian;

fn read(name: &str) -> String {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    std::fs::read_to_string(&path).unwrap_or_else(|error| panic!("{name}: {error}"))
}

/// Checks that a file contains a text.
fn check_contains(file: &str, text: &str) {
    assert!(read(file).contains(text), "{file} lacks {text}");
}

/// Returns the texts of all Rust sources in a directory of the repository and below.
fn sources_below(directory: &str) -> String {
    let mut texts = String::new();
    for path in crate::documents::files_below(&Path::new(env!("CARGO_MANIFEST_DIR")).join(directory), "rs") {
        texts += &std::fs::read_to_string(path).unwrap();
    }
    texts
}

#[test]
fn every_format_with_a_magic_has_a_fuzz_target() {
    for format in FORMATS {
        let target = format.container_type.name().replace('-', "_");
        let path = format!("fuzz/targets/{target}.rs");
        assert!(Path::new(env!("CARGO_MANIFEST_DIR")).join(&path).exists(), "{path} is missing");
    }
}

#[test]
fn every_fuzz_target_is_built_and_has_seeds() {
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("fuzz/targets")).unwrap() {
        let path = entry.unwrap().path();
        let target = path.file_stem().unwrap().to_str().unwrap();
        check_contains("fuzz/Cargo.toml", &format!("path = \"targets/{target}.rs\""));
        let seeds = [read("fuzz/seeds.rs"), read("fuzz/seed_texts.rs")].concat();
        assert!(seeds.contains(&format!("\"{target}\"")), "fuzz/seeds.rs and fuzz/seed_texts.rs lack {target}");
    }
}

#[test]
fn every_direct_dependency_has_a_reason() {
    let manifest: toml::Table = read("Cargo.toml").parse().unwrap();
    // Those of all members, but for what only tests need.
    let dependencies = manifest["workspace"]["dependencies"].as_table().unwrap();
    let own = |name: &&String| name.as_str() == "fatbin" || name.starts_with("fatbin-");
    let names: BTreeSet<String> = dependencies.keys().filter(|name| !own(name)).cloned().collect();
    let page = read("docs/dependencies.md");
    let listed: Vec<String> =
        page.lines().filter_map(|line| Some(line.strip_prefix("- `")?.split_once('`')?.0.to_owned())).collect();
    assert!(listed.iter().eq(&names), "docs/dependencies.md lists {listed:?}, Cargo.toml {names:?}");
}

#[test]
fn every_host_is_documented() {
    for host in Host::ALL.iter().copied() {
        let name = match host {
            Host::X86_64 => "x86-64",
            Host::Aarch64 => "AArch64",
            Host::Riscv64 => "RISC-V",
            Host::Powerpc64le => "Power",
            Host::S390x => "IBM Z",
            Host::Loongarch64 => "LoongArch",
            Host::X86_64WindowsMsvc | Host::Aarch64WindowsMsvc | Host::X86_64WindowsGnu => "Windows",
            Host::X86_64Macos | Host::Aarch64Macos => "macOS",
            _ => panic!("{host:?} has no name in this test"),
        };
        check_contains("docs/guide/wrap.md", name);
    }
}

#[test]
fn packages_of_every_host_are_installed() {
    for host in Host::ALL.iter().copied() {
        if let Some(architecture) = debian::debian(host).and_then(|row| row.architecture)
            && host != Host::X86_64
        {
            check_contains("scripts/test", &format!("{}:{architecture}", host.name()));
        }
    }
}

/// Returns the keys of an object in the schema of policies and in the objects that it refers to.
fn keys(schema: &Value, object: &Value) -> Vec<String> {
    let target = object["$ref"].as_str().map(|path| schema.pointer(path.trim_start_matches('#')).unwrap());
    let object = target.unwrap_or(object);
    let object = if object["items"].is_object() { &object["items"] } else { object };
    object["properties"].as_object().into_iter().flatten().map(|(key, _)| key.clone()).collect()
}

#[test]
fn every_key_of_a_policy_is_documented() {
    let schema: Value = serde_json::from_str(&Sandbox::new().fatbin("schema policy").ok()).unwrap();
    let page = read("docs/guide/check.md");
    let sections = schema["properties"].as_object().unwrap();
    let mut count = 0;
    for key in sections.keys().cloned().chain(sections.values().flat_map(|section| keys(&schema, section))) {
        let words = page.split(|c: char| !c.is_alphanumeric() && c != '-');
        assert!(words.into_iter().any(|word| word == key), "docs/guide/check.md lacks {key}");
        count += 1;
    }
    assert!(count > 20, "{count} keys found");
}

#[test]
fn every_report_of_a_check_is_documented() {
    let help = Sandbox::new().fatbin("check --policy p --format none x").err;
    let formats = help.split_once("(available: ").and_then(|(_, rest)| rest.split_once(')')).unwrap().0;
    let reports = formats.split(", ").filter(|format| *format != "table");
    for format in reports {
        check_contains("docs/guide/check.md", &format!("`{format}`"));
        check_contains("tests/command-line/check/formats.rs", &format!("\"{format}\""));
        let action = [read("action.yml").to_lowercase(), read("scripts/ci/check")].concat();
        assert!(action.contains(format), "neither action.yml nor scripts/ci/check names {format}");
    }
}

#[test]
fn every_drop_in_is_documented_and_compared_with_its_tool() {
    let comparisons = sources_below("linker-tests");
    for link in Sandbox::new().fatbin("install-links links").ok().lines() {
        let name = Path::new(link).file_stem().unwrap().to_str().unwrap();
        check_contains("docs/guide/drop-ins.md", &format!("`{name}`"));
        assert!(comparisons.contains(&format!("\"{name}")), "linker-tests lacks {name}");
    }
}
