//! Everything that trials share: cases and their builds, commands, tools, and the outcome of a trial.

pub mod build;
pub mod command;
pub mod directives;
pub mod lock;
pub mod openmp;
pub mod parallel;
pub mod program;
pub mod step;
pub mod sweep;
pub mod tools;
pub mod trial;
pub mod verify;
pub mod wine;
pub mod wrap;

use std::sync::LazyLock;

/// Returns the path of the program that the trials test: that in `FATBIN_TESTED_PROGRAM`, or the one that cargo has built for them.
pub fn fatbin_program() -> &'static str {
    static PROGRAM: LazyLock<String> = LazyLock::new(|| {
        std::env::var("FATBIN_TESTED_PROGRAM").unwrap_or_else(|_| env!("CARGO_BIN_EXE_fatbin").to_owned())
    });
    &PROGRAM
}
