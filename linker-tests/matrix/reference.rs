//! The same log from the object of LLVM's own tool, so that the logs in `expected/` are no opinion of ours.
//!
//! Both tools write LLVM IR, of which that release's compiler makes the object.

use std::path::{Path, PathBuf};

use anyhow::Result;

use super::cell::Cells;
use super::host::Form;
use super::images::Images;
use super::rows::Reference;
use crate::harness::step::Step;
use crate::harness::tools::{Linker, Tool, llvm_tool};

/// `ours` is our object: HIP's tool takes a bundle that is finished already, and gets that of ours.
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
    wrapper.arg("-o").arg(&bitcode).args(inputs).run()?;
    let step = Step::new(cells.directory, compiler).arg(format!("--target={}", cells.host.triple));
    let step = step.args(cells.host.machine_flags());
    step.args(["-O2", "-fPIC", "-Wno-override-module", "-c"]).arg(&bitcode).arg("-o").arg(&object).run()?;

    let directory = cells.directory.join("reference");
    std::fs::create_dir(&directory)?;
    let expected = cells.expected.replace("limit -1", limit_of_llvm(cells));
    let cells = Cells { directory: &directory, expected: &expected, ..*cells };
    cells.check(Linker::Lld, Form::Pie, &object, &cells.kit.program_with_entries(cells.row))
}

/// The one place where LLVM's objects are not right. On these hosts an `int` travels with its sign in the whole register,
/// and LLVM 22 passes -1 without: the callee sees 2^32 - 1 as soon as it takes 64 bits, as the judge does.
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
