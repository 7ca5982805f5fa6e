//! Tables of command lines, which both programs run.

use std::path::Path;
use std::process::Output;

use anyhow::{Context, Result, ensure};
use regex::Regex;

use super::{inputs, install_links};
use crate::harness::command::command;
use crate::harness::tools::llvm_tool;

/// Runs each line of `dry-run.txt` with both programs, and compares what they print.
pub fn dry_run(directory: &Path) -> Result<()> {
    let lines = include_str!("dry-run.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let programs = programs(directory)?;
    let mut compared = 0;
    for line in lines {
        compare(directory, &programs, line)?;
        compared += 1;
    }
    ensure!(compared >= 40, "only {compared} lines");
    Ok(())
}

/// Runs a line with both programs, and compares what they print and their exit statuses.
pub fn compare(directory: &Path, programs: &[String; 2], line: &str) -> Result<()> {
    let [expected, found] = programs.each_ref().map(|program| run(directory, program, line));
    let (expected, found) = (expected?, found?);
    let [theirs, ours] = [&expected, &found].map(printed);
    ensure!(
        (expected.status, &theirs) == (found.status, &ours),
        "{line}\nclang-linker-wrapper: {}\n{theirs}\nfatbin: {}\n{ours}",
        expected.status,
        found.status
    );
    Ok(())
}

/// Runs each line of `mistakes.txt` with both programs: both fail, each with its message.
pub fn mistakes(directory: &Path) -> Result<()> {
    let lines = include_str!("mistakes.txt").lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    let programs = programs(directory)?;
    for line in lines {
        let columns: Vec<&str> = line.split('|').map(str::trim).collect();
        let [theirs, ours, words] = columns[..] else { anyhow::bail!("{line}: expected three columns") };
        for (program, message) in programs.iter().zip([theirs, ours]) {
            let output = run(directory, program, words)?;
            let text = String::from_utf8_lossy(&output.stderr);
            ensure!(output.status.code() == Some(1), "{words}: {program}: {}\n{text}", output.status);
            ensure!(text.contains(message), "{words}: {program}: expected {message:?}\n{text}");
        }
    }
    Ok(())
}

/// In cubins of CUDA 13, the reference takes a bit of the processor's number for the suffix `a`.
pub fn override_image(directory: &Path) -> Result<()> {
    let line = "--dry-run --linker-path=ld --override-image=cuda=answer.cubin openmp.o -o x";
    for (program, member) in programs(directory)?.iter().zip(["sm=90a,file=", "sm=90,file="]) {
        let text = printed(&run(directory, program, line)?);
        ensure!(text.contains(member), "{program}: expected {member:?}\n{text}");
    }
    Ok(())
}

/// Prepares the inputs, and returns the reference's program and its replacement.
pub fn programs(directory: &Path) -> Result<[String; 2]> {
    let theirs = llvm_tool("clang-linker-wrapper", "22", "clang-tools-22")?;
    inputs::create(directory)?;
    install_links(directory)?;
    let ours = directory.join("links/clang-linker-wrapper");
    Ok([theirs, ours].map(|path| path.display().to_string()))
}

pub fn run(directory: &Path, program: &str, line: &str) -> Result<Output> {
    let temporary = directory.join("tmp");
    std::fs::create_dir_all(&temporary)?;
    let mut command = command(program);
    command.args(line.split(' ')).current_dir(directory).env("TMPDIR", &temporary).env("PATH", "/usr/bin:/bin");
    command.output().with_context(|| format!("{program} {line}"))
}

/// Returns what a program printed, without directories of programs and names that depend on chance.
fn printed(output: &Output) -> String {
    let text = String::from_utf8_lossy(&[&output.stdout[..], &output.stderr].concat()).into_owned();
    let replacements = [
        // A temporary file of the reference, and one of fatbin.
        (r"\S*/tmp/([^/ ]*)-[0-9a-f]{6}\.(\w+)", "T/$1.$2"),
        (r"\S*/tmp/fatbin-\w+/", "T/"),
        // A second file of a name.
        (r"(T/\S*)-\d\.o\b", "$1.o"),
        (r#""\S*/(clang|clang-offload-bundler|llvm-objcopy)""#, "\"$1\""),
        (r"(?m)^[^:\n]*clang-linker-wrapper(-22)?:", "clang-linker-wrapper:"),
        (r" ?\n", "\n"),
    ];
    replacements.iter().fold(text, |text, (pattern, to)| {
        Regex::new(pattern).expect("a valid pattern").replace_all(&text, *to).into_owned()
    })
}
