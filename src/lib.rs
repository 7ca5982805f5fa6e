//! Embeds GPU device images in host files, finds them in finished programs and extracts them, without LLVM.
//!
//! Programs that use GPUs carry *device images* inside *host files*. This crate writes the host objects that register
//! them with a runtime ([`embed`]), finds them in finished files ([`scan`]), and checks what is shipped ([`check`]).
//! The program `fatbin` is a command line around it.
//!
//! ```
//! use fatbin::{Access, Input, Scan};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/answer-gfx90a.hsaco");
//! let input = Input::open(path, Access::read())?;
//! for image in Scan::new(&input)?.images() {
//!     let bytes = image.bytes()?;
//!     println!("image {} for {:?}: {} bytes", image.index(), image.arch, bytes.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` has seven programs of this size. Scanning, reading and wrapping work on bytes in memory; only functions that
//! take paths access files.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | scanning, reading images, wrapping, the images that devices load, in memory |
//! | `files` | mapped inputs, outputs that appear whole, directories, static libraries, packages, build script helper |
//! | `full` | the inside of images, extraction to files, policies; includes `files` |
//! | `cli` | the program; the default, includes `full` |
//!
//! # Rooms
//!
//! A room uses only those before it; a test reads this table.
//!
//! | room | a line belongs here if |
//! |---|---|
//! | `base` | it would be the same in a program about something else |
//! | [`target`] | it is about kinds, triples, processors, IDs, and which code runs where |
//! | `format` | it knows the bytes of a container |
//! | `host` | it writes or rewrites ELF, COFF, Mach-O or LLVM IR |
//! | [`image`] | it looks inside a device image |
//! | [`scan`] | it finds images in files, lists or extracts them |
//! | [`embed`] | it makes containers and host objects from images and other files |
//! | `link` | it is about a link with device code |
//! | [`analyze`] | it answers a question about images, without a policy |
//! | [`check`] | it judges or records |
//! | `edit` | it changes finished files |
//! | `cli` | a person or a program types or reads it |

#![deny(missing_debug_implementations, missing_docs, unsafe_code)]
#![cfg_attr(
    not(feature = "cli"),
    allow(dead_code, unused_imports, reason = "the program uses more than the library shows")
)]

pub mod analyze;
mod base;
#[cfg(feature = "full")]
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
#[cfg(feature = "full")]
mod edit;
pub mod embed;
mod format;
mod host;
#[cfg(feature = "full")]
pub mod image;
#[cfg(feature = "full")]
mod link;
pub mod scan;
pub mod target;

/// Modules without promises, for the tests and fuzz targets of this repository.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod internals {
    pub mod base {
        pub use crate::base::*;
    }
    pub mod format {
        pub use crate::format::*;
        /// Every type of container.
        pub fn container_types() -> impl Iterator<Item = ContainerType> {
            ContainerType::ALL.into_iter()
        }
        pub mod bitcode {
            pub use crate::format::bitcode::embedded::offload_binaries;
            pub use crate::format::bitcode::symbols::symbols;
        }
        pub mod embed_record {
            pub use crate::format::embed_record::*;
        }
        pub mod embedded {
            pub use crate::format::embedded::*;
        }
    }
    pub mod host {
        pub use crate::host::*;
    }
    pub mod edit {
        pub use crate::edit::container::rebuild;
        pub use crate::edit::{Edit, EditedImage, Effort, Encoding, ImageEdit, Recompression, Result as EditResult};
        pub use crate::edit::{archive, patch};
    }
    pub mod report {
        pub use crate::cli::report::{
            CodeSizes, Components, InspectionDocument, Screen, blocks, image_json, inspection_table, json,
            selection_json, selection_lists, table, verdict_cyclonedx, verdict_github, verdict_gitlab, verdict_junit,
            verdict_markdown, verdict_sarif, verdict_text,
        };
    }
    pub mod dropin {
        pub use crate::cli::dropin::read_options;
    }
    pub mod survey {
        pub use crate::analyze::inspect::InspectedImage;
        pub use crate::analyze::survey::*;
    }
    pub mod promise {
        pub use crate::analyze::promise::*;
    }
    pub mod metadata {
        pub use crate::analyze::metadata::*;
    }
    pub mod check {
        pub use crate::check::proof_status::ProofStatus;
        pub use crate::check::rules::{CheckedFile, check};
    }
    pub mod select {
        pub use crate::analyze::select::*;
    }
    pub mod lock {
        pub use crate::check::lock::*;
    }
    pub mod llvm {
        pub use crate::embed::llvm::*;
    }
    pub mod image {
        use crate::base::bytes::View;
        use crate::format::ImageKind;
        use crate::image::{Demangler, Inspection, SourceIndex};

        pub fn inspect(image_kind: ImageKind, view: View<'_>) -> Inspection {
            crate::image::inspect(image_kind, view, &Demangler::default())
        }

        pub fn source_index(view: View<'_>) -> crate::Result<SourceIndex, crate::Malformed> {
            SourceIndex::read(view)
        }
    }
    pub mod scan {
        pub use crate::scan::inventory::NestedImage;
    }
    pub mod matching {
        pub use crate::embed::wrap::matching::*;
    }
    pub mod wrap_files {
        pub use crate::embed::wrap::files::*;
    }
    pub mod target {
        pub use crate::target::bundle_entry_id::*;
        pub use crate::target::target_id::*;
    }
    pub mod nvptx {
        pub use crate::target::nvptx::*;
    }
    pub mod compatibility {
        pub use crate::target::compatibility::*;
    }
    pub use crate::image::build_paths::build_paths;
    pub use crate::image::code_hash::code_hash;
    pub use crate::scan::extract::name_template::NamedImage;
}

pub use base::bytes::{Budget, Limits, View};
pub use base::codec::Codec;
pub use base::error::{Cause, Error, Malformed, Resource, Result};
pub use base::io::{Access, Input};
#[cfg(feature = "full")]
pub use edit::{Editor, transcode::ContainerForm};
pub use embed::WrapperBuilder;
pub use host::{Host, HostError};
pub use scan::{Container, File, Image, ImageBytes, ImageRef, Scan};
#[cfg(feature = "files")]
pub use scan::{ScannedFile, Scanner};
pub use target::OffloadKind;
