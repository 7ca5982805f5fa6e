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
