//! Finding device images in a file: by structure first, then by magic in all bytes that no structure explains.
//!
//! The headers of a host file lead to the sections that tools store containers in, so scanning a library of gigabytes reads
//! a few kilobytes; so do the structures by which host code registers containers, wherever those are. But real libraries
//! also keep containers in `.rodata` without either, linkers rename sections, and files lose their section headers. Hence
//! the second pass over all other bytes, where a container counts only if everything that it states holds: four bytes that
//! look like a magic occur in any large file.
//!
//! A [`Scan`] is a file with its inventory, and an iterator of its images. A [`Scanner`] scans many paths.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod appended;
mod builder;
mod cache;
mod contents;
mod device_links;
mod find;
mod findings;
mod gomp;
mod hash;
mod hints;
mod host_bitcode;
mod host_defects;
mod image_table;
mod images;
mod inputs;
mod kpack;
mod linked_entries;
mod magic;
mod map;
mod notes;
mod paths;
mod pointers;
mod prefetch;
mod registrations;
mod source;
mod stream_memory;
mod strict;
mod structure;
mod sycl;
mod symbols;
mod tables;
mod truncated;
mod unopened;
mod unpacked;
mod walk;
mod wrappers;

#[cfg(test)]
mod host_tests;
#[cfg(test)]
mod incomplete_tests;
#[cfg(test)]
mod tests;

use crate::base::error::Result;
use crate::scan::inventory::File;

pub(crate) use appended::has_archive as has_appended_archive;
pub use cache::CacheBudget;
pub(crate) use host_bitcode::has_images as is_host_bitcode_with_images;
pub use images::{ImageBytes, ImageReader, ImageRef, Scan};
pub use inputs::{Archives, InputSlice, OpenOptions, ScannedFile, each_input, expand_input};
pub use kpack::KpackSearch;
pub(crate) use linked_entries::linked_kernels;
pub use paths::{InputPath, Outcome, Scanner, expand_paths};
pub(crate) use source::RELEASE_INTERVAL;
pub use source::{DecodedBitcode, Source};
pub use strict::offload_binaries;
pub(crate) use strict::offload_binaries_in;
pub(crate) use structure::is_container_section;
pub(crate) use unpacked::unpacked;

/// Options of a scan.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Options {
    /// Skips the search by magic: containers that no header leads to are not found.
    pub structure_only: bool,
    /// Hashes every image, which reads all of its bytes.
    pub hash: bool,
}

impl Options {
    /// Returns whether every image is hashed.
    fn hashes_images(self) -> bool {
        return self.hash;
        #[cfg(not(feature = "full"))]
        return false;
    }
}

/// Lists every container in `source`.
pub fn scan(source: &dyn Source, options: Options) -> Result<File> {
    Ok(Scan::with_options(source, options, None)?.into_file())
}
