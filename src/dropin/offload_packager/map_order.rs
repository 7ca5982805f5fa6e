//! The order of an image's strings, as a packager stores them.
//!
//! The tool stores the arguments of `--image` in hash maps and iterates over their buckets. Every compilation with
//! clang's new driver uses the tool. With any other order, an object compiled with this program would differ from one
//! compiled without it, and builds would not be reproducible. The maps are therefore reimplemented here. Both double
//! their buckets when three quarters are full, and probe quadratically.
//!
//! `DenseMap` has 64 buckets and LLVM's hash: CityHash with a fixed seed. Source: the output of llvm-offload-binary
//! 22.1.8; `llvm/ADT/Hashing.h`, `llvm/ADT/DenseMap.h`. Until LLVM 16, `StringMap` has 16 buckets and Bernstein's hash.
//! Source: the output of clang-offload-packager 15.0.6 and 16.0.6; `llvm/lib/Support/StringMap.cpp`,
//! `llvm/Support/DJB.h`.

/// Seed of LLVM's release builds.
const SEED: u64 = 0xff51_afd7_ed55_8ccd;

/// The multipliers of CityHash.
const K: [u64; 4] = [0xc3a5_c85c_97cb_3127, 0xb492_b66f_be98_f273, 0x9ae1_6a3b_2f90_404f, 0xc949_d7c7_509e_6557];
const MUL: u64 = 0x9ddf_ea08_eb38_2d69;

/// Minimum number of buckets of maps that are not empty.
const DENSE_MAP_BUCKETS: usize = 64;
const STRING_MAP_BUCKETS: usize = 16;

/// Maximum number of hashed bytes of a key. For longer keys, the hash differs from LLVM's. Only their order is
/// affected.
const LONGEST: usize = 64;

/// Indices of the distinct `keys` in the iteration order of a `DenseMap`, after they were inserted in the given order.
pub fn dense_map_order(keys: &[&[u8]]) -> Vec<usize> {
    let mut map = Map::new(DENSE_MAP_BUCKETS, city_hash);
    for (index, key) in keys.iter().enumerate() {
        if (index + 1) * 4 >= map.buckets.len() * 3 {
            map.grow(keys);
        }
        map.insert(index, key);
    }
    map.buckets.into_iter().flatten().collect()
}

/// The same for a `StringMap`.
pub fn string_map_order(keys: &[&[u8]]) -> Vec<usize> {
    let mut map = Map::new(STRING_MAP_BUCKETS, bernstein_hash);
    for (index, key) in keys.iter().enumerate() {
        map.insert(index, key);
        if (index + 1) * 4 > map.buckets.len() * 3 {
            map.grow(keys);
        }
    }
    map.buckets.into_iter().flatten().collect()
}

/// A hash map of the indices of keys.
struct Map {
    buckets: Vec<Option<usize>>,
    hash: fn(&[u8]) -> u32,
}

impl Map {
    fn new(buckets: usize, hash: fn(&[u8]) -> u32) -> Map {
        Map { buckets: vec![None; buckets], hash }
    }

    fn insert(&mut self, index: usize, key: &[u8]) {
        let mask = self.buckets.len() - 1;
        let mut at = (self.hash)(key) as usize & mask;
        let mut step = 1;
        while self.buckets[at].is_some() {
            at = (at + step) & mask;
            step += 1;
        }
        self.buckets[at] = Some(index);
    }

    fn grow(&mut self, keys: &[&[u8]]) {
        let mut larger = Map::new(self.buckets.len() * 2, self.hash);
        for &index in self.buckets.iter().flatten() {
            larger.insert(index, keys[index]);
        }
        *self = larger;
    }
}

fn bernstein_hash(key: &[u8]) -> u32 {
    key.iter().fold(0, |hash: u32, &byte| hash.wrapping_mul(33).wrapping_add(u32::from(byte)))
}

