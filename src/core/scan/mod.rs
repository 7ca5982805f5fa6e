//! Finding device images in a file: by structure first, then by magic in all bytes that no structure explains.
//!
//! The headers of a host file lead to the sections where tools store containers, so scanning a library of gigabytes
//! reads a few kilobytes. The structures that register containers lead to them as well, in any section. But real
//! libraries also keep containers in `.rodata` without either, linkers rename sections, and files lose their section
//! headers. Hence the second pass over all other bytes. There, a container counts only if everything that it states
//! holds: four bytes that look like a magic occur in any large file.
//!
//! A [`Scan`] is a file with its inventory, and an iterator of its images. A [`Scanner`] scans many paths.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod cache;
#[cfg(feature = "full")]
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "positions in lists that the program builds, not in files"
)]
pub mod extract;
#[cfg(feature = "full")]
#[allow(
    clippy::indexing_slicing,
    clippy::arithmetic_side_effects,
    reason = "positions in lists that the program builds, not in files"
)]
pub mod filter;
pub mod host_half;
mod images;
#[cfg(feature = "files")]
mod inputs;
#[cfg(feature = "full")]
pub mod inspect;
pub mod inventory;
mod search;
mod source;
pub mod structure;

#[cfg(test)]
mod host_tests;
#[cfg(test)]
mod incomplete_tests;
#[cfg(test)]
mod tests;

use crate::base::error::Result;

#[cfg(feature = "full")]
pub use self::{
    extract::{
        Destination, ExtractError, ExtractOptions, Extraction, NameTemplate, TemplateError, extract_files as extract,
    },
    filter::{FilterError, ImageFilter},
};
pub use crate::format::{ContainerType, ImageKind};
pub use cache::CacheBudget;
pub use images::{ImageBytes, ImageRef, Scan};
#[cfg(feature = "files")]
pub use inputs::{InputSlice, OpenOptions, ScannedFile, ScannedFiles, Scanner, each_input};
pub use inventory::{Container, File, FileFormat, Image, Registration};
pub use source::Source;

pub use images::{ImageReader, image_error};
#[cfg(feature = "files")]
pub use inputs::{
    Archives, InputPath, KpackSearch, Outcome, expand_input, expand_paths, has_appended_archive, unpacked,
};
pub use search::strict::{offload_binaries, offload_binaries_in};
pub use source::{InputRange, RELEASE_INTERVAL, Unreleased};
#[doc(hidden)]
pub use structure::fat_lto::{has_images as is_host_bitcode_with_images, holds_images_twice};
pub use structure::{is_container_section, pointers};

/// Options of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Options {
    /// Skips the search by magic: containers that no header leads to are not found.
    pub structure_only: bool,
    /// Hashes every image, which reads all of its bytes.
    pub hash: bool,
    /// Reads small images to find those that hold no kernel.
    #[doc(hidden)]
    pub kernels: bool,
    /// Files whose calls of functions that load device code are signs, if they have no device code.
    pub(crate) calls: Calls,
}

/// Files whose calls are read. Of files in directories, only those with findings are reported, and reading the calls of all
/// takes as long as the scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Calls {
    /// None.
    #[default]
    No,
    /// Linked files. A static library has thousands of objects.
    Linked,
    /// Linked files and objects.
    All,
}

impl Options {
    /// Sets whether the search by magic is skipped.
    #[doc(hidden)]
    pub fn with_structure_only(self, structure_only: bool) -> Self {
        Options { structure_only, ..self }
    }

    /// Sets whether every image is hashed.
    #[doc(hidden)]
    pub fn with_hash(self, hash: bool) -> Self {
        Options { hash, ..self }
    }

    /// Options of scans whose files are passed to `select`: which image runs depends on the images that hold no kernel, so
    /// small images are read.
    #[cfg(feature = "full")]
    pub fn for_answers() -> Self {
        Options { kernels: true, ..Options::default() }
    }

    /// Sets the files whose calls are signs of device code.
    #[doc(hidden)]
    pub fn with_calls(self, calls: Calls) -> Self {
        Options { calls, ..self }
    }
}

/// Lists every container in `source`.
pub fn scan(source: &dyn Source, options: Options) -> Result<File> {
    Ok(Scan::with_options(source, options, None)?.into_file())
}
