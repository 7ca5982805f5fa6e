//! Writing: the stream first, then the header, which states its size and the hash of the uncompressed bytes.

use std::io::{self, Write};

use super::raw::{Header, Version};
use crate::base::bytes::total;
use crate::base::code::{Code, Coded, ErrorClass};
use crate::base::codec::{self, Compression, Counted};
use crate::base::content::Content;
use crate::base::parallel::spawn_spare;
use crate::format::stored_hash::hash;

/// Header and figures of a compressed bundle.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CcobOutput {
    /// Bytes that precede the stream.
    pub header: Vec<u8>,
    /// Size of the stream in bytes.
    pub stored_size: u64,
    /// Size of the compressed bundle in bytes.
    pub size: u64,
    /// Hash of the uncompressed bytes.
    pub hash: u64,
}

/// Reason why a bundle could not be compressed.
#[derive(Debug, thiserror::Error)]
pub enum CompressError {
    /// A size exceeds the fields of the version.
    #[error("{size} bytes exceed the limit of version {} (4294967295); use version 3", .version.number())]
    TooLarge {
        /// The size in bytes.
        size: u64,
        /// The version.
        version: Version,
    },
    /// Writing the stream failed.
    #[error("{0}")]
    Io(#[from] io::Error),
}

impl Coded for CompressError {
    fn class(&self) -> ErrorClass {
        match self {
            CompressError::TooLarge { .. } => Code::UnreadableOutput.into(),
            CompressError::Io(_) => Code::Internal.into(),
        }
    }
}

/// Compresses a bundle and writes the stream to `to`. A second thread computes the hash. `progress` is called
/// repeatedly with the number of bytes compressed since the last call. Version 1 does not state where a bundle ends and
/// is only for readers of LLVM 18.
pub fn compress(
    content: &Content,
    how: Compression,
    version: Version,
    to: impl Write,
    progress: &mut dyn FnMut(u64),
) -> Result<CcobOutput, CompressError> {
    let fits =
        |size| if size <= version.largest_size() { Ok(size) } else { Err(CompressError::TooLarge { size, version }) };
    let full_size = fits(content.size())?;
    let mut to = Counted::new(to);
    let hash = std::thread::scope(|scope| {
        let hasher = spawn_spare(scope, || hash(content.runs()));
        let pieces = content.runs().flat_map(|run| run.chunks(PIECE)).inspect(|piece| progress(piece.len() as u64));
        let result = codec::compress(pieces, full_size, how, &mut to);
        result.map(|_| match hasher {
            Some(hasher) => hasher.join().expect("hashing cannot fail"),
            None => hash(content.runs()),
        })
    })?;
    let stored_size = to.size();
    // A size beyond 64 bits fits into no version that states less.
    let size = fits(total([version.header_size(), stored_size]))?;
    let total_size = (version != Version::One).then_some(size);
    let header = Header { version, codec: how.codec, total_size, full_size, hash }.to_bytes();
    Ok(CcobOutput { header, stored_size, size, hash })
}

/// Number of bytes between two reports of progress.
const PIECE: usize = 1 << 20;
