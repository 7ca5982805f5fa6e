//! Code that does not depend on what the program is about: errors, views of untrusted bytes, files, codecs, archives,
//! threads.

pub mod activity;
#[cfg(feature = "files")]
pub mod archive;
pub mod brackets;
pub mod bytes;
pub mod code;
pub mod codec;
pub mod content;
pub mod elf_layout;
pub mod error;
pub mod escape;
pub mod file_path;
#[allow(unsafe_code, reason = "memory maps; every unsafe block states why it is sound")]
pub mod io;
#[cfg(feature = "full")]
pub mod json;
mod malformed;
pub mod parallel;
#[cfg(feature = "full")]
pub mod pattern;
pub mod pe_layout;
pub mod range;
mod resource;
pub mod short_text;
#[cfg(feature = "files")]
pub mod signature;
pub mod spelling;
pub mod system_error;
pub mod universal;
