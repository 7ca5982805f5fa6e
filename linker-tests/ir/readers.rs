//! Readers of IR: compilers of every release, the verifier, llvm-dis and llvm-as.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use libtest_mimic::Trial;

use super::write_images;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::llvm_tool;
use crate::harness::trial::{completion, fresh_directory};

/// Releases of the compiler.
const COMPILERS: [&str; 5] = ["14", "15", "16", "19", "22"];

/// Releases whose package with llvm-dis is installed.
const DISASSEMBLERS: [&str; 2] = ["14", "22"];

/// Kinds, with the oldest and the newest ABI, and the ABIs between them that have different functions.
const ROWS: [(&str, &[&str]); 4] = [
    ("openmp", &["llvm10", "llvm14", "llvm19", "llvm22", "llvm24", "main", "aomp"]),
    ("cuda", &["llvm15", "llvm19", "llvm22"]),
    ("hip", &["llvm15", "llvm19", "llvm22"]),
    ("sycl", &["llvm22", "llvm23", "main"]),
];

/// Names of entries that need quotes in text, that LLVM would interpret, or that the wrapper also uses.
const NAMES: [&str; 11] = [
    "plain",
    "llvm.used",
    "llvm.memcpy.p0i8",
    "with space \"quoted\" \\22",
    "7seven",
    "Größe",
    "\u{1}verbatim",
    "a$b@V_1",
    "atexit",
    ".omp_offloading.descriptor",
    "__hipRegisterVar",
];

pub fn trials() -> Vec<Trial> {
    let mut trials = Vec::new();
    for (kind, abis) in ROWS {
        for abi in abis {
            let name = format!("readers-{kind}-{abi}");
            trials.push(Trial::ignorable_test(format!("ir/{name}"), move || {
                completion(fresh_directory("ir", &name).and_then(|directory| are_equal(&directory, kind, abi)))
            }));
        }
    }
    trials
}

/// Wraps the same images in both forms. Every compiler makes the same object of both, which has the names and the images.
fn are_equal(directory: &Path, kind: &str, abi: &str) -> Result<()> {
    let images = write_images(directory)?;
    for output in ["w.bc", "w.ll"] {
        let mut step = Step::new(directory, fatbin_program()).args(["wrap", "--kind", kind, "--abi", abi]);
        step = step.arg("--allow-missing-kernels").args(NAMES.map(|name| format!("--entry={name}")));
        step = match kind {
            "cuda" | "hip" => step.args(["--raw", images[1]]),
            // The bytes are no images.
            _ => step.arg("--raw").args(images.map(|image| format!("--image=file={image},triple=spirv64,arch=x"))),
        };
        step.args(["-o", output]).run()?;
    }
    for release in DISASSEMBLERS {
        reads_both(directory, release)?;
    }
    for release in COMPILERS {
        let clang = llvm_tool("clang", release, &format!("clang-{release}"))?;
        for (input, object) in [("w.bc", "bc.o"), ("w.ll", "ll.o")] {
            let step =
                Step::new(directory, &clang).args(["-O2", "-fPIC", "-Werror", "-Wno-override-module", "-c", input]);
            step.args(["-o", object]).run()?;
        }
        let (bitcode, text) = (std::fs::read(directory.join("bc.o"))?, std::fs::read(directory.join("ll.o"))?);
        ensure!(bitcode == text, "clang-{release} makes different objects of bitcode and text");
        has_contents(directory, &bitcode, (kind, abi), images).with_context(|| format!("clang-{release}"))?;
    }
    Ok(())
}

/// Checks the bitcode with LLVM's verifier, and reads both forms into text again.
fn reads_both(directory: &Path, release: &str) -> Result<()> {
    let tool = |name: &str| llvm_tool(name, release, &format!("llvm-{release}"));
    Step::new(directory, tool("opt")?).args(["-passes=verify", "w.bc", "-o", "verified.bc"]).run()?;
    Step::new(directory, tool("llvm-as")?).args(["w.ll", "-o", "assembled.bc"]).run()?;
    let disassemble = |file: &str| -> Result<Vec<String>> {
        let done = Step::new(directory, tool("llvm-dis")?).args([file, "-o", "-"]).run()?;
        // The first line has the name of the file; the functions' labels and values have other names.
        let data =
            done.stdout.lines().skip(1).filter(|line| line.starts_with(['@', 's', 't']) || line.starts_with("de"));
        Ok(data.map(str::to_owned).collect())
    };
    let (bitcode, text) = (disassemble("w.bc")?, disassemble("assembled.bc")?);
    ensure!(bitcode.len() > 5 && bitcode == text, "llvm-dis-{release}: {bitcode:#?}\n{text:#?}");
    Ok(())
}

fn has_contents(directory: &Path, object: &[u8], (kind, abi): (&str, &str), images: [&str; 3]) -> Result<()> {
    use object::{Object, ObjectSymbol};
    let file = object::File::parse(object)?;
    for name in NAMES {
        // SYCL's entries have names, but no addresses in the host program.
        let is_symbol = file.symbols().any(|symbol| symbol.is_undefined() && symbol.name() == Ok(name));
        ensure!(is_symbol || kind == "sycl", "no symbol {name:?}");
        // Since LLVM 23, SYCL registers no entries.
        let is_name = memchr::memmem::find(object, format!("\0{name}\0").as_bytes()).is_some();
        ensure!(is_name || kind == "sycl" && abi != "llvm22", "no name {name:?}");
    }
    let images = if matches!(kind, "cuda" | "hip") { &images[1..2] } else { &images[..] };
    for image in images {
        let bytes = std::fs::read(directory.join(image))?;
        ensure!(memchr::memmem::find(object, &bytes).is_some(), "{image} is not in the object");
    }
    Ok(())
}
