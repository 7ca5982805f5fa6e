//! Files: mapped inputs, outputs that replace a file only when they are complete, and the sink that copies payloads between
//! the two.
//!
//! This is the only module that accesses files, and the only one with `unsafe` in it. It knows no format.

#[cfg(feature = "files")]
mod existing;
#[cfg(feature = "files")]
mod file_uri;
mod input;
#[cfg(feature = "files")]
mod output;
mod sink;

#[cfg(feature = "files")]
pub use file_uri::FileUri;
#[cfg(all(test, feature = "map"))]
pub(crate) use input::MAPPED;
#[cfg(feature = "files")]
pub use input::STANDARD_INPUT;
pub use input::{Access, Input};
#[cfg(feature = "files")]
pub use output::Output;
pub use sink::Sink;
