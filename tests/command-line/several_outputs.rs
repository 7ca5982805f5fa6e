//! Commands with several outputs that signals end at any moment: all files are old, or all are new.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::Stdio;
use std::time::{Duration, Instant};

use fatbin_core::format::bundle;

use crate::command::command;
use crate::{Sandbox, run};

/// Number of outputs of `unbundle`.
const TARGETS: u32 = 30;

/// Number of times that each signal is sent to each command.
const SIGNALS: u32 = 12;

fn id(number: u32) -> String {
    format!("hip-amdgcn-amd-amdhsa--gfx9{number:02}")
}

/// Returns the files of a directory except hidden ones, and the number of hidden files.
fn contents(directory: &Path) -> (BTreeMap<String, Vec<u8>>, usize) {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap().flatten() {
        files.insert(entry.file_name().into_string().unwrap(), std::fs::read(entry.path()).unwrap());
    }
    let all = files.len();
    files.retain(|name, _| !name.starts_with(".fatbin-"));
    (files.clone(), all - files.len())
}

/// Returns a directory with a bundle, two versions of an object, and the outputs `before` of each command.
fn sandbox() -> (Sandbox, [(String, &'static str); 2]) {
    let sandbox = Sandbox::new();
    let mut outputs = String::new();
    let images: Vec<(String, String)> = (0..TARGETS).map(|number| (id(number), format!("new {number}"))).collect();
    let entries: Vec<(&str, &[u8])> = images.iter().map(|(id, image)| (id.as_str(), image.as_bytes())).collect();
    sandbox.file("bundle", bundle::write(&entries, 1).unwrap().to_vec());
    for directory in ["before-unbundle", "v1", "v2"] {
        std::fs::create_dir(sandbox.path(directory)).unwrap();
    }
    for number in 0..TARGETS {
        sandbox.file(&format!("before-unbundle/{number}"), "old");
        outputs += &format!("--target {}=out/{number} ", id(number));
    }
    sandbox.fixture("answer-gfx90a.hsaco", "a").fixture("answer-gfx90a-xnack+.hsaco", "x");
    sandbox.fixture("answer-sm_90.cubin", "c");
    sandbox.fatbin("wrap --kind openmp -o v1/host.o a x").ok();
    sandbox.fatbin("wrap --kind openmp -o v2/host.o x c a").ok();
    sandbox.fatbin("split v1/host.o -o before-split").ok();
    let unbundle = (format!("unbundle {outputs} bundle"), "before-unbundle");
    (sandbox, [unbundle, ("split v2/host.o -o out".to_owned(), "before-split")])
}

#[test]
fn a_signal_leaves_all_outputs_old_or_all_new() {
    let (sandbox, commands) = sandbox();
    let out = sandbox.path("out");
    for (line, before) in commands {
        let fresh = || {
            let _ = std::fs::remove_dir_all(&out);
            run(sandbox.command("cp").args(["-r", before, "out"])).ok();
        };
        fresh();
        let old = contents(&out).0;
        let start = Instant::now();
        sandbox.fatbin(&line).ok();
        let (duration, new) = (start.elapsed(), contents(&out).0);
        assert!(new.len() >= 4 && new != old);
        for signal in ["TERM", "QUIT", "USR1", "XCPU", "KILL"] {
            for number in 0..SIGNALS {
                fresh();
                let mut fatbin = sandbox.command(env!("CARGO_BIN_EXE_fatbin"));
                let fatbin = fatbin.args(line.split_whitespace()).stdout(Stdio::null()).stderr(Stdio::null());
                let mut child = fatbin.spawn().unwrap();
                // Most signals arrive when outputs get their names, which is at the end.
                std::thread::sleep(
                    duration.mul_f64(0.4 + 0.6 * f64::from(number) / f64::from(SIGNALS)).min(Duration::from_secs(1)),
                );
                let _ = command("kill").args(["-s", signal, &child.id().to_string()]).stderr(Stdio::null()).status();
                child.wait().unwrap();
                let (mut found, mut hidden) = contents(&out);
                if signal == "KILL" {
                    sandbox.fatbin("--quiet recover out").ok();
                    (found, hidden) = contents(&out);
                }
                assert!(found == old || found == new, "{line}: {signal} {number}: {:?}", found.keys());
                assert_eq!(hidden, 0, "{line}: {signal} {number}");
            }
        }
    }
}
