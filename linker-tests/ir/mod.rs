//! LLVM IR of the wrappers: compilers call the drop-ins and compile their output, and LLVM's tools read it.
//!
//! [`matrix`](crate::matrix) links and runs IR of every kind, ABI and host. The trials here show that compilers of LLVM
//! 14 and 15 build whole OpenMP programs with the drop-in instead of clang-offload-wrapper ([`driver`]), that the
//! drop-ins' output compiles to the same object as the output of the tools ([`reference`]), and that readers of IR
//! accept it ([`readers`]).

mod driver;
mod readers;
mod reference;

use std::path::Path;

use crate::harness::fatbin_program;
use anyhow::{Context, Result};
use libtest_mimic::Trial;

pub fn trials() -> Vec<Trial> {
    [driver::trials(), reference::trials(), readers::trials()].into_iter().flatten().collect()
}

/// Links the program into `directory` under the name of a tool.
fn link_drop_in(directory: &Path, tool: &str) -> Result<()> {
    std::fs::create_dir_all(directory)?;
    let link = directory.join(tool);
    std::os::unix::fs::symlink(fatbin_program(), &link).with_context(|| link.display().to_string())
}

/// Writes images with every byte, with bytes that text must escape, and of odd sizes.
fn write_images(directory: &Path) -> Result<[&'static str; 3]> {
    let every_byte: Vec<u8> = (0..=255).chain((0..=255).rev()).chain([0; 33]).collect();
    std::fs::write(directory.join("every-byte"), &every_byte)?;
    std::fs::write(directory.join("large"), every_byte.repeat(300))?;
    std::fs::write(directory.join("text"), "\"\\22\" %s @x \\\n\0\0")?;
    Ok(["every-byte", "large", "text"])
}
