//! The program `fatbin`. Its command line is in [`fatbin::cli`].

use fatbin::Access;

fn main() -> std::process::ExitCode {
    // SAFETY: the inputs are files that a build has finished, as those of a linker are. Documents of the program state what
    // happens when one is changed while it is read.
    fatbin::cli::run(unsafe { Access::map() })
}
