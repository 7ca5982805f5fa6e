//! MD5, the hash of compressed bundles. Source: RFC 1321.
//!
//! The additions that do not depend on the state are done first, with vector instructions. That takes a seventh fewer
//! instructions than the crate `md-5` without its assembly, which makes the stack of programs in C executable.

use std::hint::black_box;

/// Size of a hash in bytes.
pub const SIZE: usize = 16;

/// Size of a block in bytes.
const BLOCK: usize = 64;

/// Number of bytes before the size at the end of the last block.
const BEFORE_SIZE: usize = 56;

/// Hash of the bytes so far.
#[derive(Debug, Clone)]
pub struct Md5 {
    state: [u32; 4],
    size: u64,
    /// Start of an incomplete block.
    rest: Vec<u8>,
}

impl Default for Md5 {
    fn default() -> Self {
        Md5::new()
    }
}

impl Md5 {
    /// Creates the hash of no bytes.
    pub fn new() -> Self {
        Md5 { state: [0x6745_2301, 0xefcd_ab89, 0x98ba_dcfe, 0x1032_5476], size: 0, rest: Vec::new() }
    }

    /// Appends bytes.
    pub fn update(&mut self, bytes: &[u8]) {
        self.size = self.size.wrapping_add(bytes.len() as u64);
        let missing = if self.rest.is_empty() { 0 } else { BLOCK.abs_diff(self.rest.len()) };
        let (first, others) = bytes.split_at(missing.min(bytes.len()));
        self.rest.extend(first);
        if self.rest.len() == BLOCK {
            compress(&mut self.state, self.rest.as_chunks().0);
            self.rest.clear();
        }
        let (blocks, rest) = others.as_chunks();
        compress(&mut self.state, blocks);
        self.rest.extend(rest);
    }

    /// Returns the hash of all bytes.
    pub fn finish(mut self) -> [u8; SIZE] {
        self.rest.push(0x80);
        let padded = if self.rest.len() > BEFORE_SIZE { BLOCK + BEFORE_SIZE } else { BEFORE_SIZE };
        self.rest.resize(padded, 0);
        self.rest.extend(self.size.wrapping_mul(8).to_le_bytes());
        compress(&mut self.state, self.rest.as_chunks().0);
        let mut hash = [0; SIZE];
        for (bytes, word) in hash.as_chunks_mut().0.iter_mut().zip(self.state) {
            *bytes = word.to_le_bytes();
        }
        hash
    }
}

/// Constants of the four rounds, in the order of the words of a block.
#[rustfmt::skip]
const CONSTANTS: [[u32; 16]; 4] = [
    [
        0xd76a_a478, 0xe8c7_b756, 0x2420_70db, 0xc1bd_ceee, 0xf57c_0faf, 0x4787_c62a, 0xa830_4613, 0xfd46_9501,
        0x6980_98d8, 0x8b44_f7af, 0xffff_5bb1, 0x895c_d7be, 0x6b90_1122, 0xfd98_7193, 0xa679_438e, 0x49b4_0821,
    ],
    [
        0xe9b6_c7aa, 0xf61e_2562, 0xfcef_a3f8, 0xf4d5_0d87, 0xe7d3_fbc8, 0xd62f_105d, 0xc040_b340, 0x676f_02d9,
        0x455a_14ed, 0x21e1_cde6, 0x0244_1453, 0x265e_5a51, 0x8d2a_4c8a, 0xa9e3_e905, 0xc337_07d6, 0xd8a1_e681,
    ],
    [
        0xeaa1_27fa, 0xa4be_ea44, 0xc4ac_5665, 0xd4ef_3085, 0x4bde_cfa9, 0xfffa_3942, 0x0488_1d05, 0xf6bb_4b60,
        0x8771_f681, 0xd9d4_d039, 0xbebf_bc70, 0x6d9d_6122, 0xe6db_99e5, 0x289b_7ec6, 0xfde5_380c, 0x1fa2_7cf8,
    ],
    [
        0xf429_2244, 0x8584_5dd1, 0x2ad7_d2bb, 0x8f0c_cc92, 0xf753_7e82, 0xfc93_a039, 0xa301_4314, 0x432a_ff97,
        0x6fa8_7e4f, 0xeb86_d391, 0xffef_f47d, 0xbd3a_f235, 0x655b_59c3, 0x4e08_11a1, 0xab94_23a7, 0xfe2c_e6e0,
    ],
];

