//! An image of more than 2 GiB, beyond the reach of a program's code: it must be placed after all other sections.
//!
//! The image is a sparse file, but objects and programs with it take gigabytes of disk space. So one trial uses one linker
//! after the other with the same objects, and removes its files.

use std::fs::File;
use std::path::Path;

use anyhow::{Context, Error, Result, ensure};

use super::{cc, wrap};
use crate::harness::directives::fixture;
use crate::harness::step::{Done, Step};
use crate::harness::tools::{Linker, Missing};

const SIZE: u32 = 2_100 << 20;

/// Linkers of the trial: each writes gigabytes, and the program hashes them. `doctor/large-section` links with the others.
const LINKERS: [Linker; 2] = [Linker::Bfd, Linker::Lld];

/// A linker that places all read-only sections before the writable ones. With the image between them, code cannot reach the data.
const WITH_IMAGE_BETWEEN: Linker = Linker::Bfd;

pub fn more_than_two_gib(directory: &Path) -> Result<()> {
    let result = link_with_all(directory);
    // The files of a failed trial are removed too.
    for name in ["image", "wrapper.o", "program"] {
        let _ = std::fs::remove_file(directory.join(name));
    }
    result
}

fn link_with_all(directory: &Path) -> Result<()> {
    File::create(directory.join("image"))?.set_len(SIZE.into())?;
    cc(directory)?.args(["-O2", "-fPIE", "-c"]).arg(fixture("judge.c")?).args(["-o", "judge.o"]).run()?;
    std::fs::write(directory.join("main.c"), "int state = 1;\nint main(void) { return state - 1; }\n")?;
    cc(directory)?.args(["-O1", "-fPIE", "-c", "main.c"]).run()?;
    let mut missing = None;
    make_object(directory, &[])?;
    for linker in LINKERS {
        match link(directory, linker).and_then(|_| run(directory)) {
            Err(error) if error.is::<Missing>() => missing = Some(error),
            result => result.context(linker.name())?,
        }
    }
    // Among the small sections, the image must break the link, or the trial would be meaningless.
    make_object(directory, &["--large-images", "never"])?;
    let Err(error) = link(directory, WITH_IMAGE_BETWEEN) else {
        return Err(Error::msg("--large-images never: the link should fail"));
    };
    ensure!(error.is::<Missing>() || error.to_string().contains("relocation"), "{error}");
    missing.map_or(Ok(()), Err)
}

fn make_object(directory: &Path, options: &[&str]) -> Result<()> {
    let step = wrap(directory, "openmp").args(options).arg("--raw").arg("--image=file=image,triple=amdgcn-amd-amdhsa");
    step.args(["-o", "wrapper.o"]).run().map(drop)
}

fn link(directory: &Path, linker: Linker) -> Result<Done> {
    let step = cc(directory)?.args(linker.cc_flags()?);
    step.args(["-pie", "-o", "program", "main.o", "judge.o", "wrapper.o"]).run()
}

fn run(directory: &Path) -> Result<()> {
    let done = Step::new(directory, directory.join("program")).run()?;
    let expected = format!(
        "__tgt_register_lib, images 1\n  image 0, {SIZE} bytes, hash {:016x}\n__tgt_unregister_lib\n",
        hash_of_zeros(SIZE)
    );
    ensure!(done.stdout == expected, done.error(format!("expected:\n{expected}")));
    Ok(())
}

/// Returns the FNV-1a hash of zeros: for a zero byte, only the multiplication remains.
fn hash_of_zeros(count: u32) -> u64 {
    0xcbf29ce484222325_u64.wrapping_mul(0x100000001b3_u64.wrapping_pow(count))
}
