//! Changing finished files: images are dropped or replaced, the containers around them are rebuilt, and the bytes
//! around the containers stay where they are.
//!
//! ```text
//! Edit: a decision for each image and container
//!    |  container: rebuilt from the images that are kept; the bytes of these are borrowed
//!    v
//! patch: spans of the file and their new bytes --> everything else is copied by the kernel
//! ```

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod apply;
pub mod archive;
pub mod container;
mod decision;
mod editor;
mod elf_headers;
mod elf_places;
mod error;
mod file;
mod hash;
mod image_tables;
#[cfg(test)]
mod image_tables_tests;
mod keep;
mod loss;
mod offload_sections;
pub mod patch;
mod proof;
mod prune;
#[cfg(test)]
mod prune_tests;
pub mod repaired;
pub mod replace;
mod rooms;
mod shrink;
mod signature;
pub mod split;
mod strip;
pub mod transcode;
pub mod what_if;

pub use apply::{Applied, ApplyOptions, EditedInput, FileEdit, SplitHost, apply, apply_in_memory};
pub use decision::{Edit, EditedImage, Effort, Encoding, ImageEdit, Recompression};
pub use editor::Editor;
pub use error::{EditError, KeepsSize, ProofError, Result};
pub use file::{EditedContainer, EditedFile, ImageFate, edit_file};
pub use hash::{hash, hash_file};
pub use keep::{KeepPtx, KeptImages};
pub use loss::{Loss, losses};
#[cfg(test)]
use proof::Change;
pub use proof::Proof;
pub use prune::{ArchName, Prune};
pub use signature::Treatment;
pub use strip::{Strip, Stripped};
