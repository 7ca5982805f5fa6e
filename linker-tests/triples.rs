//! Triples and processors of bitcode, and triples of SPIR-V, compared with the output of `llvm-dis` for the same file.
//! llvm-dis of release 22 reads the bitcode of all earlier ones.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::command::command;
use crate::harness::fatbin_program;
use crate::harness::step::{Done, Step};
use crate::harness::tools::llvm_tool;
use crate::harness::trial::{completion, fresh_directory};

const RELEASES: [&str; 5] = ["14", "15", "16", "19", "22"];

/// Targets of bitcode for devices: a name, a triple and options.
const DEVICES: [(&str, &str, &[&str]); 6] = [
    ("amdgcn", "amdgcn-amd-amdhsa", &["-nogpulib", "-mcpu=gfx90a"]),
    ("amdgcn-xnack", "amdgcn-amd-amdhsa", &["-nogpulib", "-mcpu=gfx90a:sramecc-:xnack+"]),
    ("amdgcn-any", "amdgcn-amd-amdhsa", &["-nogpulib"]),
    ("nvptx64", "nvptx64-nvidia-cuda", &["-march=sm_80", "-Xclang", "-target-feature", "-Xclang", "+ptx70"]),
    ("nvptx64-debug", "nvptx64-nvidia-cuda", &["-g"]),
    ("spir64", "spir64-unknown-unknown", &[]),
];

/// Triple of bitcode for a host, which LLVM puts into a wrapper, and of bitcode that it does not.
const HOSTS: [(&str, bool); 2] = [("arm64-apple-macosx11.0.0", true), ("x86_64-unknown-linux-gnu", false)];

/// Targets of SPIR-V and the triples that are reported. LLVM 22 is the first release with its own compiler for SPIR-V.
const SPIRV: [(&str, &str); 3] = [
    ("spirv64-unknown-unknown", "spirv64-unknown-unknown"),
    ("spirv32-unknown-unknown", "spirv32-unknown-unknown"),
    ("spirv64-intel", "spirv64-unknown-unknown"),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for release in RELEASES {
        for (name, triple, options) in DEVICES {
            trials.push(trial(format!("clang-{release}/{name}"), move |directory| {
                bitcode(directory, release, triple, options)
            }));
        }
        for (triple, is_wrapped) in HOSTS {
            trials.push(trial(format!("clang-{release}/{triple}"), move |directory| {
                host(directory, release, triple, is_wrapped)
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
    let attribute = |name: &str| {
        let value = text.stdout.split_once(&format!("\"{name}\"=\""))?.1;
        Some(value.split_once('"')?.0)
    };
    let expected = attribute("target-cpu").filter(|processor| *processor != "generic").map(|processor| {
        let features: Vec<&str> = attribute("target-features").unwrap_or_default().split(',').collect();
        let setting = |name: &str| {
            let sign = ["+", "-"].into_iter().find(|sign| features.contains(&format!("{sign}{name}").as_str()));
            sign.map_or(String::new(), |sign| format!(":{name}{sign}"))
        };
        format!("{processor}{}{}", setting("sramecc"), setting("xnack"))
    });
    let asked = options.iter().find_map(|option| option.strip_prefix("-mcpu=").or(option.strip_prefix("-march=")));
    ensure!(asked.is_none() || asked == expected.as_deref(), "clang states {expected:?} for {asked:?}");
    let (image, done) = scanned(directory)?;
    ensure!(image["arch"].as_str() == expected.as_deref(), "{}", done.error(format!("expected {expected:?}")));
    Ok(())
}

/// Bitcode for a host is a file without device code.
fn host(directory: &Path, release: &str, triple: &str, is_wrapped: bool) -> Result<()> {
    compile(directory, release, &["-emit-llvm", "-target", triple])?;
    let wrapped = std::fs::read(directory.join("image"))?.starts_with(b"\xde\xc0\x17\x0b");
    ensure!(wrapped == is_wrapped, "a wrapper, or none, against expectation");
    let run = command(fatbin_program()).current_dir(directory).args(["scan", "image"]).output()?;
    let out = String::from_utf8_lossy(&run.stdout).into_owned();
    ensure!(run.status.code() == Some(1) && out.contains("image: bitcode, "), "{:?} {out}", run.status);
    Ok(())
}

/// Returns the image as `fatbin scan --json` lists it, and the run.
fn scanned(directory: &Path) -> Result<(Value, Done)> {
    let done = Step::new(directory, fatbin_program()).args(["scan", "--json", "image"]).run()?;
    let document: Value = serde_json::from_str(&done.stdout)?;
    Ok((document["files"][0]["containers"][0]["images"][0].clone(), done))
}

fn has_triple(directory: &Path, expected: &str) -> Result<()> {
    for command in ["scan", "inspect"] {
        let done = Step::new(directory, fatbin_program()).args([command, "--json", "image"]).run()?;
        let document: Value = serde_json::from_str(&done.stdout)?;
        let file = &document["files"][0];
        let image = if command == "scan" { &file["containers"][0]["images"][0] } else { &file["images"][0] };
        ensure!(image["triple"] == expected, "{}", done.error(format!("expected {expected}")));
    }
    Ok(())
}
