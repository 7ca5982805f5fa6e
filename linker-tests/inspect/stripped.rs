//! Cubins that LLVM's strip and objcopy have rewritten, with status 0. cuobjdump refuses each, or prints other registers than
//! for the original; fatbin must call each damaged.

use std::path::Path;

use anyhow::{Result, ensure};
use libtest_mimic::Trial;

use super::trial;
use crate::harness::command::command;
use crate::harness::directives::fixture;
use crate::harness::fatbin_program;
use crate::harness::step::Step;
use crate::harness::tools::Tool;

/// Arguments of `llvm-objcopy`. llvm-strip is the same program, and its options are those of llvm-objcopy.
const ARGUMENTS: [&[&str]; 5] = [&[], &["--strip-debug"], &["--strip-unneeded"], &["--strip-all"], &["--discard-all"]];

const CUBINS: [&str; 2] = ["answer-sm_90.cubin", "answer-sm_90-debug.cubin"];

pub fn trials() -> Vec<Trial> {
    vec![trial("cubin/stripped".to_owned(), stripped)]
}

/// Returns what cuobjdump prints about the resources; `None` if it refuses the file.
fn usage(directory: &Path, file: &str) -> Result<Option<String>> {
    let output = command(Tool::Cuobjdump.path()?).current_dir(directory).args(["-res-usage", file]).output()?;
    Ok(output.status.success().then(|| String::from_utf8_lossy(&output.stdout).into_owned()))
}

fn is_intact(directory: &Path, file: &str) -> Result<bool> {
    let output = command(fatbin_program()).current_dir(directory).args(["verify", file]).output()?;
    ensure!([Some(0), Some(2)].contains(&output.status.code()), "{file}: {output:?}");
    Ok(output.status.success())
}

fn stripped(directory: &Path) -> Result<()> {
    for cubin in CUBINS {
        std::fs::copy(fixture(cubin)?, directory.join(cubin))?;
        let original = usage(directory, cubin)?;
        ensure!(original.is_some() && is_intact(directory, cubin)?, "{cubin} is not intact");
        for arguments in ARGUMENTS {
            Step::new(directory, Tool::Objcopy.path()?).args(arguments).args([cubin, "copy"]).run()?;
            let is_read = usage(directory, "copy")? == original;
            ensure!(is_read == is_intact(directory, "copy")?, "{cubin} {arguments:?}: cuobjdump reads it: {is_read}");
        }
    }
    Ok(())
}
