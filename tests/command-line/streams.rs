//! Lists of paths that are still being written, and outputs whose reader has ended.

use std::io::{BufRead, BufReader, Write};
use std::process::Stdio;

use serde_json::Value;

use crate::Sandbox;

/// Returns the field `path` of each line.
fn paths(lines: &str) -> Vec<String> {
    let lines = lines.lines().map(|line| serde_json::from_str::<Value>(line).unwrap());
    lines.map(|line| line["path"].as_str().unwrap().to_owned()).collect()
}

#[test]
fn a_file_is_scanned_while_the_list_is_open() {
    let sandbox = Sandbox::new();
    std::fs::create_dir(sandbox.path("folder")).unwrap();
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-sm_90.cubin", "folder/b");
    for threads in ["1", "2", "7"] {
        let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
        command.args(["scan", "--ndjson", "--threads", threads, "--files-from", "-"]);
        command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
        let mut child = command.spawn().unwrap();
        let mut list = child.stdin.take().unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
        // Each path is written after the line of the one before was read.
        for (listed, expected) in [("a", "a"), ("folder", "folder/b"), ("missing", "missing"), ("a", "a")] {
            writeln!(list, "{listed}").unwrap();
            assert_eq!(paths(&lines.next().unwrap().unwrap()), [expected]);
        }
        drop(list);
        assert!(lines.next().is_none());
        let output = child.wait_with_output().unwrap();
        assert_eq!(output.status.code(), Some(2));
        assert_eq!(output.stderr, b"fatbin: missing: cannot open: no such file or directory\n");
    }
}

#[test]
fn results_of_a_pipe_are_those_of_a_file_in_the_same_order() {
    let sandbox = Sandbox::new();
    let mut names = Vec::new();
    for number in 0..200 {
        let name = format!("{number}.bin");
        // Files of different sizes are done in another order than they are started.
        let tail = vec![0; (number * 7919) % 400_000];
        sandbox.file(&name, [crate::fixture("answer-sm_90.cubin"), tail].concat());
        names.push(name);
    }
    sandbox.file("list", names.join("\n"));
    let expected = sandbox.fatbin("scan --ndjson --hash --files-from list").ok();
    assert_eq!(paths(&expected), names);
    for command in [
        "cat list | fatbin scan --ndjson --hash --files-from -",
        "mkfifo pipe; cat list > pipe & fatbin scan --ndjson --hash --files-from pipe",
        "fatbin scan --ndjson --hash $(cat list)",
    ] {
        let run = sandbox.shell(command);
        assert!(run.out == expected && (run.status, run.err.as_str()) == (0, ""), "{command}: {}", run.err);
    }
}

#[test]
fn a_closed_output_ends_the_scan_of_a_list_without_end() {
    let sandbox = Sandbox::new();
    sandbox.fixture("answer-gfx90a.hsaco", "a");
    for threads in [1, 2, 7] {
        // `yes` is stopped by the end of fatbin.
        let scan = format!("yes a | fatbin scan --ndjson --threads {threads} --files-from -; echo $? > status");
        let run = sandbox.shell(&format!("{{ {scan}; }} | head -n 3; cat status"));
        let lines: Vec<&str> = run.out.lines().collect();
        assert_eq!(paths(&lines[..3].join("\n")), ["a"; 3]);
        assert_eq!((&lines[3..], run.err.as_str()), (&["2"][..], ""));
    }
}

#[test]
fn a_list_that_cannot_be_read_is_an_error() {
    let sandbox = Sandbox::new();
    let run = sandbox.fixture("answer-gfx90a.hsaco", "a").fatbin("scan --ndjson a --files-from .");
    assert_eq!((run.status, run.err.as_str()), (2, "fatbin: .: cannot read: is a directory\n"));
    assert_eq!(paths(&run.out), ["a", "."]);
    let run = sandbox.fatbin("check --init --files-from .");
    assert_eq!((run.status, run.err.as_str()), (2, "fatbin: .: cannot read: is a directory\n"));
}

/// Size of the member of a wheel.
const MEMBER: usize = 160 << 20;

/// Returns the peak of the memory of a process in KiB.
fn peak_memory(process: u32) -> usize {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).unwrap();
    let peak = status.lines().find_map(|line| line.strip_prefix("VmHWM:")).unwrap();
    peak.trim().trim_end_matches(" kB").parse().unwrap()
}

#[test]
fn memory_does_not_grow_with_a_member_of_a_wheel() {
    let sandbox = Sandbox::new();
    let mut wheel = zip::ZipWriter::new(std::fs::File::create(sandbox.path("a.whl")).unwrap());
    let options = zip::write::SimpleFileOptions::default().compression_level(Some(1));
    wheel.start_file("a.so", options).unwrap();
    // Bytes that do not become smaller: repetitions of a block are too far apart.
    let (mut block, mut state) = (Vec::new(), 1_u64);
    while block.len() < 1 << 20 {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        block.extend(state.to_le_bytes());
    }
    for _ in 0..MEMBER / block.len() {
        wheel.write_all(&block).unwrap();
    }
    wheel.finish().unwrap();
    assert!(std::fs::metadata(sandbox.path("a.whl")).unwrap().len() >= MEMBER as u64);
    let mut command = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
    command.args(["scan", "--ndjson", "--files-from", "-"]).stdin(Stdio::piped()).stdout(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut list = child.stdin.take().unwrap();
    let mut lines = BufReader::new(child.stdout.take().unwrap()).lines();
    writeln!(list, "a.whl").unwrap();
    assert_eq!(paths(&lines.next().unwrap().unwrap()), ["a.whl"]);
    // The list is open, so the process still runs.
    let peak = peak_memory(child.id());
    assert!(peak < (MEMBER >> 10) * 2 / 3, "{peak} KiB");
    drop(list);
    assert_eq!(child.wait().unwrap().code(), Some(1));
}
