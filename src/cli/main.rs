//! The program `fatbin`. Its command line is in [`fatbin_cli`].

use std::process::ExitCode;

use fatbin_core::base::io::Access;

fn main() -> ExitCode {
    // SAFETY: the inputs are outputs of a finished build, like the inputs of a linker. The program's documents state
    // what happens when one is changed while it is read.
    let access = unsafe { Access::map() };
    fatbin_cli::run(access, std::env::args_os().collect()).into()
}
