//! Code that does not depend on what the program is about: errors, views of untrusted bytes, files, codecs, archives,
//! threads.

#[cfg(feature = "files")]
pub mod activity;
pub mod archive;
pub mod bytes;
pub mod codec;
pub mod content;
pub mod error;
pub mod escape;
#[allow(unsafe_code, reason = "memory maps; every unsafe block states why it is sound")]
pub mod io;
pub mod parallel;
#[cfg(feature = "full")]
pub mod pattern;
pub mod spelling;
