//! Confirmation of the logs in `expected/` with objects of LLVM's own tools.
//!
//! Both tools write LLVM IR, which that release's compiler compiles to an object.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::cell::Cells;
use super::host::ProgramForm;
use super::images::Images;
use super::once;
use super::rows::Reference;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool, llvm_tool};

/// Checks a row with the object of its reference tool. `ours` is fatbin's object: HIP's tool takes a finished bundle, which is
/// copied from it.
pub fn check(cells: &Cells, reference: Reference, images: &Images, ours: &Path) -> Result<()> {
    let bitcode = cells.directory.join("reference.bc");
    let object = cells.directory.join("reference.o");
    let mut inputs: Vec<PathBuf> = images.of(cells.row.kind).into_iter().map(Path::to_owned).collect();
    if cells.row.kind == "hip" {
        inputs = vec![fat_binary_in(cells.directory, ours)?];
    }
    let (wrapper, compiler) = match reference {
        Reference::LlvmOffloadWrapper => {
            let step =
                Step::new(cells.directory, Tool::OffloadWrapper.path()?).arg(format!("--kind={}", cells.row.kind));
            (step.arg(format!("--triple={}", cells.host.triple)), Tool::Clang.path()?)
        }
        Reference::ClangOffloadWrapper(release) => {
            let tool = llvm_tool("clang-offload-wrapper", release, &format!("clang-tools-{release}"))?;
            let step = Step::new(cells.directory, tool).args(["-target", cells.host.triple]);
            (step, llvm_tool("clang", release, &format!("clang-{release}"))?)
        }
    };
    let expected = cells.expected.replace("limit -1", limit_of_llvm(cells));
    let program = cells.kit.program_with_entries(cells.row);
    // The kind determines the inputs of a tool, so the key does not contain them.
    let names = ["reference", cells.row.kind, cells.host.name, cells.row.judge(), &expected].map(str::as_bytes);
    let paths = [compiler.as_os_str(), program.as_os_str()].map(std::ffi::OsStr::as_encoded_bytes);
    once(&[&names[..], &paths].concat(), || {
        wrapper.arg("-o").arg(&bitcode).args(inputs).run()?;
        let step = Step::new(cells.directory, &compiler).arg(format!("--target={}", cells.host.triple));
        let step = step.args(cells.host.machine_flags());
        step.args(["-O2", "-fPIC", "-Wno-override-module", "-c"]).arg(&bitcode).arg("-o").arg(&object).run()?;
        let directory = cells.directory.join("reference");
        std::fs::create_dir(&directory)?;
        let cells = Cells { directory: &directory, expected: &expected, ..*cells };
        cells.check(Linker::Lld, ProgramForm::Pie, &object, &program)
    })
}

/// Returns the thread limit that LLVM's objects pass, the one place where they are wrong. On these hosts an `int` is
/// sign-extended to the whole register, and LLVM 22 does not extend -1: a callee that reads 64 bits, as the judge does, gets
/// 2^32 - 1.
fn limit_of_llvm(cells: &Cells) -> &'static str {
    match cells.host.name {
        "powerpc64le" | "s390x" => "limit 4294967295",
        _ => "limit -1",
    }
}

fn fat_binary_in(directory: &Path, object: &Path) -> Result<PathBuf> {
    let output = directory.join("bundle");
    let step = Step::new(directory, Tool::Objcopy.path()?).args(["-O", "binary", "--only-section=.hip_fatbin"]);
    step.arg(object).arg(&output).run()?;
    Ok(output)
}
