//! Errors of `extract`.

use std::path::PathBuf;

use crate::base::code::{Code, Coded, ErrorClass, Remedy};
use crate::base::error::Error;
use crate::scan::filter::FilterError;

/// Reason why images cannot be extracted.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ExtractError {
    /// A file or an image cannot be read, or an output cannot be written.
    #[error(transparent)]
    File(#[from] Error),
    /// The filter accepts no image.
    #[error(transparent)]
    Filter(#[from] FilterError),
    /// An image is compressed with an unknown codec.
    #[error("{}: image at {offset:#x}: compressed with an unknown codec", path.display())]
    UnknownCodec {
        /// The file.
        path: PathBuf,
        /// Offset of the image in the file.
        offset: u64,
    },
    /// LTO-IR whose bytes NVIDIA's tools have scrambled.
    #[error("{}: LTO-IR not extracted: scrambled (images: {images})", path.display())]
    Scrambled {
        /// The file.
        path: PathBuf,
        /// Number of such images in it.
        images: usize,
    },
    /// A template gives two images the same name.
    #[error("{one} and {other} would both be written to {}", path.display())]
    SameName {
        /// The name.
        path: PathBuf,
        /// Description of the first image.
        one: String,
        /// Description of the second image.
        other: String,
    },
    /// Several images match and there is one output file.
    #[error("{}: more than one image matches: {images}; select one of them, or write to a directory with -o", path.display())]
    SeveralMatches {
        /// The output file.
        path: PathBuf,
        /// Descriptions of the images.
        images: String,
    },
}

#[doc(hidden)]
impl Coded for ExtractError {
    fn class(&self) -> ErrorClass {
        match self {
            ExtractError::File(error) => error.class(),
            ExtractError::Filter(error) => error.class(),
            ExtractError::UnknownCodec { .. } | ExtractError::Scrambled { .. } => {
                Code::StoredOnly.with(Remedy::ExtractStored)
            }
            ExtractError::SameName { .. } => Code::SameOutput.with(Remedy::DistinguishNames),
            ExtractError::SeveralMatches { .. } => Code::SeveralMatches.into(),
        }
    }
}
