//! Parsing of command lines, independent of the tool's work: errors, suggestions, response files and help.
//!
//! `src/dropin/llvm_options` lists the only exceptions: the version, the options of LLVM's passes, the order of
//! suggestions at the same distance, and unreadable response files, where the tool crashes.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::{Call, Pair};
use crate::harness::tools::Tool;
use crate::harness::trial::{completion, fresh_directory};

/// A tool, and the names of options for errors.
struct Subject {
    name: &'static str,
    tool: Tool,
    options: &'static [&'static str],
    lines: &'static [&'static str],
}

static SUBJECTS: [Subject; 3] = [PACKAGER, WRAPPER, BUNDLER];

const PACKAGER: Subject = Subject {
    name: "llvm-offload-binary",
    tool: Tool::OffloadBinary,
    options: &["archive", "image", "o"],
    lines: &[
        "",
        "-h",
        "-h=0",
        "--archive",
        "--archive=maybe",
        "--archive=TRUE",
        "--archive=False",
        "--archive=",
        "--image",
        "--image=",
        "-o= -o",
        "-o x a -h",
        "-o=",
        "a b",
        "a b -- c -o",
        "-",
        "-- -o x",
        "-- --image",
        "-o x a --color",
        "-o x a --color=0",
        "-o x --color=2 a",
        "--imag=file=x",
        "-image=file=a -ho=x",
        "-hh --image",
    ],
};

const WRAPPER: Subject = Subject {
    name: "llvm-offload-wrapper",
    tool: Tool::OffloadWrapper,
    options: &["kind", "o", "triple"],
    lines: &[
        "",
        "a",
        "--kind",
        "--kind=foo a",
        "--kind= a",
        "--kind a",
        "--kind=openmp",
        "--kind=foo --kind=bar -- -",
        "-okind",
        "--trip=x --tripl",
        "-o a --triple",
        "--kind=cuda a b",
        "--kind=hip a b a",
        "--kind=hip --h a",
        "--kind=hip --color=x a",
        "--kind=hip --color a b",
        "--kind=hip --color=0 a b",
        "-h",
    ],
};

const BUNDLER: Subject = Subject {
    name: "clang-offload-bundler",
    tool: Tool::OffloadBundler,
    options: &[
        "###",
        "allow-missing-bundles",
        "bundle-align",
        "check-input-archive",
        "compress",
        "compression-level",
        "hip-openmp-compatible",
        "input",
        "inputs",
        "list",
        "output",
        "outputs",
        "targets",
        "type",
        "unbundle",
        "verbose",
    ],
    lines: &[
        "",
        "a",
        "-h",
        "-h --type=o",
        "--type",
        "--type=",
        "-type=o",
        "--type=o a",
        "--type=o -- --type",
        "--type=o --unbundle=2 --list=TRUE --###=x --compress=no --verbose=",
        "--type=o --bundle-align",
        "--type=o --bundle-align=-1 --bundle-align=4294967296 --bundle-align=",
        "--type=o --compression-level=x --compression-level=2147483648 --compression-level",
        "--type=o --inputs",
        "--type=o --targets",
        "--type=o -unbundl -verbos=x -hip-openmp",
        "--type=o --color=x",
        "--type=o --color -inputs=a,,b",
    ],
};

/// Lines for every tool, each with an error or an option for help.
const LINES: [&str; 40] = [
    "--help",
    "-help",
    "--help-hidden",
    "--help-list",
    "--help-list-hidden",
    "--foo --help --bar",
    "--help=1",
    "--help-list=",
    "--version=1",
    "-hh=x",
    "-h=3",
    "-hx",
    "-ho",
    "-oh x",
    "-ofile",
    "--ofile=x",
    "-o",
    "--o",
    "---",
    "---help",
    "-=3",
    "--=",
    "--print-options=2",
    "--print-all-options=TRUE --print-options=False --no-such",
    "--bogus -- --help",
    "@nothing --bogus",
    "@empty @arguments",
    "-o @arguments --bogus",
    "-- @arguments --bogus",
    "@quotes",
    "@lines",
    "@utf-8",
    "@utf-16",
    "@utf-16-be",
    "@nested",
    "@nul",
    "@./arguments",
    "x@arguments --bogus",
    "--=x --x= --x=y=z --",
    "--\u{e9}t\u{e9}",
];

/// Makes the files that the lines name, most of them response files.
const FILES: [(&str, &[u8]); 11] = [
    ("a", b""),
    ("b", b""),
    ("empty", b" \n"),
    ("arguments", b"--one --two=2"),
    ("quotes", br#"--x"y z"'"' --\" "--a \" b" '--it\'s' --a\ b '' --end\"#),
    ("lines", b"--one\r\n\t--two \n--three\r\n"),
    ("utf-8", b"\xef\xbb\xbf--mark"),
    ("utf-16", b"\xff\xfe-\0-\0\xe9\0"),
    ("utf-16-be", b"\xfe\xff\0-\0-\0b"),
    ("nested", b"--before @arguments --after"),
    ("nul", b"--a\0b --c"),
];

pub fn trials() -> Vec<Trial> {
    let trial = |subject: &'static Subject| {
        let name = format!("dropin/options/{}", subject.name);
        Trial::ignorable_test(name, move || completion(are_read_alike(subject)))
    };
    SUBJECTS.iter().map(trial).collect()
}

fn are_read_alike(subject: &Subject) -> Result<()> {
    let directory = fresh_directory("dropin-options", subject.name)?;
    let pair = Pair::new(&directory, subject.name, &subject.tool.path()?)?;
    for line in LINES.iter().chain(subject.lines) {
        pair.same_but_for_ties(&Call { prepare, ..Call::line(line) })?;
    }
    for round in 0..8 {
        let names = misspelled(subject.options, round);
        let result = pair.same_but_for_ties(&Call::new(&names.iter().map(String::as_str).collect::<Vec<_>>()))?;
        ensure!(result.err.matches("Did you mean").count() > 300, "too few suggestions:\n{}", result.err);
    }
    Ok(())
}

fn prepare(directory: &Path) -> Result<()> {
    FILES.iter().try_for_each(|(name, bytes)| Ok(std::fs::write(directory.join(name), bytes)?))
}

/// Returns four hundred misspelled names, some of them at the same distance from two options: the beginning of one, the end
/// of another, and up to three changed letters.
fn misspelled(own: &[&str], round: u64) -> Vec<String> {
    let common =
        ["help", "help-hidden", "help-list", "help-list-hidden", "print-options", "print-all-options", "version"];
    let names: Vec<&str> = common.iter().chain(own).copied().collect();
    let mut state = round + 1;
    let mut below = |bound: usize| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) as usize % bound
    };
    let mut arguments = Vec::new();
    while arguments.len() < 400 {
        let (one, other) = (names[below(names.len())], names[below(names.len())]);
        let mut name = format!("{}{}", &one[..below(one.len() + 1)], &other[below(other.len() + 1)..]).into_bytes();
        for _ in 0..below(4) {
            let (at, letter) = (below(name.len() + 1), b"xqaeilpst-="[below(11)]);
            match below(3) {
                0 if at < name.len() => drop(name.remove(at)),
                1 if at < name.len() => name[at] = letter,
                _ => name.insert(at, letter),
            }
        }
        let name = String::from_utf8_lossy(&name).into_owned();
        let is_known = names.contains(&name.split('=').next().unwrap_or_default());
        // A correct name might request help, and a letter with a value might consume the next argument.
        if !is_known && !name.is_empty() && name.trim_start_matches('h') != "o" {
            arguments.push(format!("--{name}"));
        }
    }
    arguments
}
