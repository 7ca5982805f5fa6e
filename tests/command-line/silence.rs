//! A status other than 0 has a line on standard error that names the input: each command, on inputs that it cannot use.

use crate::{Run, Sandbox, commands_of_help};

/// Arguments of each command, with INPUT in place of the input.
pub const LINES: [&str; 59] = [
    "wrap --kind openmp -o out INPUT",
    "wrap --kind cuda -o out INPUT",
    "wrap --kind hip -o out INPUT",
    "embed -o out INPUT",
    "link -- no-such-linker INPUT -o out",
    "doctor -- ld INPUT -o out",
    "pack -o out --image file=INPUT,triple=nvptx64,kind=cuda",
    "pack --kind cuda -o out INPUT",
    "bundle --raw --type o -o out --target hip-amdgcn-amd-amdhsa--gfx90a=INPUT",
    "unbundle --type o --target hip-amdgcn-amd-amdhsa--gfx90a=out INPUT",
    "list INPUT",
    "scan INPUT",
    "scan --json INPUT",
    "scan --ndjson INPUT",
    "extract INPUT",
    "extract --arch sm_90 INPUT",
    "inspect INPUT",
    "inspect --json INPUT",
    "inspect --matrix INPUT",
    "verify INPUT",
    "addr2line INPUT kernel+0",
    "verify --json INPUT",
    "scan --arch sm_90 INPUT",
    "scan --kernel answer INPUT",
    "prune --device H100 --dry-run INPUT",
    "transcode --to zstd --dry-run --json INPUT",
    "prune --device sm_90 INPUT -o out",
    "prune --keep sm_90 INPUT -o out",
    "strip --device-debug INPUT -o out",
    "split INPUT -o out",
    "join INPUT -o out",
    "recover INPUT",
    "select --device sm_90 INPUT",
    "select --device gfx90a INPUT",
    "select --json --device sm_90 INPUT",
    "size INPUT",
    "size --json INPUT",
    "requires INPUT",
    "requires --json INPUT",
    "check --policy policy.toml INPUT",
    "check --policy policy.toml --format json INPUT",
    "check --policy INPUT answer-gfx90a.hsaco",
    "check --init INPUT",
    "metadata --format json INPUT",
    "metadata --format pep825 INPUT",
    "lock -o out INPUT",
    "diff INPUT answer-gfx90a.hsaco",
    "diff answer-gfx90a.hsaco INPUT",
    "diff INPUT INPUT",
    "transcode --to zstd INPUT -o out",
    "transcode --to plain INPUT -o out",
    "replace --image 0=answer-gfx90a.hsaco INPUT -o out",
    "schema INPUT",
    "explain INPUT",
    "completions INPUT",
    "man --output INPUT",
    "install-links --for INPUT links",
    "install-links INPUT",
    "help INPUT",
];

/// Ends of the lines about negative answers.
const ANSWERS: [&str; 13] = [
    ": no bundle entries; fatbin scan lists device images of every form",
    ": no files",
    ": the policy is violated",
    ": the build lacks what was asked for",
    ": no device code; no policy was generated",
    ": the device code differs",
    ": the link has problems",
    ": no device code to describe",
    ": no device images",
    ": the answer is not known",
    ", to be linked first",
    ": no code that runs on the devices",
    ": nothing that a driver or runtime loads",
];

/// Commands with answers that are not errors.
const ASKING: [&str; 13] = [
    "list", "scan", "extract", "inspect", "verify", "select", "size", "requires", "check", "metadata", "lock", "diff",
    "doctor",
];

/// Returns the text on standard error without the line about a negative answer, which is the last one.
pub fn without_answer(arguments: &str, err: String) -> String {
    let is_asking = arguments.split_whitespace().next().is_some_and(|command| ASKING.contains(&command));
    let start = err.trim_end_matches('\n').rfind('\n').map_or(0, |end| end + 1);
    let is_of_select = |line: &str| arguments.starts_with("select") && line.contains("no code for ");
    let is_answer = |line: &str| {
        line.starts_with("fatbin: ") && (is_of_select(line) || ANSWERS.iter().any(|end| line.ends_with(end)))
    };
    if is_asking && is_answer(err[start..].trim_end()) { err[..start].to_owned() } else { err }
}

const INPUTS: [&str; 8] =
    ["empty", "text", "directory", "missing", "answer-x86_64.so", "answer-sm_90.cubin", "policy.toml", "archive.a"];

fn sandbox() -> Sandbox {
    let sandbox = Sandbox::new();
    sandbox.file("empty", "").file("text", "some text\n").file("archive.a", "!<arch>\n");
    sandbox.file("policy.toml", "[archs]\ndevices = [\"sm_120\"]\n");
    for fixture in ["answer-x86_64.so", "answer-sm_90.cubin", "answer-gfx90a.hsaco"] {
        sandbox.fixture(fixture, fixture);
    }
    std::fs::create_dir(sandbox.path("directory")).unwrap();
    sandbox
}

#[test]
fn a_status_other_than_0_has_a_line_that_names_the_input() {
    let mut silent = Vec::new();
    for input in INPUTS {
        for line in LINES {
            let arguments = line.replace("INPUT", input);
            let Run { status, out: _, err } = sandbox().fatbin_with_answer(&arguments);
            let is_about_usage = err.contains("usage: ");
            assert!(!is_about_usage || err.contains(input), "{arguments} is not a command line: {err}");
            let is_named = err
                .lines()
                .any(|line| ["no-such-linker", "answer-gfx90a.hsaco", input].iter().any(|it| line.contains(it)));
            if status != 0 && !is_named {
                silent.push(format!("{arguments}: exit status {status}: {err}"));
            }
        }
    }
    assert!(silent.is_empty(), "{} silent commands:\n{}", silent.len(), silent.join("\n"));
}

#[test]
fn every_command_has_a_line_in_this_test() {
    let help = Sandbox::new().fatbin("--help").ok();
    for name in commands_of_help(&help) {
        assert!(LINES.iter().any(|line| line.split(' ').next() == Some(name)), "{name}");
    }
}

#[test]
fn a_negative_answer_is_one_line_for_any_number_of_inputs() {
    let sandbox = sandbox();
    let cases = [
        ("scan empty", "fatbin: empty: no device images\n"),
        ("scan empty text", "fatbin: empty and text: no device images\n"),
        ("verify empty text policy.toml", "fatbin: empty and 2 more: no device images\n"),
        ("select --device sm_120 answer-gfx90a.hsaco", "fatbin: answer-gfx90a.hsaco: no code for RTX 5090 sm_120\n"),
        ("check --policy policy.toml answer-sm_90.cubin", "fatbin: answer-sm_90.cubin: the policy is violated\n"),
        (
            "diff answer-gfx90a.hsaco answer-sm_90.cubin",
            "fatbin: answer-gfx90a.hsaco and answer-sm_90.cubin: the device code differs\n",
        ),
    ];
    for (arguments, expected) in cases {
        let run = sandbox.fatbin_with_answer(arguments);
        assert_eq!((run.status, run.err.as_str()), (1, expected), "{arguments}");
    }
    assert_eq!(sandbox.fatbin_with_answer("scan empty answer-sm_90.cubin").err, "");
}
