//! Triples of bitcode and SPIR-V without a container, beside the output of `llvm-dis` for the same file. That of
//! release 22 reads the bitcode of all earlier ones.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::step::Step;
use crate::harness::tools::llvm_tool;
use crate::harness::trial::{completion, fresh_directory};

const RELEASES: [&str; 5] = ["14", "15", "16", "19", "22"];

/// Targets of bitcode, each with options. LLVM puts that for Apple's systems into a wrapper.
const BITCODE: [(&str, &[&str]); 4] = [
    ("amdgcn-amd-amdhsa", &["-nogpulib", "-mcpu=gfx90a"]),
    ("nvptx64-nvidia-cuda", &["-g"]),
    ("spir64-unknown-unknown", &[]),
    ("arm64-apple-macosx11.0.0", &[]),
];

/// Targets of SPIR-V, for which LLVM 22 is the first release with a compiler of its own, and the triples that are reported.
const SPIRV: [(&str, &str); 3] = [
    ("spirv64-unknown-unknown", "spirv64-unknown-unknown"),
    ("spirv32-unknown-unknown", "spirv32-unknown-unknown"),
    ("spirv64-intel", "spirv64-unknown-unknown"),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for release in RELEASES {
        for (target, options) in BITCODE {
            trials.push(trial(format!("clang-{release}/{target}"), move |directory| {
                bitcode(directory, release, target, options)
            }));
        }
    }
    for (target, expected) in SPIRV {
        trials.push(trial(format!("spirv/{target}"), move |directory| {
            compile(directory, "22", &["-target", target, "-x", "cl", "-cl-std=CL2.0"])?;
            has_triple(directory, expected)
        }));
    }
    trials
}

fn trial(name: String, test: impl Fn(&Path) -> Result<()> + Send + 'static) -> Trial {
    let directory = name.replace('/', "-");
    Trial::ignorable_test(format!("triples/{name}"), move || {
        completion(fresh_directory("triples", &directory).and_then(|directory| test(&directory)))
    })
}

/// Compiles `k.c` to `image`.
fn compile(directory: &Path, release: &str, options: &[&str]) -> Result<()> {
    let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
    std::fs::write(directory.join("k.c"), "void k(int *p) { *p = 42; }\n")?;
    Step::new(directory, clang).args(options).args(["-c", "-o", "image", "k.c"]).run()?;
    Ok(())
}

fn bitcode(directory: &Path, release: &str, target: &str, options: &[&str]) -> Result<()> {
    let dis = llvm_tool("llvm-dis", "22", "llvm-22")?;
    compile(directory, release, &[&["-emit-llvm", "-target", target], options].concat())?;
    let text = Step::new(directory, dis).args(["-o", "-", "image"]).run()?;
    let stated = text.stdout.lines().find_map(|line| line.strip_prefix("target triple = \"")?.strip_suffix('"'));
    has_triple(directory, stated.with_context(|| text.error("no triple").to_string())?)?;
    let wrapped = std::fs::read(directory.join("image"))?.starts_with(b"\xde\xc0\x17\x0b");
    ensure!(wrapped == target.contains("apple"), "a wrapper, or none, against expectation");
    Ok(())
}

fn has_triple(directory: &Path, expected: &str) -> Result<()> {
    for command in ["scan", "inspect"] {
        let done = Step::new(directory, env!("CARGO_BIN_EXE_fatbin")).args([command, "--json", "image"]).run()?;
        let document: Value = serde_json::from_str(&done.stdout)?;
        let file = &document["files"][0];
        let image = if command == "scan" { &file["containers"][0]["images"][0] } else { &file["images"][0] };
        ensure!(image["triple"] == expected, "{}", done.error(format!("expected {expected}")));
    }
    Ok(())
}
