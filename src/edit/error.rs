//! Errors of changing files.

use crate::error::{Error, Malformed};

/// Result of changing a file.
pub type Result<T, E = EditError> = std::result::Result<T, E>;

/// Error of changing a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// Bytes that violate their format; the caller knows the file.
    #[error(transparent)]
    Malformed(#[from] Malformed),
}
