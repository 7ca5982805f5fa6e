//! The structures that register containers, as written by real compilers and linkers.
//!
//! Their pointers differ by format: an address in a program with a fixed one, zeros with a relocation, an address with a
//! relocation, or links of a chain. In each case the containers must be found by the pointers alone, because the names of
//! sections do not identify them.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;
use serde_json::Value;

use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool};
use crate::harness::trial::{completion, fresh_directory};

/// Links of ELF files: name, compiler flags, linker flags.
const FORMS: [(&str, &[&str], &[&str]); 4] = [
    ("object", &["-fPIC", "-r"], &[]),
    ("shared", &["-fPIC", "-shared"], &[]),
    ("pie", &["-fPIE", "-pie"], &[]),
    ("no-pie", &["-fno-pie", "-no-pie"], &[]),
];

/// Links by clang and lld for other formats: triple, flags.
const OTHERS: [(&str, &str, &[&str]); 7] = [
    ("packed-relocations", "x86_64-linux-gnu", &["-fPIC", "-shared", "-nostdlib", "-Wl,--pack-dyn-relocs=relr"]),
    // With red zones between the structures.
    (
        "sanitized",
        "x86_64-linux-gnu",
        &["-fPIC", "-shared", "-nostdlib", "-fsanitize=address", "-fno-sanitize-link-runtime"],
    ),
    ("aarch64", "aarch64-linux-gnu", &["-fPIC", "-shared", "-nostdlib"]),
    ("dll", "x86_64-pc-windows-msvc", &["-shared", "-nostdlib", "-Wl,-noentry"]),
    ("mach-o", "x86_64-apple-macos11", &["-dynamiclib", "-nostdlib", "-Wl,-undefined,dynamic_lookup"]),
    ("mach-o-chained", "arm64-apple-macos14", &["-dynamiclib", "-nostdlib", "-Wl,-undefined,dynamic_lookup"]),
    ("mach-o-program", "arm64-apple-macos14", &["-nostdlib", "-Wl,-undefined,dynamic_lookup"]),
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for linker in Linker::ALL {
        for (form, compiler, link) in FORMS {
            let name = format!("{}-{form}", linker.name());
            let run = move || {
                let directory = prepared(&format!("{}-{form}", linker.name()))?;
                let step = Step::new(&directory, Tool::Cc.path()?).args(linker.cc_flags()?).args(compiler).args(link);
                step.args(["-o", "linked", "wrappers.c"]).run()?;
                leads_to_both(&directory)
            };
            trials.push(Trial::ignorable_test(format!("wrappers/{name}"), move || completion(run())));
        }
    }
    for (name, triple, flags) in OTHERS {
        let run = move || {
            let directory = prepared(name)?;
            Tool::Lld.path()?;
            let step = Step::new(&directory, Tool::Clang.path()?).arg(format!("--target={triple}")).args(flags);
            step.args(["-fuse-ld=lld", "-o", "linked", "wrappers.c"]).run()?;
            leads_to_both(&directory)
        };
        trials.push(Trial::ignorable_test(format!("wrappers/{name}"), move || completion(run())));
    }
    trials
}

/// Makes a directory with the source and a bundle.
fn prepared(name: &str) -> Result<std::path::PathBuf> {
    let directory = fresh_directory("wrappers", name)?;
    std::fs::copy(
        Path::new(env!("CARGO_MANIFEST_DIR")).join("linker-tests/wrappers/wrappers.c"),
        directory.join("wrappers.c"),
    )?;
    std::fs::copy(fixture("answer-gfx90a.hsaco")?, directory.join("code"))?;
    let targets = ["--target", "hipv4-amdgcn-amd-amdhsa--gfx90a=code"];
    Step::new(&directory, fatbin_program())
        .args(["bundle", "--raw", "--type", "bc", "-o", "bundle"])
        .args(targets)
        .run()?;
    Ok(directory)
}

fn leads_to_both(directory: &Path) -> Result<()> {
    let scan = Step::new(directory, fatbin_program()).args(["scan", "--fast", "--json", "linked"]).run()?;
    let document: Value = serde_json::from_str(&scan.stdout)?;
    let file = &document["files"][0];
    let containers = file["containers"].as_array().context("containers")?;
    let wrappers = file["wrappers"].as_array().with_context(|| scan.stdout.clone())?;
    let offsets: Vec<&Value> = containers.iter().map(|container| &container["offset"]).collect();
    let pointed: Vec<&Value> = wrappers.iter().map(|wrapper| &wrapper["container"]).collect();
    ensure!(offsets.len() == 2 && offsets == pointed, scan.error("not the two containers of the two wrappers"));
    let archs = containers.iter().map(|container| &container["images"][0]["arch"]);
    ensure!(archs.into_iter().all(|arch| arch == "gfx90a"), scan.error("not the images"));
    Ok(())
}
