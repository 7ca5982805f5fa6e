//! `fatbin help`: commands, and the pages of the book.

use std::path::Path;

use crate::Sandbox;
use crate::documents::files_below;

const CHAPTERS: [&str; 3] = ["tasks", "guide", "formats"];

/// Returns the pages in the repository: their names below `docs`, and their texts.
fn pages() -> Vec<(String, String)> {
    let docs = Path::new(env!("CARGO_MANIFEST_DIR")).join("docs");
    let mut pages = Vec::new();
    for chapter in CHAPTERS {
        for path in files_below(&docs.join(chapter), "md") {
            let name = path.file_stem().unwrap().to_str().unwrap();
            pages.push((format!("{chapter}/{name}"), std::fs::read_to_string(&path).unwrap()));
        }
    }
    pages.push(("features".to_owned(), std::fs::read_to_string(docs.join("features.md")).unwrap()));
    assert!(pages.len() > 30, "{} pages", pages.len());
    pages
}

fn title(text: &str) -> String {
    text.lines().next().unwrap().trim_start_matches("# ").replace('`', "")
}

#[test]
fn help_lists_every_command_and_topic() {
    let sandbox = Sandbox::new();
    let list = sandbox.fatbin("help").ok();
    assert!(list.starts_with(&sandbox.fatbin("--help").ok()), "{list}");
    let (_, topics) = list.split_once("\nTopics\n").unwrap();
    // Titles may be wrapped.
    let words = |text: &str| text.split_whitespace().collect::<Vec<_>>().join(" ");
    for (name, text) in pages().iter().filter(|(name, _)| !name.ends_with("/README")) {
        let short = name.rsplit('/').next().unwrap();
        let topic =
            topics.lines().find(|line| [name.as_str(), short].contains(&line.split_whitespace().next().unwrap_or("")));
        let topic = topic.unwrap_or_else(|| panic!("no topic {name}:\n{topics}"));
        let start = words(&title(text)).chars().take(20).collect::<String>();
        assert!(words(topic).contains(&start), "{topic}: {start}");
    }
}

/// What a person sees first has every command, and is not longer than the smallest usual terminal.
#[test]
fn the_first_screen_is_one_screen() {
    let sandbox = Sandbox::new();
    let short = sandbox.fatbin("-h").ok();
    let run = sandbox.fatbin("");
    assert_eq!((run.status, run.out.as_str(), &run.err), (2, "", &short));
    assert!(short.lines().count() < 24 && short.lines().all(|line| line.chars().count() <= 80), "{short}");
    let long = sandbox.fatbin("--help").ok();
    assert!(long.lines().all(|line| line.chars().count() <= 80), "{long}");
    let words: Vec<&str> = short.split_whitespace().collect();
    // Summaries begin in one column, so no line is the rest of another.
    let listed = long.lines().filter_map(|line| line.strip_prefix("  ")?.split_once("  "));
    let names: Vec<&str> = listed.map(|(name, _)| name).filter(|name| words.contains(name)).collect();
    assert!(names.len() > 30, "{names:?}: {long}");
}

#[test]
fn help_on_a_command_is_that_of_its_option() {
    let sandbox = Sandbox::new();
    for command in ["wrap", "scan", "install-links", "help"] {
        assert_eq!(sandbox.fatbin(&format!("help {command}")).ok(), sandbox.fatbin(&format!("{command} --help")).ok());
    }
}

#[test]
fn every_page_is_a_topic() {
    let sandbox = Sandbox::new();
    for (name, text) in pages() {
        let printed = sandbox.fatbin(&format!("help {name}")).ok();
        assert!(printed.starts_with(&format!("{}\n\n", title(&text))), "{name}: {printed}");
        for line in printed.lines().filter(|line| !line.starts_with("    ")) {
            let has_markup = ["](", "```", "|---", "<!--"].iter().any(|markup| line.contains(markup));
            assert!(!has_markup, "{name}: {line}");
        }
        // Examples keep their lines.
        for line in text.lines().filter(|line| line.starts_with("$ ")) {
            assert!(printed.contains(&format!("    {line}\n")), "{name}: {line}");
        }
    }
}

#[test]
fn topics_have_several_names() {
    let sandbox = Sandbox::new();
    let page = sandbox.fatbin("help guide/drop-ins").ok();
    for name in ["drop-ins", "guide drop-ins", "docs/guide/drop-ins.md"] {
        assert_eq!(sandbox.fatbin(&format!("help {name}")).ok(), page, "{name}");
    }
    assert!(sandbox.fatbin("help tasks").ok().starts_with("Tasks\n"));
    assert!(sandbox.fatbin("help scan").ok() != sandbox.fatbin("help guide/scan").ok());
}

#[test]
fn unknown_names_are_errors_with_suggestions() {
    let sandbox = Sandbox::new();
    let cases = [
        ("scna", "did you mean scan?"),
        ("dropins", "did you mean drop-ins?"),
        ("hipErrorNoBinaryForGpu", "see no-kernel-image"),
        ("gobbledegook", "fatbin help lists all"),
    ];
    for (name, remedy) in cases {
        let run = sandbox.fatbin(&format!("help {name}"));
        let message = format!("fatbin: unknown command or topic {name:?}; {remedy}\n");
        assert_eq!((run.status, run.out.as_str(), run.err), (2, "", message), "{name}");
    }
}

#[test]
fn man_writes_a_page_in_markdown_for_each_command_of_the_index() {
    let sandbox = Sandbox::new();
    sandbox.fatbin("man --format markdown -o pages").ok();
    let index = String::from_utf8(sandbox.read("pages/README.md")).unwrap();
    let listed = index.lines().filter_map(|row| Some(row.strip_prefix("| [")?.split_once(']')?.0));
    let mut names: Vec<String> = listed.map(|name| format!("{name}.md")).collect();
    for name in &names {
        let page = String::from_utf8(sandbox.read(&format!("pages/{name}"))).unwrap();
        let command = name.trim_end_matches(".md");
        assert!(page.starts_with(&format!("# fatbin {command}\n")) && page.contains("\n## Exit status\n"), "{page}");
    }
    let guide = String::from_utf8(sandbox.read("pages/scan.md")).unwrap();
    assert!(guide.contains("](../guide/scan.md)") && guide.contains("`--json`"), "{guide}");
    names.push("README.md".to_owned());
    names.sort();
    let mut written: Vec<_> = files_below(&sandbox.path("pages"), "md")
        .iter()
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    written.sort();
    assert_eq!(written, names);
}

#[test]
fn shells_complete_the_topics_of_the_help() {
    let script = Sandbox::new().fatbin("completions bash").ok();
    for topic in ["no-kernel-image", "smaller-wheel", "guide/check"] {
        assert!(script.contains(topic), "{topic}");
    }
}
