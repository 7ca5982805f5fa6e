//! MD5, which compressed bundles are hashed with: the assembly of `md-5`, or without the feature `hash` a crate without
//! dependencies.

use md5::Digest;

/// Size of a hash in bytes.
pub const SIZE: usize = 16;

/// Hash of the bytes so far.
#[derive(Clone)]
pub struct Md5(#[cfg(feature = "full")] md5::Md5, #[cfg(not(feature = "full"))] md5_small::Context);

impl std::fmt::Debug for Md5 {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Md5").finish_non_exhaustive()
    }
}

impl Default for Md5 {
    fn default() -> Self {
        Md5::new()
    }
}

impl Md5 {
    /// Creates the hash of no bytes.
    pub fn new() -> Self {
        return Md5(md5::Md5::new());
        #[cfg(not(feature = "full"))]
        return Md5(md5_small::Context::new());
    }

    /// Appends bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
        #[cfg(not(feature = "full"))]
        self.0.consume(bytes);
    }

    /// Returns the hash of all bytes.
    pub fn finish(self) -> [u8; SIZE] {
        return self.0.finalize().into();
        #[cfg(not(feature = "full"))]
        return self.0.finalize().0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Test vectors of RFC 1321, section A.5.
    #[test]
    fn hashes_the_vectors_of_the_rfc() {
        let vectors =
            [("", "d41d8cd98f00b204e9800998ecf8427e"), ("message digest", "f96b697d7cb7938d525a2f31aaf161d0")];
        for (text, expected) in vectors {
            let mut hash = Md5::new();
            for part in text.as_bytes().chunks(3) {
                hash.update(part);
            }
            let hexadecimal: String = hash.finish().iter().map(|byte| format!("{byte:02x}")).collect();
            assert_eq!(hexadecimal, expected);
        }
    }
}
