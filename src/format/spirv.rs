//! The triple of SPIR-V, as far as a module states one.
//!
//! A module is a sequence of words; the first instructions declare capabilities and the memory model. A module for compute
//! with physical addresses of 64 bits is what LLVM compiles for `spirv64`, one with 32 bits for `spirv32`. Runtimes have names
//! of their own for the same code (`spir64`, `spirv64-intel`, `spirv64-amd-amdhsa`), which the module does not state. Source:
//! Khronos, SPIR-V Specification, Physical Layout of a SPIR-V Module, Logical Layout of a Module; output of clang 22.

use crate::bytes::View;

/// First word.
pub const MAGIC: u32 = 0x0723_0203;

/// Number of words before the first instruction.
pub const HEADER_WORDS: usize = 5;

const OP_MEMORY_MODEL: u16 = 14;
const OP_CAPABILITY: u16 = 17;

/// Capability of modules for compute.
const KERNEL: u32 = 6;

/// Triples by the addressing model: Physical32 and Physical64.
const TRIPLES: [(u32, &str); 2] = [(1, "spirv32-unknown-unknown"), (2, "spirv64-unknown-unknown")];

/// Maximum number of instructions that are read. The memory model follows capabilities, extensions and imports.
const MAX_INSTRUCTIONS: usize = 1 << 12;

/// Returns the triple of a module; `None` if it is not for compute, has logical addresses or is damaged.
pub fn triple(view: View<'_>) -> Option<&'static str> {
    let is_swapped = view.u32("SPIR-V magic", 0).ok()? != MAGIC;
    let word = |bytes: &[u8; 4]| if is_swapped { u32::from_be_bytes(*bytes) } else { u32::from_le_bytes(*bytes) };
    let mut words = view.data().as_chunks::<4>().0.get(HEADER_WORDS..)?;
    let mut is_kernel = false;
    for _ in 0..MAX_INSTRUCTIONS {
        let first = word(words.first()?);
        let size = (first >> 16) as usize;
        let operand = words.get(1).map(word);
        match (first as u16, operand) {
            (OP_CAPABILITY, Some(KERNEL)) => is_kernel = true,
            (OP_MEMORY_MODEL, Some(model)) if is_kernel => {
                return TRIPLES.iter().find(|(number, _)| *number == model).map(|(_, triple)| *triple);
            }
            _ => {}
        }
        words = words.get(size..).filter(|_| size > 0)?;
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A module in the form of clang 22: capabilities Addresses, Kernel or another, an extension, and the memory model.
    fn module(capability: u32, addressing: u32) -> Vec<u32> {
        let header = [MAGIC, 0x0001_0400, 0, 24, 0];
        [&header[..], &[0x2_0011, 4, 0x2_0011, capability, 0x3_000a, 0x5053, 0, 0x3_000e, addressing, 2]].concat()
    }

    fn read(words: &[u32], bytes: fn(u32) -> [u8; 4]) -> Option<&'static str> {
        let bytes: Vec<u8> = words.iter().copied().flat_map(bytes).collect();
        triple(View::new(&bytes))
    }

    #[test]
    fn the_memory_model_of_a_kernel_determines_the_triple() {
        let cases = [
            (KERNEL, 2, Some("spirv64-unknown-unknown")),
            (KERNEL, 1, Some("spirv32-unknown-unknown")),
            (KERNEL, 0, None),
            (1, 2, None),
        ];
        for (capability, addressing, expected) in cases {
            let words = module(capability, addressing);
            assert_eq!(read(&words, u32::to_le_bytes), expected, "{capability} {addressing}");
            assert_eq!(read(&words, u32::to_be_bytes), expected, "{capability} {addressing}");
        }
    }

    #[test]
    fn damaged_modules_have_no_triple() {
        let good = module(KERNEL, 2);
        for end in 1..good.len() - 1 {
            assert_eq!(read(&good[..end], u32::to_le_bytes), None, "{end}");
        }
        let mut endless = good.clone();
        endless[5] = 0x11;
        assert_eq!(read(&endless, u32::to_le_bytes), None, "an instruction of length 0");
    }
}
