//! Releases of LLVM: one table of everything in which their tools differ.
//!
//! A release is a row of [`RELEASES`]. Code reads the columns of a row and never compares release numbers, so support for a
//! release is a row and nothing else. [`wrapper_abi`] defines the columns that concern wrapper objects, [`packager`] those of
//! offload binaries and the tool that packs them, [`bundler`] those of the tool that bundles files, [`linker`] those of the tool
//! that links device code, [`offload_wrapper`] the options of the tool that writes wrapper objects.

pub mod bundler;
mod kinds;
pub mod linker;
pub mod offload_wrapper;
pub mod packager;
mod releases;
pub mod wrapper_abi;

pub use kinds::KindNumbers;
pub use releases::{NEWEST, RELEASES, Release};
