//! Hashes of decompressed bytes that containers state.

use crate::base::error::{Cause, Malformed};
use md5::{Digest, Md5};

/// First eight bytes of an MD5, and the offset of the field that states them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StoredHash {
    /// Stated hash.
    pub value: u64,
    /// Offset of the field in the file.
    pub offset: u64,
}

impl StoredHash {
    /// Returns an error unless this is the hash of these bytes.
    pub fn verify(self, bytes: &[u8]) -> Result<(), Malformed> {
        self.compare(hash([bytes].into_iter()))
    }

    /// Returns an error unless this is the stated hash.
    pub fn compare(self, found: u64) -> Result<(), Malformed> {
        if found == self.value {
            return Ok(());
        }
        let cause = Cause::HashMismatch { stored: self.value, found };
        Err(Malformed { field: "compressed bundle hash", offset: self.offset, cause })
    }
}

/// Computes the hash of bytes that come in runs.
pub fn hash<'a>(runs: impl Iterator<Item = &'a [u8]>) -> u64 {
    let mut hash = Md5::new();
    runs.for_each(|run| hash.update(run));
    first_bytes(hash)
}

/// Returns the first eight bytes of a hash.
pub fn first_bytes(hash: Md5) -> u64 {
    let digest = hash.finalize();
    u64::from_le_bytes(*digest.first_chunk().expect("16 bytes begin with 8"))
}
