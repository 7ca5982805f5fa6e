//! How containers store bytes: plainly, or compressed by one of the codecs that offload tools use.
//!
//! Compressed bytes come out of files that anyone may have made. So whoever decompresses says how large the result has
//! to be, because every container states it, and nothing beyond that is produced: a stream that would yield more is an
//! error, as is one that yields less. A statement above the [`Limit`] is not even tried.

mod compress;
mod decompress;
pub mod md5;
mod stream;

pub use compress::{Compression, Counted, compress};
pub use decompress::{Limit, decompress, decompress_into, decompress_start};
pub use stream::{Stream, ZSTD_MAGIC, check_start, frame_content_size, stream_size};

/// A way of storing; the names are those of `fatbin scan --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// As they are.
    None,
    /// An LZ4 block without a frame.
    Lz4,
    /// Zstandard frames (RFC 8878).
    Zstd,
    /// A zlib stream (RFC 1950).
    Zlib,
    /// In a way that the container's documentation and this program do not know.
    Opaque,
}

impl Codec {
    /// The name that users see.
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

#[cfg(test)]
mod tests;
