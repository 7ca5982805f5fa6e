//! Embeds GPU device images in host files, finds them in finished programs and extracts them, without LLVM.
//!
//! Programs that use GPUs carry *device images* inside *host files*. This crate writes the host objects that register them
//! with a runtime ([`wrap`]), finds them in finished files ([`scan`]), and checks what is shipped ([`check`]). The program
//! `fatbin` is a command line around it.
//!
//! ```
//! use fatbin::{Access, Input, Scan};
//!
//! # fn main() -> Result<(), Box<dyn std::error::Error>> {
//! # let path = concat!(env!("CARGO_MANIFEST_DIR"), "/fixtures/answer-gfx90a.hsaco");
//! let input = Input::open(path, Access::read())?;
//! for image in Scan::new(&input)?.images() {
//!     let bytes = image.bytes()?;
//!     println!("image {} for {:?}: {} bytes", image.index(), image.image().arch, bytes.len());
//! }
//! # Ok(())
//! # }
//! ```
//!
//! `examples/` has six programs of this size. Nothing here opens files on its own: readers of formats return views of the
//! bytes that they are given, and only [`io`], the functions of [`mod@ops`] that take paths, and [`scan::Scanner`] read and write
//! files.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | none | scanning, reading images, wrapping, packing, bundling, in memory |
//! | `map` | inputs that are mapped into memory |
//! | `files` | [`mod@ops`] on paths, static libraries, directories; includes `map` |
//! | `archives` | wheels, zip and tar files; includes `files` |
//! | `build` | [`mod@build`], the helper for build scripts; includes `files` |
//! | `hash` | SHA-256 of images |
//! | `inspect` | [`inspect`], [`survey`], extraction to files; includes `files` and `hash` |
//! | `check` | [`check`], [`lock`]; includes `inspect` and `archives` |
//! | `cli` | the program; the default, includes all |
//!
//! # Layers
//!
//! Data goes down this list on its way in (bytes, views of containers, an inventory, text) and up on its way out (images, a
//! plan, an object file). A module uses only modules above it; a test enforces that.
//!
//! | module | contents | independent of |
//! |---|---|---|
//! | [`error`], [`bytes`], `content` | errors; views of untrusted bytes; bytes to be written | everything else |
//! | `escape` | escaping of text from files | everything else |
//! | `pattern` | regular expressions and globs, compiled within limits | everything else |
//! | `spelling` | distances between names, for suggestions | everything else |
//! | `parallel` | work on several items at a time, with results in order | the work |
//! | [`codec`] | compression, and decompression to a stated size | the compressed data |
//! | [`io`] | inputs, outputs that appear whole or not at all, payloads copied between the two | formats |
//! | `archive` | members of archives, as views | formats, paths |
//! | [`target`] | offload kinds, triples, processors, bundle entry IDs | files |
//! | [`mod@format`] | one directory per container: layout, reader, writer | paths, host files |
//! | `host` | a host object as plain data, its emission as ELF and LLVM IR, one file of code per machine | offload ABIs |
//! | `rewrite` | host objects with sections added or removed, images with notes added | offload ABIs |
//! | [`llvm`] | releases of LLVM as a table: wrapper ABI, offload binaries, behavior of the tools | files |
//! | [`wrap`] | from images to the plan of a host object, one file per offload kind | machines, ELF |
//! | `embed` | from any files to the plan of a host object with named symbols | machines, ELF |
//! | [`inspect`] | contents of an image: kernels, resource usage, debug information | containers, files |
//! | [`inventory`] | the result of a scan: file, container, image | printing |
//! | [`floor`] | the oldest drivers and runtimes that load an image, as tables with sources | files, printing |
//! | [`select`] | the image that a runtime selects on a device, and why no other | files, printing |
//! | [`scan`] | the search for containers: by structure, then by magic | printing |
//! | [`survey`] | everything known about a file: its inventory and the contents of its images | policies |
//! | `size` | the bytes of files by arch, kernel, container and other properties | files, printing |
//! | [`metadata`] | claims of package metadata about device code, and the reverse | files, printing |
//! | [`mod@coverage`] | the devices on which each kernel runs | printing |
//! | `edit` | changes of finished files, and their proofs | command-line syntax, printing |
//! | [`check`] | policies, their rules, and findings | the origin of the data, printing |
//! | [`lock`] | a reviewable record of device code, and its comparison with another | the origin of the data |
//! | [`mod@ops`] | operations of the commands on files | command-line syntax |
//! | [`mod@build`] | device images in programs that cargo builds | command-line syntax, printing |
//! | `link` | the link of device code, and of the program that contains it | command-line syntax |
//! | `doctor` | the problems that a link with device code will have | command-line syntax, printing |
//! | `codes` | codes of errors, and the texts about them | command-line syntax, printing |
//! | `report` | tables, JSON documents and pages | the origin of the data |
//! | `cli` | commands, messages, exit statuses | |

