//! Device code inside host files: put in, found, taken out, without LLVM.
//!
//! Programs that use GPUs carry *device images* inside *host files*. This crate writes the host objects that register
//! them ([`wrap`]), finds them in finished programs ([`scan`]) and takes them out ([`ops::extract`]); the program `fatbin`
//! is a thin command line around it.
//!
//! # The map
//!
//! Data goes down this list on its way in (bytes, views of containers, an inventory, text) and up on its way out (images,
//! a plan, an object file). Each room uses only rooms that stand above it; a test keeps it so.
//!
//! | room | what lives there | it knows nothing of |
//! |---|---|---|
//! | [`error`], [`bytes`], [`content`] | what can go wrong; views of untrusted bytes; bytes on their way out | everything else |
//! | [`parallel`] | work on several items at a time, told in order | what the work is |
//! | [`codec`] | compression, and decompression to a stated size | what is compressed |
//! | [`io`] | mapped inputs, the sink that moves payloads, outputs that appear whole or not at all | formats |
//! | [`archive`] | members of archives, as views | formats, paths |
//! | [`target`] | offload kinds, triples, processors, bundle entry ids | files |
//! | [`mod@format`] | one folder per container: layout, reader, writer | paths, host files |
//! | [`host`] | a host object as plain data, its emission as ELF, a file of code per architecture | offload ABIs |
//! | [`rewrite`] | host objects with sections added or removed, images with notes added | offload ABIs |
//! | [`wrap`] | ABI generations as a table, a file per offload kind | architectures, ELF |
//! | [`inspect`] | what is inside an image: kernels, what they take of a device, debug information | containers, files |
//! | [`inventory`] | the result model: file, container, image | how it is printed |
//! | [`select`] | which image a runtime would take on a device, and why no other | files, printing |
//! | [`scan`] | finding containers: by structure, then by magic | printing |
//! | [`survey`] | all that is known of a file: its inventory, and what is inside its images | how it is judged |
//! | [`check`] | a policy, its rules, and what they find in that | where it came from, how it is printed |
//! | [`lock`] | a reviewable record of device code, and what became of an old one | whether it is files or a record |
//! | [`ops`] | what a command does with files | command-line syntax |
//! | [`report`] | an inventory as table, JSON or page | where it came from |
//! | [`cli`] | subcommands, messages, exit statuses | |
//!
//! # Listing a file
//!
//! This is `examples/list.rs`; `cargo run --example list FILE` runs it.
//!
//! ```no_run
#![doc = include_str!("../examples/list.rs")]
//! ```
//!
//! Nothing here opens files behind anybody's back: [`scan::scan`] takes a mapped [`io::Input`] as well as a
//! [`bytes::View`] of bytes in memory, readers of formats return views of what they were given, and only [`io`], the
//! functions of [`ops`] that are given paths, and [`scan::each_part`] for the members of archives touch the disk.

#![deny(unsafe_code)]

#[cfg(feature = "files")]
mod archive;
pub mod bytes;
#[cfg(feature = "check")]
pub mod check;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod cli;
pub mod codec;
mod content;
pub mod error;
pub mod format;
pub mod host;
#[cfg(feature = "inspect")]
pub mod inspect;
pub mod inventory;
#[allow(unsafe_code, reason = "memory maps; every unsafe block states why it is sound")]
pub mod io;
#[cfg(feature = "check")]
pub mod lock;
#[cfg(feature = "files")]
pub mod ops;
mod parallel;
#[cfg(feature = "cli")]
mod report;
#[cfg_attr(not(feature = "files"), allow(dead_code, reason = "bundles of objects are written to files"))]
mod rewrite;
pub mod scan;
pub mod select;
#[cfg(feature = "inspect")]
pub mod survey;
pub mod target;
#[cfg(all(test, feature = "cli"))]
mod tidy;
pub mod wrap;

/// Modules without promises, for the tests and fuzz targets of this repository.
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod internals {
    pub mod archive {
        pub use crate::archive::*;
    }
    pub mod content {
        pub use crate::content::*;
    }
    pub mod rewrite {
        pub use crate::rewrite::*;
    }
}
