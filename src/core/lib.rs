//! Finds and reads GPU device images: bytes, formats, machines, scanners.
//!
//! The crate `fatbin` has the interface for other programs. This one makes no promises about its own.
//!
//! A room uses only those above it:
//!
//! | room | a line belongs here if |
//! |---|---|
//! | [`base`] | it would be the same in a program about something else |
//! | [`target`] | it is about kinds, triples, processors, IDs, and which code runs where |
//! | [`mod@format`] | it knows the bytes of a container |
//! | [`host`] | it writes or rewrites ELF, COFF, Mach-O or LLVM IR |
//! | [`image`] | it looks inside a device image |
//! | [`scan`] | it finds images in files, lists or extracts them |

#![deny(unsafe_code)]
#![allow(rustdoc::private_intra_doc_links, reason = "the documentation is for those who change the code")]
#![allow(
    clippy::len_without_is_empty,
    clippy::new_without_default,
    reason = "methods are written when a member calls them"
)]
#![cfg_attr(
    not(feature = "full"),
    allow(dead_code, unused_imports, reason = "what other members need depends on their features")
)]

pub mod base;
pub mod format;
pub mod host;
#[cfg(feature = "full")]
pub mod image;
pub mod scan;
pub mod target;
