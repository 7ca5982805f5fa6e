//! The program `fatbin`. Its command line is in [`fatbin_cli`].

#![cfg_attr(unix, no_main)]

use std::ffi::OsString;

use fatbin_core::base::io::Access;

fn run(arguments: Vec<OsString>) -> u8 {
    // SAFETY: the inputs are outputs of a finished build, like the inputs of a linker. The program's documents state
    // what happens when one is changed while it is read.
    fatbin_cli::run(unsafe { Access::map() }, arguments)
}

#[cfg(not(unix))]
fn main() -> std::process::ExitCode {
    run(std::env::args_os().collect()).into()
}

/// Called by the C library. Before a Rust `main`, the runtime parses `/proc/self/maps` and sets up a stack for a message
/// about stack overflows: a third of the instructions of a short run.
#[cfg(unix)]
#[unsafe(no_mangle)]
extern "C" fn main(count: std::ffi::c_int, arguments: *const *const std::ffi::c_char) -> std::ffi::c_int {
    use std::ffi::{CStr, OsStr};
    use std::os::unix::ffi::OsStrExt;

    // SAFETY: the C library passes as many pointers to strings as it counts, and none of them changes.
    let arguments: Vec<&CStr> = unsafe {
        std::slice::from_raw_parts(arguments, count as usize).iter().map(|&argument| CStr::from_ptr(argument)).collect()
    };
    let arguments = arguments.iter().map(|argument| OsStr::from_bytes(argument.to_bytes()).to_owned());
    std::process::exit(run(arguments.collect()).into())
}
