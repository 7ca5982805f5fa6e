//! Compression of payloads, with the codecs and levels of fatbinary.

use std::io;

use super::raw::codec_flag;
use crate::base::code::{Code, Coded, ErrorClass};
use crate::base::codec::{Codec, Compression, compress_block};
use crate::base::content::Content;

/// Compression levels of fatbinary 13.5. At these levels, libzstd 1.5.7 and LZ4 HC produce the same bytes as fatbinary.
pub mod level {
    /// zstd, in the default mode.
    pub const ZSTD: i32 = 5;
    /// zstd, with `--compress-mode=size`.
    pub const ZSTD_SIZE: i32 = 19;
    /// LZ4, with `--compress-mode=speed`.
    pub const LZ4: i32 = 3;
}

/// Reason why a container cannot be written.
#[derive(Debug, thiserror::Error)]
pub enum WriteError {
    /// A size that does not fit its field.
    #[error("too large: a size does not fit its field")]
    TooLarge,
    /// A codec that entries cannot have.
    #[error("{} is not a codec of CUDA fat binaries (available: lz4, zstd)", .0.name())]
    UnsupportedCodec(Codec),
    /// LTO-IR that would be compressed.
    #[error("LTO-IR cannot be compressed: its compressed form is not known")]
    CompressedLtoIr,
    /// An image of a group that cannot become a separate entry, because its reader would take the padding for a part of
    /// it.
    #[error("an image of {size} bytes does not state its end, and cannot be stored without compression")]
    Unaligned {
        /// Size of the image, not a multiple of 8.
        size: u64,
    },
    /// An error of the codec's library.
    #[error("cannot compress: {0}")]
    Compress(io::Error),
}

impl Coded for WriteError {
    fn class(&self) -> ErrorClass {
        match self {
            WriteError::TooLarge => Code::UnreadableOutput.into(),
            WriteError::UnsupportedCodec(_) | WriteError::CompressedLtoIr | WriteError::Unaligned { .. } => {
                Code::UnsupportedEncoding.into()
            }
            WriteError::Compress(_) => Code::Internal.into(),
        }
    }
}

/// Size of a structure of a fixed size and the bytes that follow it, for a field of 32 bits.
pub(super) fn size_with(fixed: u64, following: u64) -> Result<u32, WriteError> {
    fixed.checked_add(following).and_then(|size| u32::try_from(size).ok()).ok_or(WriteError::TooLarge)
}

/// Compresses a payload.
pub(super) fn compress(payload: &Content<'_>, how: Compression) -> Result<Vec<u8>, WriteError> {
    if codec_flag(how.codec) == 0 {
        return Err(WriteError::UnsupportedCodec(how.codec));
    }
    compress_block(&payload.to_vec(), how).map_err(WriteError::Compress)
}
