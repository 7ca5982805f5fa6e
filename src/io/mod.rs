//! Files: mapped inputs, outputs that appear whole or not at all, and the sink that moves payloads between the two.
//!
//! This is the only room that talks to the operating system, and the only one with `unsafe` in it. It knows no format.

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
