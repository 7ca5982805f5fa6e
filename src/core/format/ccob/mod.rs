//! The compressed offload bundle, magic `CCOB`: a header and one zstd or zlib stream that decompresses to a bundle.
//!
//! clang-offload-bundler writes it with `-compress`; HIP programs of ROCm 6 and later contain such bundles back to back
//! in `.hip_fatbin`. The header states the size. Four readers searched for the next magic instead and cut bundles in
//! half, because `CCOB` does occur in compressed bytes. The header also states the decompressed size and a hash of the
//! decompressed bytes, which is verified here whenever a whole bundle is decompressed.
//!
//! Source: Clang Offload Bundler document, Compression and Decompression; LLVM 22.1.8 for the widths and for version 1.

mod raw;
mod read;
mod write;

#[cfg(test)]
mod tests;

pub use super::stored_hash::{StoredHash, hash};
pub use raw::{Header, MAGIC, Version};
pub use read::{Ccob, Failure};
pub use write::{CcobOutput, CompressError, compress};

use super::{Compressed, CompressedContents, ContainerType, ContainerView, Contents};
use crate::base::bytes::View;
use crate::base::error::Malformed;

/// Reads the compressed bundle at the view's start as a container that must be decompressed.
pub fn container(view: View<'_>) -> Result<ContainerView<'_>, Malformed> {
    let Ccob { version, codec, full_size, hash, stored, view } = Ccob::read(view)?;
    let prefix = Vec::new();
    let hash = Some(hash);
    let inner = CompressedContents::Container;
    let contents = Contents::Compressed(Compressed { codec, stored, full_size, prefix, hash, contents: inner });
    Ok(ContainerView { container_type: ContainerType::Ccob, version: Some(version.number().into()), view, contents })
}
