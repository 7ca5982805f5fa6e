//! Inputs, outputs, and the sink that copies payloads between the two.
//!
//! This is the only module that opens files, and the only one with `unsafe` in it. It knows no format.

mod file_uri;
#[cfg(feature = "files")]
mod files;
#[cfg(not(feature = "files"))]
mod memory;
mod reused;
mod sink;

pub use file_uri::FileUri;
#[cfg(feature = "files")]
pub use files::*;
#[cfg(not(feature = "files"))]
pub use memory::{Access, Input};
pub(crate) use reused::release_beyond;
pub use sink::Sink;
