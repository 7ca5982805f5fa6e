//! Kernels that only end or trap, as ptxas of three releases and clang 14 and 22 compile them.

use std::path::Path;

use anyhow::{Context, Result, ensure};
use serde_json::Value;

use super::accepts;
use super::nvidia_tools::Ptxas;
use super::target_ids::processors;
use crate::harness::fatbin_program;
use crate::harness::parallel::parallel;
use crate::harness::step::Step;
use crate::harness::tools::{Tool, llvm_tool};

/// Bodies of PTX kernels, and what they do without a body.
const PTX: [(&str, &str, Option<&str>); 7] = [
    ("empty", "ret;", Some("exit")),
    ("parameters", ".reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; ret;", Some("exit")),
    ("traps", "trap; ret;", Some("trap")),
    ("breaks", "brkpt; ret;", Some("trap")),
    ("stores", ".reg .b64 %rd<2>; ld.param.u64 %rd1, [p]; st.global.u32 [%rd1], 0; ret;", None),
    ("waits", "bar.sync 0; ret;", None),
    (
        "may_trap",
        ".reg .pred %p<2>; .reg .b32 %r<2>; mov.u32 %r1, %tid.x; setp.eq.u32 %p1, %r1, 0; @%p1 trap; ret;",
        None,
    ),
];

/// Bodies of OpenCL kernels.
const OPENCL: [(&str, &str, Option<&str>); 5] = [
    ("empty", "", Some("exit")),
    ("traps", "__builtin_trap();", Some("trap")),
    ("breaks", "__builtin_debugtrap();", Some("trap")),
    ("stores", "*p = 1;", None),
    ("may_trap", "if (!*p) __builtin_trap();", None),
];

/// Processors whose traps clang precedes by the address of the queue.
const QUEUE_FIRST: [&str; 3] = ["gfx6", "gfx7", "gfx8"];

pub fn agree_with_ptxas_and_clang(directory: &Path) -> Result<()> {
    let cubins = cubins(directory)?;
    let code_objects = code_objects(directory)?;
    ensure!(cubins >= 280 && code_objects >= 80, "{cubins} cubins, {code_objects} code objects");
    println!("compatibility/stubs: {cubins} cubins and PTX files, {code_objects} code objects");
    Ok(())
}

/// Returns the number of files that were compared.
fn cubins(directory: &Path) -> Result<usize> {
    let mut compared = 0;
    for ptxas in Ptxas::releases(directory)? {
        let archs: Vec<&String> = ptxas.listed.iter().collect();
        let files = parallel(&archs, |arch| {
            let bodies = PTX.map(|(name, body, _)| format!(".visible .entry {name}(.param .u64 p)\n{{\n{body}\n}}\n"));
            let source = ptxas.write_text(directory, arch, &bodies.concat())?;
            let mut files = vec![source.clone()];
            for (number, options) in [&[][..], &["-g"], &["-c"]].iter().enumerate() {
                let file = format!("{number}-{source}.cubin");
                let step = Step::new(directory, &ptxas.path).args([&format!("-arch={arch}"), "-o", &file, &source]);
                step.args(*options).run()?;
                files.push(file);
            }
            Ok(files)
        })?;
        let files: Vec<String> = files.into_iter().flatten().collect();
        for (file, found) in files.iter().zip(stubs(directory, &files)?) {
            ensure!(found == expected(&PTX, &[]), "{file}: {found:?}");
            compared += 1;
        }
    }
    Ok(compared)
}

fn code_objects(directory: &Path) -> Result<usize> {
    let kernels = OPENCL.map(|(name, body, _)| format!("kernel void {name}(global int *p) {{ {body} }}\n"));
    std::fs::write(directory.join("stubs.cl"), kernels.concat())?;
    let clangs = [("14", llvm_tool("clang", "14", "clang-14")?), ("22", Tool::Clang.path()?)];
    let processors = processors(directory)?;
    let jobs: Vec<_> = processors.iter().flat_map(|it| clangs.iter().map(move |clang| (it, clang))).collect();
    let compiled = parallel(&jobs, |(processor, (release, clang))| {
        let file = format!("{processor}-{release}.o");
        let cpu = format!("-mcpu={processor}");
        let arguments = ["--target=amdgcn-amd-amdhsa", "-nogpulib", "-O2", &cpu, "-c", "stubs.cl", "-o", &file];
        Ok(accepts(directory, clang, &arguments, &["unknown target CPU", "invalid target ID"])?.then_some(file))
    })?;
    let files: Vec<String> = compiled.into_iter().flatten().collect();
    for (file, found) in files.iter().zip(stubs(directory, &files)?) {
        let undecided = if QUEUE_FIRST.iter().any(|it| file.starts_with(it)) { &["traps"][..] } else { &[] };
        ensure!(found == expected(&OPENCL, undecided), "{file}: {found:?}");
    }
    Ok(files.len())
}

/// What fatbin says about each kernel of a file, by name.
type Found = Vec<(String, Option<String>)>;

/// Returns what fatbin says about each file.
fn stubs(directory: &Path, files: &[String]) -> Result<Vec<Found>> {
    let inspect = Step::new(directory, fatbin_program()).args(["inspect", "--json"]).args(files).run()?;
    let document: Value = serde_json::from_str(&inspect.stdout)?;
    let inspected = document["files"].as_array().context("no files")?;
    ensure!(inspected.len() == files.len(), "{} files of {}", inspected.len(), files.len());
    let text = |value: &Value| value.as_str().map(str::to_owned);
    let of_file = |file: &Value| {
        let kernels = file["images"][0]["kernels"].as_array().into_iter().flatten();
        let mut found: Found =
            kernels.map(|kernel| (text(&kernel["name"]).unwrap_or_default(), text(&kernel["stub"]))).collect();
        found.sort();
        found
    };
    Ok(inspected.iter().map(of_file).collect())
}

fn expected(kernels: &[(&str, &str, Option<&str>)], undecided: &[&str]) -> Found {
    let stub = |name: &str, stub: Option<&str>| stub.filter(|_| !undecided.contains(&name)).map(str::to_owned);
    let mut expected: Found = kernels.iter().map(|(name, _, it)| ((*name).to_owned(), stub(name, *it))).collect();
    expected.sort();
    expected
}
