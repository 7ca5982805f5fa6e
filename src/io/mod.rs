//! Files: mapped inputs, outputs that replace a file only when they are complete, and the sink that copies payloads between
//! the two.
//!
//! This is the only module that accesses files, and the only one with `unsafe` in it. It knows no format.

#[cfg(feature = "cli")]
mod attributes;
#[cfg(feature = "cli")]
mod children;
#[cfg(feature = "files")]
mod commit;
#[cfg(feature = "inspect")]
mod created_directory;
mod descriptor;
#[cfg(feature = "files")]
mod destination;
#[cfg(feature = "files")]
mod directory;
#[cfg(feature = "files")]
mod existing;
#[cfg(feature = "cli")]
mod extended_attributes;
#[cfg(feature = "files")]
mod file_set;
mod file_state;
#[cfg(feature = "files")]
mod file_uri;
#[cfg(feature = "files")]
mod hold;
#[cfg(all(target_os = "linux", feature = "files"))]
mod holes;
mod input;
#[cfg(feature = "files")]
mod journal;
#[cfg(feature = "map")]
mod mapping;
#[cfg(feature = "files")]
mod output;
#[cfg(feature = "map")]
mod registry;
#[cfg(feature = "hash")]
mod reused;
#[cfg(feature = "cli")]
mod scratch;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod signals;
mod sink;
#[cfg(feature = "files")]
mod standard_input;
#[cfg(feature = "cli")]
#[doc(hidden)]
pub mod standard_output;
#[cfg(feature = "files")]
mod temporary;
#[cfg(feature = "files")]
mod undo;

#[cfg(feature = "cli")]
pub use attributes::{Attribute, Attributes, disk_size};
#[cfg(feature = "cli")]
pub(crate) use children::ends_with_parent;
#[cfg(feature = "files")]
pub use commit::commit_all;
#[cfg(feature = "inspect")]
pub(crate) use created_directory::CreatedDirectories;
#[cfg(feature = "files")]
pub use destination::STANDARD_OUTPUT;
#[cfg(feature = "cli")]
pub(crate) use destination::is_standard_output;
#[cfg(feature = "files")]
pub(crate) use directory::files_below;
#[cfg(feature = "cli")]
pub use extended_attributes::LostAttribute;
#[cfg(feature = "files")]
pub use file_set::{FileSet, OutputKind, OutputPath};
#[cfg(feature = "files")]
pub(crate) use file_state::FileState;
#[cfg(feature = "cli")]
pub(crate) use file_state::is_same_file;
#[cfg(feature = "cli")]
pub(crate) use file_state::{FileIdentity, file_identity};
#[cfg(feature = "files")]
pub use file_uri::FileUri;
#[cfg(all(test, feature = "map"))]
pub(crate) use input::MAPPED;
pub use input::{Access, Input};
#[cfg(feature = "cli")]
pub(crate) use journal::{Recovered, recover, take_unfinished};
#[cfg(feature = "files")]
pub use output::Output;
#[cfg(feature = "hash")]
pub(crate) use reused::release_beyond;
#[cfg(feature = "cli")]
pub(crate) use scratch::ScratchDirectory;
pub use sink::Sink;
#[cfg(feature = "files")]
pub use standard_input::STANDARD_INPUT;

/// Returns the argument or path with these bytes, a part of another one that begins and ends beside an ASCII character. Invalid
/// UTF-8 is replaced on systems whose strings are not bytes, where it cannot have come from an argument.
#[cfg(feature = "cli")]
pub(crate) fn os_string(bytes: &[u8]) -> std::ffi::OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes.to_owned());
    #[cfg(not(unix))]
    return String::from_utf8_lossy(bytes).into_owned().into();
}
