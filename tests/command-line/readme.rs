//! Every example in the README is run, in one folder, in its order, and must print what stands there.

use std::path::Path;
use std::process::Command;

use crate::{Scene, fixture};

/// A command of the README and the lines under it.
struct Example {
    command: String,
    output: String,
}

fn examples(readme: &str) -> Vec<Example> {
    let mut examples: Vec<Example> = Vec::new();
    let mut inside = false;
    let mut lines = readme.lines();
    while let Some(line) = lines.next() {
        if line == "```toml" {
            // A file, whose name stands in its first line.
            let name = lines.next().unwrap().trim_start_matches("# ");
            let text: Vec<&str> = lines.by_ref().take_while(|line| *line != "```").collect();
            let command = format!("cat >{name} <<'END'\n{}\nEND\n", text.join("\n"));
            examples.push(Example { command, output: String::new() });
        } else if let Some(language) = line.strip_prefix("```") {
            inside = language == "console";
        } else if let (true, Some(command)) = (inside, line.strip_prefix("$ ")) {
            examples.push(Example { command: command.to_owned(), output: String::new() });
        } else if inside {
            let last = examples.last_mut().expect("an example begins with its command");
            last.output += &format!("{line}\n");
        }
    }
    examples
}

/// The size of a linked program and the offsets in it are the linker's affair; everything else is ours.
fn without_linkers_numbers(text: &str) -> String {
    let words = text.split_inclusive([' ', '\n']).map(|word| {
        let linkers = word.starts_with("0x") || (word.trim_end().len() == 5 && word.trim_end().parse::<u64>().is_ok());
        if linkers { word.replace(|c: char| c.is_ascii_hexdigit(), "N") } else { word.to_owned() }
    });
    words.collect()
}

#[cfg(all(target_arch = "x86_64", target_os = "linux"))]
#[test]
fn every_example_in_the_readme_prints_what_it_says() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let scene = Scene::new();
    for name in ["answer-x86_64.so", "answer-gfx90a.hsaco", "answer-sm_90.cubin", "host.c", "runtime.c"] {
        scene.file(name, fixture(name));
    }
    let program = Path::new(env!("CARGO_BIN_EXE_fatbin")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap());
    let examples = examples(&std::fs::read_to_string(root.join("README.md")).unwrap());
    assert!(examples.len() > 5);
    for Example { command, output } in examples {
        let both = format!("{{ {command}\n}} 2>&1");
        let run = crate::run(Command::new("sh").args(["-c", &both]).env("PATH", &path).current_dir(scene.path(".")));
        assert_eq!(without_linkers_numbers(&run.out), without_linkers_numbers(&output), "$ {command}\n{}", run.out);
    }
}
