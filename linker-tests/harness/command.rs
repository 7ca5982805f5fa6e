//! Commands of the tests, in an environment that is the same for every user.

use std::ffi::OsStr;
use std::process::Command;

/// Environment variables that commands inherit. No other variable reaches them: compilers, LLVM's tools, git, CMake, the
/// runtimes and fatbin are all configured by variables.
const INHERITED: [&str; 11] = [
    "PATH",
    "HOME",
    "TMPDIR",
    // The directory of system libraries on Windows.
    "SystemRoot",
    // The output file of a program that measures its coverage.
    "LLVM_PROFILE_FILE",
    // The value that glibc fills memory with, so that reads of unset memory do not go unnoticed.
    "MALLOC_PERTURB_",
    // The toolchain that builds the tests. rustc, which rustup runs in the directory of a crate, would otherwise follow the
    // rust-toolchain.toml there: the build script of thiserror 2.0 updates the user's toolchain, to add a component.
    "CARGO_HOME",
    "RUSTUP_HOME",
    "RUSTUP_TOOLCHAIN",
    "RUSTUP_AUTO_INSTALL",
    // A build with another value shares nothing with the build of the tests.
    "CARGO_INCREMENTAL",
];

/// Returns a command with the inherited variables, and messages in English.
pub fn command(program: impl AsRef<OsStr>) -> Command {
    let mut command = Command::new(program);
    command.env_clear().env("LC_ALL", "C.UTF-8");
    for name in INHERITED {
        if let Some(value) = std::env::var_os(name) {
            command.env(name, value);
        }
    }
    command
}
