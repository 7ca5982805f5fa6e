//! The Rust module in a program and in a static library that a program in C links.

use std::path::Path;

use anyhow::{Result, ensure};

use super::{Files, fatbin, fnv};
use crate::harness::step::Step;
use crate::harness::tools::{Missing, Tool, in_path};

const LIBRARY: &str = "
#[path = \"files.rs\"]
mod files;

fn fnv(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
}

#[unsafe(no_mangle)]
pub extern \"C\" fn hash_of_kernel() -> u64 {
    fnv(files::kernel())
}
";

const PROGRAM: &str = "
fn main() {
    let named = |name: &str| files::all().into_iter().find(|file| file.0 == name).unwrap().1;
    assert_eq!(files::text(), named(\"text\"));
    println!(\"{:016x}\", hash_of_kernel());
}
";

const PROGRAM_IN_C: &str = "
#include <inttypes.h>
#include <stdio.h>
uint64_t hash_of_kernel(void);
int main(void) {
    printf(\"%016\" PRIx64 \"\\n\", hash_of_kernel());
}
";

pub fn a_program_and_a_library_use_the_module(directory: &Path) -> Result<()> {
    let rustc = in_path("rustc").ok_or_else(|| Missing::by("rustc", "https://rustup.rs"))?;
    let files = Files::write(directory)?;
    let step = fatbin(directory).args(["embed", "-o", "files.o", "--rust", "files.rs", "-s", "kernel=kernel"]);
    step.args(["-s", "text=text", "-s", "ns::unused=unused", "-s", "type=text"]).run()?;
    std::fs::write(directory.join("library.rs"), LIBRARY)?;
    std::fs::write(directory.join("program.rs"), [LIBRARY, PROGRAM].concat())?;
    std::fs::write(directory.join("main.c"), PROGRAM_IN_C)?;
    let expected = format!("{:016x}\n", fnv(&files.kernel));

    for edition in ["2021", "2024"] {
        let rustc = || Step::new(directory, &rustc).args(["--edition", edition, "-D", "warnings"]);
        rustc().args(["program.rs", "-C", "link-arg=files.o"]).run()?;
        let done = Step::new(directory, directory.join("program")).run()?;
        ensure!(done.stdout == expected, done.error(&done.stdout));

        rustc().args(["--crate-type", "staticlib", "library.rs"]).run()?;
        let step =
            Step::new(directory, Tool::Cc.path()?).args(["-Wl,--gc-sections", "main.c", "liblibrary.a", "files.o"]);
        step.args(["-lpthread", "-ldl", "-lm", "-o", "program-in-c"]).run()?;
        let done = Step::new(directory, directory.join("program-in-c")).run()?;
        ensure!(done.stdout == expected, done.error(&done.stdout));
        ensure!(!files.has_unused(&directory.join("program-in-c"))?, "an unused file was kept");
    }
    Ok(())
}
