//! SHA-256 of images and files.

use sha2::{Digest, Sha256};

use fatbin_core::base::activity::Work;
use fatbin_core::base::error::Result;
use fatbin_core::base::io::Input;

/// Returns the hash of an image.
pub fn hash(bytes: &[u8]) -> [u8; 32] {
    Work::Hashed.record(bytes.len() as u64);
    Sha256::digest(bytes).into()
}

/// Returns the hash of a file. The file is read block by block.
pub fn hash_file(input: &Input) -> Result<[u8; 32]> {
    let mut hasher = Sha256::new();
    input.blocks(0..input.size(), 0, |_, block| {
        hasher.update(block);
        Work::Hashed.record(block.len() as u64);
    })?;
    Ok(hasher.finalize().into())
}
