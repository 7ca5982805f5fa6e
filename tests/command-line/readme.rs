//! Runs every example of the README, the guide and the pages of tasks and formats, and compares the output.
//!
//! Each page runs on its own, in a fresh directory with the sample files. All pages except the README start with the commands under
//! "Sample files" in `docs/guide/README.md`.

use std::path::{Path, PathBuf};

use crate::{Sandbox, fixture};

const SAMPLE_FILES: [&str; 7] = [
    "answer-x86_64.so",
    "answer-gfx90a.hsaco",
    "answer-gfx90a-debug.hsaco",
    "answer-sm_90.cubin",
    "answer-sm_80.ptx",
    "host.c",
    "runtime.c",
];

/// Beginnings of the blocks that may be files, and of comments in them.
const FILE_LANGUAGES: [(&str, &str); 2] = [("```toml", "# "), ("```c", "// ")];

/// A command of a page and its expected output.
pub struct Example {
    pub command: String,
    pub output: String,
}

/// Returns the commands of a page, and the files in it as commands that write them.
pub fn examples(page: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    let mut lines = page.lines();
    while let Some(line) = lines.next() {
        if let Some((_, comment)) = FILE_LANGUAGES.iter().find(|(fence, _)| *fence == line) {
            examples.extend(file_example(&mut lines, comment));
        } else if let Some(language) = line.strip_prefix("```") {
            inside = language == "console";
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            examples.push(Example { command: command.to_owned(), output: String::new() });
        } else if inside {
            let last = examples.last_mut().expect("an example starts with a command");
            last.output += &format!("{line}\n");
        }
    }
    examples
}

/// Returns the command that writes a block to the file that its first line names in a comment, if it names one.
fn file_example<'a>(lines: &mut impl Iterator<Item = &'a str>, comment: &str) -> Option<Example> {
    let text: Vec<&str> = lines.take_while(|line| *line != "```").collect();
    let name = text.first()?.strip_prefix(comment)?;
    let command = format!("cat >{name} <<'END'\n{}\nEND\n", text[1..].join("\n"));
    Some(Example { command, output: String::new() })
}

/// Masks the size of a linked program and the offsets in it, which depend on the linker.
fn without_linker_numbers(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let masked = word.starts_with("0x") || (word.trim_end().len() == 5 && word.trim_end().parse::<u64>().is_ok());
        if masked { word.replace(|c: char| c.is_ascii_hexdigit(), "N") } else { word.to_owned() }
    });
    words.collect()
}

/// With `FATBIN_WRITE_README=1`, outputs that differ are written instead.
fn run_examples(sandbox: &Sandbox, page: &Path) -> usize {
    let mut text = std::fs::read_to_string(page).unwrap();
    let examples = examples(&text);
    for Example { command, output } in &examples {
        let run = sandbox.shell(&format!("{{ {command}\n}} 2>&1"));
        let (found, expected) = (without_linker_numbers(&run.out), without_linker_numbers(output));
        if found != expected && std::env::var_os("FATBIN_WRITE_README").is_some() {
            text = text.replacen(&format!("$ {command}\n{output}"), &format!("$ {command}\n{}", run.out), 1);
            std::fs::write(page, &text).unwrap();
            continue;
        }
        assert_eq!(found, expected, "{}: $ {command}\n{}", page.display(), run.out);
    }
    examples.len()
}

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    for name in SAMPLE_FILES {
        sandbox.file(name, fixture(name));
    }
    sandbox
}

fn docs() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("docs")
}

/// Runs the examples of all pages of a directory, and returns their number.
fn run_pages(directory: &str) -> usize {
    let mut count = 0;
    for page in std::fs::read_dir(docs().join(directory)).unwrap() {
        let sandbox = sandbox();
        run_examples(&sandbox, &docs().join("guide/README.md"));
        count += run_examples(&sandbox, &page.unwrap().path());
    }
    count
}

#[test]
fn readme_examples_print_the_documented_output() {
    assert!(run_examples(&sandbox(), &docs().join("../README.md")) > 3);
}

#[test]
fn guide_examples_print_the_documented_output() {
    let count = run_pages("guide");
    assert!(count > 30, "{count}");
}

#[test]
fn task_examples_print_the_documented_output() {
    let count = run_pages("tasks");
    assert!(count >= 3, "{count}");
}
