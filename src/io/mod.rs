//! Files: mapped inputs, outputs that appear whole or not at all, and the sink that moves payloads between the two.
//!
//! This is the only room that talks to the operating system, and the only one with `unsafe` in it. It knows no format.

mod file_uri;
mod input;
mod output;
mod sink;

pub use file_uri::FileUri;
#[cfg(test)]
pub(crate) use input::MAPPED;
pub use input::{Access, Input, STANDARD_INPUT};
pub use output::Output;
pub use sink::Sink;
