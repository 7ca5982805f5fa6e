//! Errors of build scripts.

use std::path::PathBuf;

use crate::embed::files::EmbedError;
use crate::embed::wrap::WrapError;
use fatbin_core::base::error::Error;
use fatbin_core::host::HostError;

/// Error of a build script.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BuildError {
    /// The images cannot be wrapped.
    #[error(transparent)]
    Wrap(#[from] WrapError),
    /// The files cannot be embedded.
    #[error(transparent)]
    #[doc(hidden)]
    Embed(EmbedError),
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// The target of the build is not a supported host.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A variable that cargo sets for build scripts is missing.
    #[error("{name}: environment variable not set; call this from a build script that cargo runs")]
    NotABuildScript {
        /// Name of the variable.
        name: &'static str,
    },
    /// Nothing to compile.
    #[error("{library}: no files; add one with {method}()")]
    Empty {
        /// Name of the library.
        library: String,
        /// Method that adds a file.
        method: &'static str,
    },
    /// A library name that does not fit into file names or directives of cargo.
    #[error("{name:?}: invalid library name; use letters, digits, - and _")]
    InvalidName {
        /// The name.
        name: String,
    },
    /// A path that the directives of cargo cannot contain: they are lines in UTF-8.
    #[error("{path:?}: path is not UTF-8, or has a line break; rename the file")]
    InvalidPath {
        /// The path.
        path: PathBuf,
    },
}
