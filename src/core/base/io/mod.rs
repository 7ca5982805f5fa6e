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

/// Offset of a slice in the bytes around it; `None` for a slice of other bytes, or of none.
fn offset_in(bytes: &[u8], part: &[u8]) -> Option<u64> {
    let bytes = bytes.as_ptr_range();
    let part = part.as_ptr_range();
    let is_inside = bytes.start <= part.start && part.end <= bytes.end && part.start < part.end;
    is_inside.then(|| part.start as u64 - bytes.start as u64)
}
