//! Makes, links, questions, judges and changes GPU device images.
//!
//! The crate `fatbin` has the interface for other programs. This one makes no promises about its own.
//!
//! A room uses only those above it:
//!
//! | room | a line belongs here if |
//! |---|---|
//! | [`embed`] | it makes containers and host objects from images and other files |
//! | [`link`] | it is about a link with device code |
//! | [`analyze`] | it answers a question about images, without a policy |
//! | [`check`] | it judges or records |
//! | [`edit`] | it changes finished files |

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

pub mod analyze;
#[cfg(feature = "full")]
pub mod check;
#[cfg(feature = "full")]
pub mod edit;
pub mod embed;
#[cfg(feature = "full")]
pub mod link;
