//! Writing: the stream first, then the header that states its size and the hash of what went in.

use std::io::{self, Write};

use super::raw::{Header, Version};
use super::read::hash;
use crate::codec::{self, Compression, Counted};
use crate::content::Content;

/// What a bundle has become.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Written {
    /// The bytes that belong in front of the stream.
    pub header: Vec<u8>,
    /// The stream.
    pub stored_size: u64,
    pub hash: u64,
}

/// Why a bundle could not be compressed.
#[derive(Debug, thiserror::Error)]
pub enum Refused {
    #[error("{size} bytes are more than version {} can state (4294967295); version 3 can", .version.number())]
    TooLarge { size: u64, version: Version },
    #[error("{0}")]
    Io(#[from] io::Error),
}

/// Compresses a bundle; the stream goes to `to`. Hashing goes on beside it in a thread of its own. `taken` is told how many
/// bytes more have gone in, time and again.
///
/// # Panics
/// If asked for version 1, which nobody should write any more: where it ends is not stated.
pub fn compress(
    content: &Content,
    how: Compression,
    version: Version,
    to: impl Write,
    taken: &mut dyn FnMut(u64),
) -> Result<Written, Refused> {
    assert_ne!(version, Version::One);
    let fits = |size| if size <= version.largest_size() { Ok(size) } else { Err(Refused::TooLarge { size, version }) };
    let full_size = fits(content.size())?;
    let mut to = Counted::new(to);
    let hash = std::thread::scope(|scope| {
        let hasher = scope.spawn(|| hash(content.runs()));
        let pieces = content.runs().flat_map(|run| run.chunks(PIECE)).inspect(|piece| taken(piece.len() as u64));
        let result = codec::compress(pieces, full_size, how, &mut to);
        let hash = hasher.join().expect("hashing cannot fail");
        result.map(|_| hash)
    })?;
    let stored_size = to.size();
    let total_size = Some(fits(version.header_size() + stored_size)?);
    let header = Header { version, codec: how.codec, total_size, full_size, hash }.to_bytes();
    Ok(Written { header, stored_size, hash })
}

/// How much goes in between two reports.
const PIECE: usize = 1 << 20;
