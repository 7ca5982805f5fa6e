//! How a container stores an image's bytes.

/// A way of storing; the names are those of `fatbin scan --json`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Codec {
    /// As they are.
    None,
    /// An LZ4 block without a frame.
    Lz4,
    /// A Zstandard frame.
    Zstd,
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
            Codec::Opaque => "opaque",
        }
    }
}
