//! Bytes that look like a container but are not. LLVM's library contains every magic, in code and in tables, and no device
//! image; NVIDIA's tools contain their own.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::tools::{Tool, fetched, find_in, not_fetched};
use crate::harness::trial::completion;

const OFFLOAD_BINARY: &[u8] = b"\x10\xff\x10\xad";
const BUNDLE: &[u8] = b"__CLANG_OFFLOAD_BUNDLE__";
const FATBIN: &[u8] = b"\x50\xed\x55\xba";

/// NVIDIA's tools that contain the magic of a fat binary.
const NVIDIA: [&str; 3] = ["cuobjdump", "fatbinary", "nvlink"];

pub fn trials() -> Vec<Trial> {
    let trial = |name: &str, test: fn(&str) -> Result<()>| {
        let name = name.to_owned();
        Trial::ignorable_test(format!("false-magics/{name}"), move || completion(test(&name)))
    };
    let mut trials = vec![trial("libLLVM", |_| holds_no_image(&Tool::LibLlvm.path()?, &[OFFLOAD_BINARY, BUNDLE]))];
    trials.extend(NVIDIA.map(|name| {
        trial(name, |name| {
            let tool = find_in(&fetched("cuda-tools"), name).ok_or_else(|| not_fetched(name))?;
            holds_no_image(&tool, &[FATBIN])
        })
    }));
    trials.push(trial("ptxas", |_| holds_no_image(&Tool::Ptxas.path()?, &[])));
    trials
}

fn holds_no_image(file: &Path, magics: &[&[u8]]) -> Result<()> {
    let bytes = std::fs::read(file).with_context(|| file.display().to_string())?;
    for magic in magics {
        // Without the magic, the test would be meaningless.
        ensure!(memchr::memmem::find(&bytes, magic).is_some(), "{}: does not contain {magic:?}", file.display());
    }
    let run = command(fatbin_program()).arg("scan").arg(file).output()?;
    let (out, err) = (String::from_utf8_lossy(&run.stdout), String::from_utf8_lossy(&run.stderr));
    ensure!(run.status.code() == Some(1) && err.lines().count() == 1, "{}: {out}{err}", run.status);
    ensure!(err.ends_with(": no device images\n"), "{out}{err}");
    Ok(())
}