fn city_hash(key: &[u8]) -> u32 {
    let key = &key[..key.len().min(LONGEST)];
    let size = key.len() as u64;
    // Words at an offset from the start, and from the end.
    let word = |at: usize| u64::from_le_bytes(key[at..at + 8].try_into().expect("eight bytes"));
    let last = |back: usize| word(key.len() - back);
    let half = |at: usize| u64::from(u32::from_le_bytes(key[at..at + 4].try_into().expect("four bytes")));
    let [k0, k1, k2, k3] = K;
    let hash = match key.len() {
        0 => k2 ^ SEED,
        1..=3 => {
            let [first, middle, end] = [key[0], key[key.len() / 2], key[key.len() - 1]].map(u64::from);
            let (y, z) = (first + (middle << 8), size + (end << 2));
            shift_mix(y.wrapping_mul(k2) ^ z.wrapping_mul(k3) ^ SEED).wrapping_mul(k2)
        }
        4..=8 => mix(size + (half(0) << 3), SEED ^ half(key.len() - 4)),
        9..=16 => {
            let (a, b) = (word(0), last(8));
            mix(SEED ^ a, b.wrapping_add(size).rotate_right(key.len() as u32)) ^ b
        }
        17..=32 => {
            let (a, b) = (word(0).wrapping_mul(k1), word(8));
            let (c, d) = (last(8).wrapping_mul(k2), last(16).wrapping_mul(k0));
            let low = a.wrapping_sub(b).rotate_right(43).wrapping_add((c ^ SEED).rotate_right(30)).wrapping_add(d);
            let high = a.wrapping_add((b ^ k3).rotate_right(20)).wrapping_sub(c).wrapping_add(size);
            mix(low, high.wrapping_add(SEED))
        }
        _ => {
            let start = word(0).wrapping_add(size.wrapping_add(last(16)).wrapping_mul(k0));
            let (vf, vs) = half_of_64(start, word(24), word(8), word(16));
            let (wf, ws) = half_of_64(word(16).wrapping_add(last(32)), last(8), last(24), last(16));
            let r = vf.wrapping_add(ws).wrapping_mul(k2).wrapping_add(wf.wrapping_add(vs).wrapping_mul(k0));
            shift_mix((SEED ^ shift_mix(r).wrapping_mul(k0)).wrapping_add(vs)).wrapping_mul(k2)
        }
    };
    hash as u32
}

fn half_of_64(start: u64, z: u64, second: u64, third: u64) -> (u64, u64) {
    let b = start.wrapping_add(z).rotate_right(52);
    let c = start.rotate_right(37);
    let a = start.wrapping_add(second);
    let c = c.wrapping_add(a.rotate_right(7));
    let a = a.wrapping_add(third);
    (a.wrapping_add(z), b.wrapping_add(a.rotate_right(31)).wrapping_add(c))
}

fn shift_mix(value: u64) -> u64 {
    value ^ value >> 47
}

fn mix(low: u64, high: u64) -> u64 {
    let a = shift_mix((low ^ high).wrapping_mul(MUL));
    shift_mix((high ^ a).wrapping_mul(MUL)).wrapping_mul(MUL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Storage order of keys that follow `file` in an argument.
    fn stored(keys: &[&str]) -> Vec<usize> {
        let all: Vec<&[u8]> = std::iter::once("file").chain(keys.iter().copied()).map(str::as_bytes).collect();
        dense_map_order(&all).into_iter().filter_map(|index| index.checked_sub(1)).collect()
    }

    #[test]
    fn stores_the_keys_of_clang_in_the_order_of_llvm() {
        assert_eq!(stored(&["triple", "arch", "feature"]), [2, 1, 0]);
    }

    // Both orders come from llvm-offload-binary 22.1.8 with these keys.

    #[test]
    fn hashes_keys_of_every_length_like_llvm() {
        let letters = "abcdefghijklmnopqrstuvwxyz".repeat(3);
        let lengths = [0, 1, 2, 3, 4, 8, 9, 16, 17, 24, 32, 33, 50, 64];
        let keys: Vec<&str> = lengths.iter().map(|&length| &letters[..length]).collect();
        let found: Vec<usize> = stored(&keys).into_iter().map(|index| lengths[index]).collect();
        assert_eq!(found, [0, 16, 50, 24, 17, 8, 64, 32, 2, 33, 1, 4, 9, 3]);
    }

    #[test]
    fn grows_a_full_map_like_llvm() {
        let keys: Vec<String> = (0..60).map(|number| format!("key{number}")).collect();
        let found = stored(&keys.iter().map(String::as_str).collect::<Vec<_>>());
        let expected = [
            4, 23, 9, 36, 18, 6, 46, 37, 21, 48, 19, 41, 55, 26, 52, 33, 57, 38, 47, 16, 40, 59, 39, 24, 8, 45, 12, 32,
            17, 50, 5, 1, 58, 3, 49, 22, 29, 34, 13, 43, 51, 20, 31, 0, 28, 54, 53, 7, 10, 30, 25, 35, 42, 14, 27, 15,
            11, 44, 56, 2,
        ];
        assert_eq!(found, expected);
    }
}
