//! The program `fatbin`. Its command line is in [`fatbin::cli`].

use fatbin::Access;

fn main() -> std::process::ExitCode {
    // SAFETY: the inputs are outputs of a finished build, like the inputs of a linker. The program's documents state
    // what happens when one is changed while it is read.
    fatbin::cli::run(unsafe { Access::map() })
}
