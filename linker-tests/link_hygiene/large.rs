//! An image of more than 2 GiB, beyond the reach of a program's code: it must be placed after all other sections.
//!
//! The image is a sparse file. Objects and programs with it take gigabytes of disk space, so the trials run one at a time
//! and remove their files.

use std::fs::File;
use std::path::Path;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, ensure};

use super::{cc, wrap};
use crate::harness::directives::fixture;
use crate::harness::step::Step;
use crate::harness::tools::Linker;

const SIZE: u32 = 2_400 << 20;

static ONE_AT_A_TIME: Mutex<()> = Mutex::new(());

pub fn more_than_two_gib(directory: &Path, linker: Linker) -> Result<()> {
    let _turn = ONE_AT_A_TIME.lock().unwrap_or_else(PoisonError::into_inner);
    let flags = linker.cc_flags()?;
    let result = links_and_runs(directory, linker, &flags);
    // The files of a failed trial are removed too.
    for name in ["image", "wrapper.o", "program"] {
        let _ = std::fs::remove_file(directory.join(name));
    }
    result
}

fn links_and_runs(directory: &Path, linker: Linker, flags: &[String]) -> Result<()> {
    File::create(directory.join("image"))?.set_len(SIZE.into())?;
    cc(directory)?.args(["-O2", "-fPIE", "-c"]).arg(fixture("judge.c")?).args(["-o", "judge.o"]).run()?;
    std::fs::write(directory.join("main.c"), "int state = 1;\nint main(void) { return state - 1; }\n")?;
    cc(directory)?.args(["-O1", "-fPIE", "-c", "main.c"]).run()?;
    let object = |large: &[&str]| {
        let step = wrap(directory, "openmp").args(large).arg("--image=file=image,triple=amdgcn-amd-amdhsa");
        step.args(["-o", "wrapper.o"]).run()
    };
    let link = || cc(directory)?.args(flags).args(["-pie", "-o", "program", "main.o", "judge.o", "wrapper.o"]).run();

    object(&[])?;
    link()?;
    let done = Step::new(directory, directory.join("program")).run()?;
    let expected = format!(
        "__tgt_register_lib, images 1\n  image 0, {SIZE} bytes, hash {:016x}\n__tgt_unregister_lib\n",
        hash_of_zeros(SIZE)
    );
    ensure!(done.stdout == expected, done.error(format!("expected:\n{expected}")));

    // Among the small sections, the image must break the link, or the trial would be meaningless. lld and mold place it
    // there out of reach of a program as small as this one.
    if matches!(linker, Linker::Bfd | Linker::Gold) {
        object(&["--large-images", "never"])?;
        ensure!(link().is_err(), "--large-images never: the link should fail");
    }
    Ok(())
}

/// Returns the FNV-1a hash of zeros: for a zero byte, only the multiplication remains.
fn hash_of_zeros(count: u32) -> u64 {
    0xcbf29ce484222325_u64.wrapping_mul(0x100000001b3_u64.wrapping_pow(count))
}
