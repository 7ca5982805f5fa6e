pub mod bytes;
pub mod content;
pub mod error;
pub mod format;
pub mod host;
pub mod io;
pub mod target;
pub mod wrap;
