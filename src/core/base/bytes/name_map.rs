//! Maps keyed by names from files.
//!
//! Cubins have five sections for each kernel, each with the kernel's name as a part of its name, and names of templates
//! have thousands of characters. The hasher of the standard library takes a fifth of the time of their inspection. Like
//! that hasher, this one has keys that are random for each process, so that no file can make names collide.

use std::collections::HashMap;
use std::hash::{BuildHasher, Hasher, RandomState};
use std::sync::OnceLock;

/// A map keyed by names.
pub type NameMap<K, V> = HashMap<K, V, NameState>;

/// Keys of the hash.
#[derive(Debug, Clone, Copy)]
pub struct NameState([u64; 2]);

impl Default for NameState {
    fn default() -> Self {
        static KEYS: OnceLock<[u64; 2]> = OnceLock::new();
        NameState(*KEYS.get_or_init(|| {
            let state = RandomState::new();
            [state.hash_one(0), state.hash_one(1)]
        }))
    }
}

impl BuildHasher for NameState {
    type Hasher = NameHasher;

    fn build_hasher(&self) -> NameHasher {
        NameHasher { state: self.0[0], key: self.0[1] }
    }
}

/// Hasher of 16 bytes at a time. It combines two words with parts of the state, which are not known outside of the
/// process, multiplies them, and combines the halves of the product.
#[derive(Debug)]
pub struct NameHasher {
    state: u64,
    key: u64,
}

impl NameHasher {
    fn add(&mut self, bytes: [u8; 16]) {
        let [low, high] = halves(u128::from_le_bytes(bytes));
        let product = u128::from(low ^ self.state).wrapping_mul(u128::from(high ^ self.key));
        let [low, high] = halves(product);
        self.state = low ^ high.rotate_left(32);
    }
}

fn halves(value: u128) -> [u64; 2] {
    [value as u64, (value >> 64) as u64]
}

impl Hasher for NameHasher {
    #[inline]
    fn write(&mut self, bytes: &[u8]) {
        let (blocks, rest) = bytes.as_chunks::<16>();
        for block in blocks {
            self.add(*block);
        }
        let mut last = [0; 16];
        if let Some(start) = last.get_mut(..rest.len()) {
            start.copy_from_slice(rest);
        }
        self.add(last);
        self.add((bytes.len() as u128).to_le_bytes());
    }

    fn finish(&self) -> u64 {
        self.state
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::*;

    #[test]
    fn equal_names_have_equal_hashes_and_others_differ() {
        let state = NameState::default();
        let names: BTreeSet<String> = (0..3000)
            .flat_map(|number| [format!("{number}"), format!(".text.{number:>040}"), "a".repeat(number)])
            .collect();
        let hashes: BTreeSet<u64> = names.iter().map(|name| state.hash_one(name)).collect();
        assert_eq!(hashes.len(), names.len());
        // Tables use the upper and the lower bits.
        for shift in [0, 57] {
            let parts: BTreeSet<u64> = hashes.iter().map(|hash| hash >> shift & 127).collect();
            assert_eq!(parts.len(), 128);
        }
        assert_eq!(state.hash_one("a"), NameState::default().hash_one("a"));
    }
}
