//! Errors of changing files.

use std::io;

use crate::error::{Error, Malformed};
use crate::format::ccob::CompressError;
use crate::format::cuda_fatbin::WriteError;

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
    /// A container that has no such encoding.
    #[error("a container of type {container} has no such encoding")]
    UnsupportedEncoding {
        /// Type of the container.
        container: &'static str,
    },
    /// A codec that the containers of a type do not have.
    #[error("{codec} is not a codec of containers of type {container}")]
    UnsupportedCodec {
        /// Name of the codec.
        codec: &'static str,
        /// Type of the container.
        container: &'static str,
    },
    /// Compression in a version of offload binaries without it.
    #[error("offload binaries of version {version} are not compressed; use version 3")]
    UncompressedVersion {
        /// The version.
        version: u32,
    },
    /// An entry without an image in an offload binary that is to have version 1, which has no such entries.
    #[error("an entry has properties and no image: not representable in version 1 of offload binaries; use version 2")]
    MetadataEntry,
    /// A size that does not fit its field.
    #[error("too large: a size does not fit its field")]
    TooLarge,
    /// A CUDA fat binary cannot be written.
    #[error(transparent)]
    CudaFatbin(#[from] WriteError),
    /// A bundle cannot be compressed.
    #[error(transparent)]
    CompressBundle(CompressError),
    /// Compression failed.
    #[error("cannot compress: {0}")]
    Compress(io::Error),
}
