//! Files: mapped inputs, outputs that replace a file only when they are complete, and the sink that copies payloads between
//! the two.
//!
//! This is the only module that accesses files, and the only one with `unsafe` in it. It knows no format.

#[cfg(feature = "files")]
mod destination;
#[cfg(feature = "files")]
mod directory;
#[cfg(feature = "files")]
mod existing;
mod file_state;
#[cfg(feature = "files")]
mod file_uri;
mod input;
#[cfg(feature = "map")]
mod mapping;
#[cfg(feature = "files")]
mod output;
#[cfg(feature = "map")]
mod registry;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod signals;
mod sink;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod standard_output;
#[cfg(feature = "files")]
mod temporary;
#[cfg(feature = "files")]
mod undo;

#[cfg(feature = "files")]
pub use destination::STANDARD_OUTPUT;
#[cfg(feature = "files")]
pub(crate) use directory::files_below;
#[cfg(feature = "files")]
pub(crate) use file_state::{FileState, is_same_file};
#[cfg(feature = "files")]
pub use file_uri::FileUri;
#[cfg(all(test, feature = "map"))]
pub(crate) use input::MAPPED;
#[cfg(feature = "files")]
pub use input::STANDARD_INPUT;
pub use input::{Access, Input};
#[cfg(feature = "files")]
pub use output::{Output, commit_all};
pub use sink::Sink;