#![deny(missing_debug_implementations, missing_docs, unsafe_code)]

#[cfg(feature = "files")]
mod archive;
#[cfg(feature = "build")]
pub mod build;
pub mod bytes;
#[cfg(feature = "check")]
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod codec;
#[cfg(feature = "cli")]
mod codes;
mod content;
#[cfg(feature = "inspect")]
pub mod coverage;
#[cfg(feature = "cli")]
mod doctor;
#[cfg(feature = "cli")]
mod edit;
#[cfg(feature = "build")]
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "build scripts embed files in one of the styles"))]
mod embed;
pub mod error;
#[cfg(feature = "map")]
#[cfg_attr(not(feature = "cli"), allow(dead_code, reason = "most outputs are those of the program"))]
mod escape;
pub mod floor;
pub mod format;
mod host;
#[cfg(feature = "inspect")]
pub mod inspect;
pub mod inventory;
#[allow(unsafe_code, reason = "memory maps; every unsafe block states why it is sound")]
pub mod io;
#[cfg(feature = "cli")]
mod link;
pub mod llvm;
#[cfg(feature = "check")]
pub mod lock;
#[cfg(feature = "check")]
pub mod metadata;
#[cfg(feature = "files")]
pub mod ops;
mod parallel;
#[cfg(feature = "inspect")]
mod pattern;
#[cfg(feature = "cli")]
mod report;
mod rewrite;
pub mod scan;
pub mod select;
#[cfg(feature = "cli")]
mod size;
mod spelling;
#[cfg(feature = "inspect")]
pub mod survey;
pub mod target;
#[cfg(all(test, feature = "cli"))]
mod tidy;
pub mod wrap;

/// Modules without promises, for the tests and fuzz targets of this repository.
#[doc(hidden)]
pub mod internals {
    #[cfg(feature = "files")]
    pub mod archive {
        pub use crate::archive::*;
    }
    pub mod content {
        pub use crate::content::*;
    }
    #[cfg(feature = "cli")]
    pub mod dropin {
        pub use crate::cli::dropin::read_options;
    }
    #[cfg(feature = "inspect")]
    pub mod extract {
        pub use crate::ops::extract::name_template::NamedImage;
    }
    #[cfg(feature = "cli")]
    pub mod bitcode {
        pub use crate::format::bitcode::embedded::offload_binaries;
        pub use crate::format::bitcode::symbols::symbols;
    }
    #[cfg(feature = "cli")]
    pub mod edit {
        pub use crate::edit::container::rebuild;
        pub use crate::edit::{Edit, EditedImage, Effort, Encoding, ImageEdit, Recompression, Result as EditResult};
        pub use crate::edit::{archive, patch};
    }
    pub mod embed_record {
        pub use crate::format::embed_record::*;
    }
    pub mod embedded {
        pub use crate::format::embedded::*;
    }
    pub mod host {
        pub use crate::host::*;
    }
    #[cfg(feature = "cli")]
    pub mod parallel {
        pub use crate::parallel::set_threads;
    }
    #[cfg(feature = "cli")]
    pub mod report {
        pub use crate::report::{
            CodeSizes, Screen, inspection_json, inspection_table, json, selection_json, selection_text, table,
            verdict_cyclonedx, verdict_github, verdict_gitlab, verdict_junit, verdict_markdown, verdict_sarif,
            verdict_text,
        };
    }
    pub mod rewrite {
        pub use crate::rewrite::*;
    }
}

pub use bytes::{Budget, Limits, View};
pub use codec::Codec;
pub use error::{Error, Malformed, Result};
pub use host::{Host, HostError, ObjectFormat};
pub use inventory::{Container, File, Image};
pub use io::{Access, Input};
pub use scan::{ImageBytes, ImageRef, Scan};
#[cfg(feature = "files")]
pub use scan::{ScannedFile, Scanner};
pub use target::OffloadKind;
pub use wrap::WrapperBuilder;
