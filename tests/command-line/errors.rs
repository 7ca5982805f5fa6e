//! Codes of errors: each example in `docs/errors` fails with the code that it explains.

use std::path::Path;

use serde_json::Value;

use crate::readme::examples;
use crate::terminal::at_a_terminal::shown;
use crate::{Sandbox, fixture};

/// Codes without an example, and the reason.
const WITHOUT_EXAMPLE: [(&str, &str); 5] = [
    ("E0205", "another process must change the file at the right time; see changed_input.rs"),
    ("E0211", "no input causes it"),
    ("E0313", "the offset depends on the linker; see host_half.rs"),
    ("E0602", "requires an image of a form that is newer than the program"),
    ("E0705", "no input causes it"),
];

const FILES: [&str; 6] =
    ["answer-x86_64.so", "answer-gfx90a.hsaco", "answer-sm_90.cubin", "answer-sm_90.ltoir", "host.c", "runtime.c"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in FILES {
        sandbox.file(name, fixture(name));
    }
    sandbox
}

/// Returns the sections of the pages about codes, or of the page about rules, each with its name and text.
fn sections(about_rules: bool) -> Vec<(String, String)> {
    let mut sections = Vec::new();
    for entry in std::fs::read_dir(Path::new(env!("CARGO_MANIFEST_DIR")).join("docs/errors")).unwrap() {
        let path = entry.unwrap().path();
        if path.ends_with("README.md") || path.ends_with("rules.md") != about_rules {
            continue;
        }
        for section in std::fs::read_to_string(path).unwrap().split("\n## ").skip(1) {
            sections.push((section.split(':').next().unwrap().to_owned(), section.to_owned()));
        }
    }
    sections.sort();
    sections
}

#[test]
fn every_example_fails_with_the_code_that_it_explains() {
    for (code, text) in sections(false) {
        let examples = examples(&text);
        let is_exempt = WITHOUT_EXAMPLE.iter().any(|(exempt, _)| *exempt == code);
        assert_eq!(examples.is_empty(), is_exempt, "{code}");
        let sandbox = sandbox();
        let (mut hints, mut found, mut expected) = (String::new(), String::new(), String::new());
        for example in &examples {
            // Only errors go to the terminal: on one, sizes have units.
            let script = format!("{{ {}\n}} >stdout", example.command);
            let errors = shown(&sandbox, 2000, &script, ("NO_COLOR", "1"));
            let (hint, lines) =
                errors.split_inclusive('\n').partition::<String, _>(|it| it.starts_with("fatbin: for details, run: "));
            hints = hint;
            let printed = String::from_utf8(sandbox.read("stdout")).unwrap();
            found += &format!("$ {}\n{printed}{lines}", example.command);
            expected += &format!("$ {}\n{}", example.command, example.output);
        }
        assert_eq!(found, expected, "{code}");
        if !is_exempt {
            assert_eq!(hints, format!("fatbin: for details, run: fatbin explain {code}\n"), "{found}");
        }
    }
}

#[test]
fn every_policy_in_the_texts_about_rules_enables_its_rule() {
    let sandbox = sandbox();
    sandbox.fatbin("wrap --kind hip -o hip.o answer-gfx90a.hsaco").ok();
    let sections = sections(true);
    assert!(sections.len() > 20);
    for (rule, text) in sections {
        let policy = text.split("```toml\n").nth(1).unwrap_or_else(|| panic!("{rule}: no policy"));
        sandbox.file("policy.toml", policy.split("```").next().unwrap());
        let run = sandbox.fatbin("check --format json --policy policy.toml hip.o");
        let report: Value = serde_json::from_str(&run.out).unwrap_or_else(|_| panic!("{rule}: {}", run.err));
        let judged = report["judged"].as_array().unwrap();
        assert!(judged.iter().any(|evaluation| evaluation["rule"] == *rule), "{rule}: {judged:?}");
    }
}

#[test]
fn explains_codes_and_rules() {
    let sandbox = Sandbox::new();
    let all = sandbox.fatbin("explain").ok();
    for (name, text) in sections(false).into_iter().chain(sections(true)) {
        let title = text.lines().next().unwrap().replace('`', "");
        let page = sandbox.fatbin(&format!("explain {name}")).ok();
        assert!(page.starts_with(&format!("{title}\n\n")) && page.contains("\nRemedy: "), "{page}");
        assert!(all.lines().any(|line| line.trim_start().starts_with(&name)), "{name}: {all}");
    }
    let both = sandbox.fatbin("explain e0101 readable").ok();
    assert!(both.starts_with("E0101: ") && both.contains("\nreadable: "), "{both}");
    let cases = [
        ("E0110", "unknown code or rule; did you mean E0101 or E0210 or E0310?; fatbin explain lists all"),
        ("required-arch", "unknown code or rule; did you mean required-archs?; fatbin explain lists all"),
        ("nothing-like-it", "unknown code or rule; fatbin explain lists all"),
    ];
    for (name, message) in cases {
        let run = sandbox.fatbin(&format!("explain {name}"));
        assert_eq!(run.status, 2);
        assert!(run.err.contains(message), "{}", run.err);
    }
}

#[test]
fn errors_in_json_have_codes() {
    let sandbox = sandbox();
    sandbox.file("cut", &fixture("answer-gfx90a.hsaco")[..2000]);
    for command in ["scan", "inspect", "requires", "select --device gfx90a"] {
        let run = sandbox.fatbin(&format!("{command} --json cut"));
        let document: Value = serde_json::from_str(&run.out).unwrap();
        let name = command.split(' ').next().unwrap();
        let schema: Value = serde_json::from_str(&sandbox.fatbin(&format!("schema {name}")).ok()).unwrap();
        jsonschema::validate(&schema, &document).unwrap();
        assert_eq!(document["files"][0]["errors"][0]["code"], "E0101", "{command}: {document}");
        assert_eq!(run.err.lines().count(), 1, "{}", run.err);
    }
}

#[test]
fn the_hint_is_for_terminals_and_not_for_drop_ins() {
    let sandbox = sandbox();
    assert_eq!(sandbox.fatbin("scan missing").err.lines().count(), 1);
    let several = shown(&sandbox, 200, "fatbin scan missing cut; fatbin scan missing .", ("NO_COLOR", "1"));
    assert_eq!(several.matches("fatbin: for details, run: fatbin explain E0201\n").count(), 2, "{several}");
    sandbox.fatbin("install-links links").ok();
    let tool = shown(&sandbox, 200, "links/clang-offload-bundler --type=o", ("NO_COLOR", "1"));
    assert!(!tool.is_empty() && !tool.contains("explain"), "{tool}");
    let pipe = shown(&sandbox, 200, "fatbin scan --help | true", ("NO_COLOR", "1"));
    assert!(!pipe.contains("explain E"), "{pipe}");
}