/// Sets each word of a block plus its constant, for the four rounds.
#[inline]
fn set_sums(sums: &mut [[u32; 16]; 4], block: &[u8; BLOCK]) {
    let mut words = [0; 16];
    for (word, bytes) in words.iter_mut().zip(block.as_chunks().0) {
        *word = u32::from_le_bytes(*bytes);
    }
    for (sums, constants) in sums.iter_mut().zip(&CONSTANTS) {
        for ((sum, constant), word) in sums.iter_mut().zip(constants).zip(words) {
            *sum = constant.wrapping_add(word);
        }
    }
}

fn step(state: u32, mix: u32, previous: u32, sum: u32, rotation: u32) -> u32 {
    state.wrapping_add(sum).wrapping_add(mix).rotate_left(rotation).wrapping_add(previous)
}

#[expect(clippy::indexing_slicing, clippy::arithmetic_side_effects, reason = "indices are remainders of 16")]
fn compress(state: &mut [u32; 4], blocks: &[[u8; BLOCK]]) {
    let mut sums = [[0; 16]; 4];
    let [mut a, mut b, mut c, mut d] = *state;
    for block in blocks {
        set_sums(&mut sums, block);
        // A compiler that knows the sums computes each where it is used, without vector instructions.
        black_box(&mut sums);
        let [first, second, third, fourth] = &sums;
        let before = [a, b, c, d];
        for i in 0..4 {
            let sum = |step: usize| first[(4 * i + step) % 16];
            a = step(a, d ^ (b & (c ^ d)), b, sum(0), 7);
            d = step(d, c ^ (a & (b ^ c)), a, sum(1), 12);
            c = step(c, b ^ (d & (a ^ b)), d, sum(2), 17);
            b = step(b, a ^ (c & (d ^ a)), c, sum(3), 22);
        }
        for i in 0..4 {
            let sum = |step: usize| second[(5 * (4 * i + step) + 1) % 16];
            a = step(a, c ^ (d & (b ^ c)), b, sum(0), 5);
            d = step(d, b ^ (c & (a ^ b)), a, sum(1), 9);
            c = step(c, a ^ (b & (d ^ a)), d, sum(2), 14);
            b = step(b, d ^ (a & (c ^ d)), c, sum(3), 20);
        }
        // Each step replaces one of the words. A compiler that knows all three computes each parity from three words.
        let mut parity = b ^ c ^ black_box(d);
        for i in 0..4 {
            let sum = |step: usize| third[(3 * (4 * i + step) + 5) % 16];
            a = step(a, parity, b, sum(0), 4);
            parity = parity ^ d ^ a;
            d = step(d, parity, a, sum(1), 11);
            parity = parity ^ c ^ d;
            c = step(c, parity, d, sum(2), 16);
            parity = parity ^ b ^ c;
            b = step(b, parity, c, sum(3), 23);
            parity = parity ^ a ^ b;
        }
        for i in 0..4 {
            let sum = |step: usize| fourth[7 * (4 * i + step) % 16];
            a = step(a, c ^ (b | !d), b, sum(0), 6);
            d = step(d, b ^ (a | !c), a, sum(1), 10);
            c = step(c, a ^ (d | !b), d, sum(2), 15);
            b = step(b, d ^ (c | !a), c, sum(3), 21);
        }
        a = a.wrapping_add(before[0]);
        b = b.wrapping_add(before[1]);
        c = c.wrapping_add(before[2]);
        d = d.wrapping_add(before[3]);
    }
    *state = [a, b, c, d];
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::bytes::hexadecimal;

    /// Test vectors of RFC 1321, section A.5.
    #[test]
    fn hashes_the_vectors_of_the_rfc() {
        let letters: String = ('a'..='z').collect();
        let digits: String = ('0'..='9').collect();
        let rows = [
            (String::new(), "d41d8cd98f00b204e9800998ecf8427e"),
            ("a".to_owned(), "0cc175b9c0f1b6a831c399e269772661"),
            ("abc".to_owned(), "900150983cd24fb0d6963f7d28e17f72"),
            ("message digest".to_owned(), "f96b697d7cb7938d525a2f31aaf161d0"),
            (letters.clone(), "c3fcd3d76192e4007dfb496cca67e13b"),
            (letters.to_uppercase() + &letters + &digits, "d174ab98d277d9f5a5611c2c9f419d9f"),
            ("1234567890".repeat(8), "57edf4a22be3c955ac49da2e2107b67a"),
        ];
        for (text, expected) in rows {
            for size in 1..=81 {
                let mut hash = Md5::new();
                text.as_bytes().chunks(size).for_each(|part| hash.update(part));
                assert_eq!(hexadecimal(&hash.finish()), expected, "{text} in parts of {size} bytes");
            }
        }
    }
}
