//! Exceptions through the frames of the wrapper object, thrown by `unwinding.cpp`.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{cc, source, wrap};
use crate::harness::step::Step;
use crate::harness::tools::Linker;
use crate::matrix::images::Images;

pub fn exceptions_pass(directory: &Path, linker: Linker) -> Result<()> {
    let images = Images::write(directory)?;
    cc(directory)?.args(["-O2", "-fPIE", "-c"]).arg(source("unwinding.cpp")).args(["-o", "main.o"]).run()?;
    // The simplest constructor, and the one with the largest frame.
    for kind in ["openmp", "cuda"] {
        let step = wrap(directory, kind).args(["--entry=answer_kernel=kernel_stub", "-o", "wrapper.o"]);
        step.args(images.of(kind)).run()?;
        let step = cc(directory)?.args(linker.cc_flags()?).args(["-pie", "-o", kind, "main.o", "wrapper.o"]);
        step.args(["-lstdc++", "-lgcc_s"]).run()?;
        let done = Step::new(directory, directory.join(kind)).run()?;
        ensure!(done.stdout == "started, 1 calls\ncaught 42\n", done.error("expected: one call, and 42 caught"));
    }
    Ok(())
}
