//! Storage of bytes in containers: uncompressed, or compressed by one of the codecs that offload tools use.
//!
//! Compressed bytes come from untrusted files. Callers therefore pass the decompressed size that the container states,
//! and no more than that is produced. A stream that yields more or less is an error. The stated size is charged to the
//! budget of the input before anything is decompressed.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]

mod block;
mod compress;
mod decompress;
mod lz4_start;
mod stream;
pub(crate) mod window;

pub use block::compress_block;
pub use compress::{Compression, Counted, LevelError, compress};
pub use decompress::{charge, decompress, decompress_charged, decompress_into};
pub use stream::pad_with_skippable_frame;
pub use stream::{Stream, ZSTD_MAGIC, check_start, decompress_start, frame_content_size};
pub use stream::{skippable_frame_size, stream_size};

/// Codec of stored bytes, named as in `fatbin scan --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Codec {
    /// Uncompressed.
    None,
    /// An LZ4 block without a frame.
    Lz4,
    /// Zstandard frames (RFC 8878).
    Zstd,
    /// A zlib stream (RFC 1950).
    Zlib,
    /// Compressed by a method that neither the container's documentation nor this program knows.
    Opaque,
}

impl Codec {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Codec::None => "none",
            Codec::Lz4 => "lz4",
            Codec::Zstd => "zstd",
            Codec::Zlib => "zlib",
            Codec::Opaque => "opaque",
        }
    }
}

/// Returns whether the bytes of an image with this codec have to be decompressed. Not every container states a codec.
pub fn is_compressed(codec: Option<Codec>) -> bool {
    !matches!(codec, None | Some(Codec::None))
}

#[cfg(test)]
mod tests;
