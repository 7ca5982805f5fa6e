//! Releases of LLVM: one table of all differences between their tools.
//!
//! A release is a row of [`RELEASES`]. Code reads the columns of a row and never compares release numbers, so support
//! for a release is only a row. Each module defines the columns for one subject: [`wrapper_abi`] for wrapper objects,
//! [`packager`] for offload binaries and the tool that packs them, [`bundler`] for the tool that bundles files,
//! [`linker`] for the tool that links device code, and [`offload_wrapper`] for the tool that writes wrapper objects.

pub mod bundler;
mod kinds;
pub mod linker;
pub mod offload_wrapper;
pub mod packager;
mod releases;
pub mod wrapper_abi;

pub use kinds::KindNumbers;
pub use releases::{NEWEST, RELEASES, Release};
