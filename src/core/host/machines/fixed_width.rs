//! Helpers for machines whose instructions are words of 32 bits: A64, RISC-V without compressed instructions, LoongArch
//! and little-endian Power.

use crate::host::assembler::Buffer;

impl Buffer {
    /// Appends an instruction.
    pub fn word(&mut self, instruction: u32) {
        self.push(&instruction.to_le_bytes());
    }
}

/// Returns the low `bits` bits of a signed number, as instructions encode it.
///
/// # Panics
/// If the number needs more bits.
pub fn signed(value: i64, bits: u32) -> u32 {
    let limit = 1i64 << (bits - 1);
    assert!((-limit..limit).contains(&value), "{value} does not fit into {bits} bits");
    value as u32 & (u32::MAX >> (32 - bits))
}

/// Returns an unsigned number that fits into `bits` bits.
///
/// # Panics
/// If the number needs more bits.
pub fn unsigned(value: u32, bits: u32) -> u32 {
    assert!(value >> bits == 0, "{value} does not fit into {bits} bits");
    value
}

/// Returns the number of instructions from a jump at `at` to `target`, as a signed number of `bits` bits.
///
/// # Panics
/// If the target is too far.
pub fn distance(at: usize, target: usize, bits: u32) -> u32 {
    signed((target as i64 - at as i64) / 4, bits)
}

/// Returns the instruction at `at`.
pub fn word(code: &[u8], at: usize) -> u32 {
    u32::from_le_bytes(code[at..at + 4].try_into().expect("four bytes"))
}

/// Sets bits that are zero in the instruction at `at`.
pub fn fill_in(code: &mut [u8], at: usize, bits: u32) {
    let instruction = word(code, at) | bits;
    code[at..at + 4].copy_from_slice(&instruction.to_le_bytes());
}
