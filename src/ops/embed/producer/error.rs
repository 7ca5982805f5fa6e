//! Errors of producers.

use std::error::Error as StdError;
use std::path::PathBuf;

use crate::embed::ImageError;
use crate::embed::bundle::BundleError;
use crate::embed::files::EmbedError;
use fatbin_core::base::error::Error;
use fatbin_core::host::HostError;

/// Reason why a container, an object or a changed file cannot be produced.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ProducerError {
    /// An input cannot be read, is malformed, or the output is too large.
    #[error(transparent)]
    File(#[from] Error),
    /// An image does not suit the container.
    #[error(transparent)]
    Image(ImageError),
    /// The file has no device images.
    #[error("{}: no device images", path.display())]
    NoImages {
        /// Path of the file.
        path: PathBuf,
    },
    /// A rebuilt container does not fit into its place in a linked file.
    #[error("{}: container at {offset:#x}: {needed} bytes do not fit into {room}", path.display())]
    NoRoom {
        /// Path of the file.
        path: PathBuf,
        /// Offset of the container in the file.
        offset: u64,
        /// Size of the rebuilt container, in bytes.
        needed: u64,
        /// Size of its place, in bytes.
        room: u64,
    },
    /// The request is contradictory, or not supported.
    #[error(transparent)]
    Refused(Box<dyn StdError + Send + Sync>),
}

impl ProducerError {
    /// Creates the error about a request.
    pub(crate) fn refused(cause: impl Into<Box<dyn StdError + Send + Sync>>) -> Self {
        ProducerError::Refused(cause.into())
    }
}

impl From<ImageError> for ProducerError {
    fn from(error: ImageError) -> Self {
        match error {
            ImageError::File(error) => ProducerError::File(error),
            error => ProducerError::Image(error),
        }
    }
}

#[doc(hidden)]
impl From<BundleError> for ProducerError {
    fn from(error: BundleError) -> Self {
        match error {
            BundleError::File(error) => ProducerError::File(error),
            error => ProducerError::refused(error),
        }
    }
}

#[doc(hidden)]
impl From<EmbedError> for ProducerError {
    fn from(error: EmbedError) -> Self {
        match error {
            EmbedError::File(error) => ProducerError::File(error),
            error => ProducerError::refused(error),
        }
    }
}

impl From<HostError> for ProducerError {
    fn from(error: HostError) -> Self {
        ProducerError::refused(error)
    }
}
