//! Reading: the extent of a compressed bundle, its contents, and verification of their hash.

use std::sync::mpsc;

use super::raw::{Header, TOTAL_SIZE_OFFSET, Version};
use crate::base::bytes::View;
use crate::base::codec::{self, Codec, Stream};
use crate::base::error::{Cause, Malformed};
use crate::base::parallel::spawn_spare;
use crate::format::stored_hash::{StoredHash, first_bytes};
use md5::{Digest, Md5};

/// A checked header and the stream that follows it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Ccob<'data> {
    /// Version of the format.
    pub version: Version,
    /// Codec of the stream.
    pub codec: Codec,
    /// Size of the uncompressed bytes.
    pub full_size: u64,
    /// Stated hash of the uncompressed bytes.
    pub hash: StoredHash,
    /// The stream.
    pub stored: View<'data>,
    /// Header and stream.
    pub view: View<'data>,
}

/// Reason why reading decompressed bytes stopped.
#[derive(Debug)]
pub enum Failure<E> {
    /// The bundle is malformed.
    Malformed(Malformed),
    /// An error of the function that consumes them.
    Consumer(E),
}

impl<E> From<Malformed> for Failure<E> {
    fn from(malformed: Malformed) -> Self {
        Failure::Malformed(malformed)
    }
}

impl<'data> Ccob<'data> {
    /// Reads the bundle at the start of a view that may extend beyond it. The bundle ends at its stated size: the bytes
    /// of a magic may occur inside it. Version 1 does not state a size, so the stream itself must be followed.
    pub fn read(view: View<'data>) -> Result<Self, Malformed> {
        let header = Header::read(view)?;
        let header_size = header.version.header_size();
        let stream = view.from(header_size);
        codec::check_start(header.codec, stream)?;
        let total_size = match header.total_size {
            Some(size) => size,
            None => {
                let size = codec::stream_size(header.codec, stream, header.full_size)?;
                stream.prefix("compressed bundle", size)?.range_in(view).end
            }
        };
        let whole = view.prefix(view.field("compressed bundle total size", TOTAL_SIZE_OFFSET), total_size)?;
        if total_size <= header_size {
            let cause = Cause::Unexpected { value: total_size, expected: "more than the size of the header" };
            return Err(view.malformed("compressed bundle total size", TOTAL_SIZE_OFFSET, cause));
        }
        let stored = whole.from(header_size);
        // Again, because a stated size may end the stream in these bytes.
        codec::check_start(header.codec, stored)?;
        Ok(Ccob {
            version: header.version,
            codec: header.codec,
            full_size: header.full_size,
            hash: StoredHash { value: header.hash, offset: view.from(header.version.hash_offset()).start() },
            stored,
            view: whole,
        })
    }

    /// Decompresses the first bytes of the bundle, at most `size` of them, without verifying them: that takes all
    /// bytes.
    pub fn start(&self, size: usize) -> Result<Vec<u8>, Malformed> {
        codec::decompress_start(self.codec, self.stored, self.full_size, size)
    }

    /// Decompresses and verifies the bundle.
    pub fn decompress(&self) -> Result<Vec<u8>, Malformed> {
        let full = codec::decompress(self.codec, self.stored, self.full_size)?;
        self.hash.verify(&full)?;
        Ok(full)
    }

    /// Calls `consume` with one piece after another of the decompressed bundle, which is never in memory as a whole.
    /// The hash is verified only when this returns: if it returns an error, the caller must discard the pieces.
    ///
    /// A second thread computes the hash, because MD5 takes as long as everything else together.
    pub fn each_piece<E>(&self, consume: impl FnMut(&[u8]) -> Result<(), E>) -> Result<(), Failure<E>> {
        let stream = Stream::new(self.codec, self.stored, self.full_size)?;
        let (to_hash, pieces) = mpsc::sync_channel::<Vec<u8>>(PIECES);
        let (to_fill, hashed) = mpsc::channel::<Vec<u8>>();
        let first_to_fill = to_fill.clone();
        let hash = std::thread::scope(|scope| {
            let hasher = spawn_spare(scope, move || {
                let mut hash = Md5::new();
                for piece in pieces {
                    hash.update(&piece);
                    // After the last piece, no empty piece is needed.
                    let _ = to_fill.send(piece);
                }
                first_bytes(hash)
            });
            let Some(hasher) = hasher else {
                let mut hash = Md5::new();
                pieces_of(stream, consume, |piece| {
                    hash.update(&piece);
                    piece
                })?;
                return Ok(first_bytes(hash));
            };
            for _ in 1..PIECES {
                first_to_fill.send(vec![0; PIECE]).expect("the receiver exists");
            }
            drop(first_to_fill);
            pieces_of(stream, consume, move |piece| {
                to_hash.send(piece).expect("the thread hashes until this end is closed");
                hashed.recv().expect("the thread returns each piece")
            })?;
            Ok::<_, Failure<E>>(hasher.join().expect("hashing cannot fail"))
        })?;
        Ok(self.hash.compare(hash)?)
    }
}

/// Calls `consume` with one piece after another of a stream, and `pass_on` with the same piece, which returns one to
/// fill.
fn pieces_of<E>(
    mut stream: Stream<'_>,
    mut consume: impl FnMut(&[u8]) -> Result<(), E>,
    mut pass_on: impl FnMut(Vec<u8>) -> Vec<u8>,
) -> Result<(), Failure<E>> {
    let mut piece = vec![0; PIECE];
    loop {
        piece.resize(PIECE, 0);
        let filled = stream.read(&mut piece)?;
        if filled == 0 {
            return Ok(());
        }
        piece.truncate(filled);
        consume(&piece).map_err(Failure::Consumer)?;
        piece = pass_on(piece);
    }
}

/// Size and number of the pieces that are passed to the hashing thread.
const PIECE: usize = 1 << 20;
const PIECES: usize = 4;
