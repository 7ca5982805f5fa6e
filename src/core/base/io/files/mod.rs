//! Mapped inputs, and outputs that replace a file only when they are complete.

mod attributes;
mod children;
mod commit;
mod created_directory;
mod descriptor;
mod destination;
mod directory;
mod directory_locks;
mod existing;
mod extended_attributes;
mod file_set;
mod file_state;
mod first_output;
mod hold;
#[cfg(target_os = "linux")]
mod holes;
mod input;
mod journal;
mod mapping;
mod output;
mod output_name;
mod registry;
mod scratch;
#[doc(hidden)]
pub mod signals;
mod sink_output;
mod sorted_texts;
mod spool;
mod standard_input;
#[doc(hidden)]
pub mod standard_output;
mod temporary;
mod undo;

pub use attributes::{Attribute, Attributes, disk_size};
pub use children::ends_with_parent;
pub use commit::commit_all;
pub use destination::STANDARD_OUTPUT;
pub use destination::is_standard_output;
pub use directory::files_below;
pub use extended_attributes::LostAttribute;
pub(crate) use extended_attributes::extended_attribute;
pub use file_set::{FileSet, OutputKind, OutputPath};
pub use file_state::FileState;
pub use file_state::is_same_file;
pub use file_state::{FileIdentity, file_identity};
#[cfg(test)]
pub(crate) use input::MAPPED;
pub use input::{Access, Input};
pub use journal::{Recovered, recover, take_unfinished};
pub use output::Output;
pub use output_name::{InvalidName, OutputName};
pub use scratch::ScratchDirectory;
pub use sorted_texts::SortedTexts;
pub use spool::{SharedSpool, Spool, Spooled};
pub use standard_input::STANDARD_INPUT;

/// Converts bytes to an argument or path. They must be cut from another argument or path, next to ASCII characters.
/// Invalid UTF-8 is replaced on systems whose strings are not bytes; it cannot have come from an argument there.
pub fn os_string(bytes: &[u8]) -> std::ffi::OsString {
    #[cfg(unix)]
    return std::os::unix::ffi::OsStringExt::from_vec(bytes.to_owned());
    #[cfg(not(unix))]
    return String::from_utf8_lossy(bytes).into_owned().into();
}
