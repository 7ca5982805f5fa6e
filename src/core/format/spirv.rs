//! The triple of SPIR-V, if a module states one.
//!
//! A module is a sequence of words; the first instructions declare capabilities and the memory model. LLVM compiles a
//! compute module with physical addresses of 64 bits for `spirv64`, and one with 32 bits for `spirv32`. A shader, with
//! logical addresses, is for Vulkan. Runtimes use other names for the same code (`spir64`, `spirv64-intel`, `spirv64-amd-amdhsa`), and the module does not state them.
//! Source: Khronos, SPIR-V Specification, Physical Layout of a SPIR-V Module, Logical Layout of a Module; output of
//! clang 22.

use std::collections::HashSet;

use crate::base::bytes::{View, offset_of_rest};
use crate::base::error::{Cause, Malformed};
use crate::target::triple::VULKAN;

/// First word.
pub const MAGIC: u32 = 0x0723_0203;

/// Number of words before the first instruction.
pub const HEADER_WORDS: usize = 5;
/// Size of these words in bytes.
pub const HEADER_SIZE: u64 = HEADER_WORDS as u64 * 4;

const OP_MEMORY_MODEL: u16 = 14;
const OP_ENTRY_POINT: u16 = 15;
const OP_CAPABILITY: u16 = 17;
const OP_FUNCTION: u16 = 54;
const OP_FUNCTION_END: u16 = 56;

/// Capabilities of modules for compute, and of shaders.
const KERNEL: u32 = 6;
const SHADER: u32 = 1;

/// Addressing model of shaders: Logical.
const LOGICAL: u32 = 0;

/// Triples by the addressing model: Physical32 and Physical64.
const TRIPLES: [(u32, &str); 2] = [(1, "spirv32-unknown-unknown"), (2, "spirv64-unknown-unknown")];

/// Maximum number of instructions that are read. The memory model follows capabilities, extensions and imports.
const MAX_INSTRUCTIONS: usize = 1 << 12;

/// An instruction: a word with its length in words and its opcode, then operands.
#[derive(Debug, Clone, Copy)]
pub struct Instruction<'data> {
    /// Number of the operation.
    pub opcode: u16,
    /// Distances of its start and its end from the start of the module in bytes.
    offset: u64,
    end: u64,
    operands: &'data [[u8; 4]],
    is_swapped: bool,
}

impl<'data> Instruction<'data> {
    /// The operands.
    pub fn operands(self) -> impl Iterator<Item = u32> + use<'data> {
        self.operands.iter().map(move |bytes| word(*bytes, self.is_swapped))
    }

    /// Distance of its end from the start of the module in bytes.
    pub fn end(self) -> u64 {
        self.end
    }

    fn operand(self, index: usize) -> Option<u32> {
        self.operands().nth(index)
    }
}

/// `is_swapped`: the module is big-endian.
fn word(bytes: [u8; 4], is_swapped: bool) -> u32 {
    if is_swapped { u32::from_be_bytes(bytes) } else { u32::from_le_bytes(bytes) }
}

/// Iterates over the instructions of a module. An incomplete instruction is an error and the last item.
pub fn instructions<'data>(view: View<'data>) -> impl Iterator<Item = Result<Instruction<'data>, Malformed>> {
    let is_swapped = view.u32("SPIR-V magic", 0).is_ok_and(|magic| magic != MAGIC);
    let (words, incomplete_word) = view.data().as_chunks::<4>();
    let offset_of = |rest: &[[u8; 4]]| offset_of_rest(words.as_flattened(), rest.as_flattened()) as u64;
    let mut next = Some(words.get(HEADER_WORDS..).ok_or_else(|| {
        let cause = Cause::Truncated { needed: HEADER_SIZE, available: view.size() };
        view.malformed("SPIR-V header", 0, cause)
    }));
    std::iter::from_fn(move || {
        let rest = match next.take()? {
            Ok(rest) => rest,
            Err(error) => return Some(Err(error)),
        };
        let offset = offset_of(rest);
        let Some((first, after)) = rest.split_first() else {
            let cause = Cause::Truncated { needed: 4, available: incomplete_word.len() as u64 };
            return (!incomplete_word.is_empty()).then(|| Err(view.malformed("SPIR-V word", offset, cause)));
        };
        let first = word(*first, is_swapped);
        let size = (first >> 16) as usize;
        let opcode = first as u16;
        let Some((operands, rest)) = size.checked_sub(1).and_then(|count| after.split_at_checked(count)) else {
            let cause = Cause::OutOfBounds { offset: 0, size: size as u64, limit: rest.len() as u64 };
            return Some(Err(view.malformed("SPIR-V instruction's words", offset, cause)));
        };
        next = Some(Ok(rest));
        Some(Ok(Instruction { opcode, offset, end: offset_of(rest), operands, is_swapped }))
    })
}

/// Returns the triple of a module; `None` if it is neither for compute nor a shader, or is damaged.
pub fn triple(view: View<'_>) -> Option<&'static str> {
    let mut is_kernel = false;
    let mut is_shader = false;
    for instruction in instructions(view).take(MAX_INSTRUCTIONS) {
        let instruction = instruction.ok()?;
        match (instruction.opcode, instruction.operand(0)) {
            (OP_CAPABILITY, Some(KERNEL)) => is_kernel = true,
            (OP_CAPABILITY, Some(SHADER)) => is_shader = true,
            (OP_MEMORY_MODEL, Some(model)) if is_kernel => {
                return TRIPLES.iter().find(|(number, _)| *number == model).map(|(_, triple)| *triple);
            }
            (OP_MEMORY_MODEL, Some(LOGICAL)) if is_shader => return Some(VULKAN),
            (OP_MEMORY_MODEL, _) => return None,
            _ => {}
        }
    }
    None
}

/// Checks that a module is complete: its instructions, the memory model that every module has, the ends of functions,
/// and the functions of entry points. A module without entry points that ends between two functions is complete:
/// nothing in it states the number of functions.
pub fn check(view: View<'_>) -> Result<(), Malformed> {
    count_functions(view).map(|_| ())
}

/// Like [`check`], and checks that the file has a function.
pub fn check_file(view: View<'_>) -> Result<(), Malformed> {
    match count_functions(view)? {
        0 => Err(view.malformed("SPIR-V module", 0, Cause::Described("no functions".to_owned()))),
        _ => Ok(()),
    }
}

/// Fails if the module is incomplete.
fn count_functions(view: View<'_>) -> Result<usize, Malformed> {
    let mut has_model = false;
    let mut open_function = None;
    let mut entries = Vec::new();
    let mut functions = HashSet::new();
    for instruction in instructions(view) {
        let instruction = instruction?;
        let id = instruction.operand(1);
        match instruction.opcode {
            OP_MEMORY_MODEL => has_model = true,
            OP_ENTRY_POINT => entries.extend(id.map(|id| (id, instruction.offset))),
            OP_FUNCTION => {
                open_function = Some(instruction.offset);
                functions.extend(id);
            }
            OP_FUNCTION_END => open_function = None,
            _ => {}
        }
    }
    if let Some(start) = open_function {
        return Err(view.malformed("SPIR-V function", start, Cause::EndsInside));
    }
    if let Some((id, offset)) = entries.into_iter().find(|(id, _)| !functions.contains(id)) {
        return Err(view.malformed(
            "SPIR-V entry point",
            offset,
            Cause::Described(format!("function {id} is missing")),
        ));
    }
    if !has_model {
        return Err(view.malformed("SPIR-V module", 0, Cause::Described("no memory model".to_owned())));
    }
    Ok(functions.len())
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
            (SHADER, 0, Some("spirv-unknown-vulkan")),
            (SHADER, 2, None),
            (5, 0, None),
        ];
        for (capability, addressing, expected) in cases {
            let words = module(capability, addressing);
            assert_eq!(read(&words, u32::to_le_bytes), expected, "{capability} {addressing}");
            assert_eq!(read(&words, u32::to_be_bytes), expected, "{capability} {addressing}");
        }
    }

    #[test]
    fn every_cut_of_a_module_is_reported() {
        // Two functions in the form of clang 22; the first is an entry point.
        let functions = [0x5_0036, 20, 7, 0, 21, 0x1_0038, 0x5_0036, 20, 8, 0, 21, 0x2_00f8, 9, 0x1_00fd, 0x1_0038];
        let entry = [0x5_000f, 6, 7, 0x6b, 7];
        let words = [&module(KERNEL, 2)[..], &entry, &functions].concat();
        for to_bytes in [u32::to_le_bytes, u32::to_be_bytes] {
            let bytes: Vec<u8> = words.iter().copied().flat_map(to_bytes).collect();
            assert_eq!(check_file(View::new(&bytes)), Ok(()));
            // A cut between the functions loses nothing that the module refers to.
            let between = bytes.len() - 9 * 4;
            for end in 4..bytes.len() {
                assert_eq!(check_file(View::new(&bytes[..end])).is_ok(), end == between, "{end}");
            }
        }
        let bytes = |words: &[u32]| words.iter().copied().flat_map(u32::to_le_bytes).collect::<Vec<u8>>();
        let message = |words: &[u32]| check(View::new(&bytes(words))).unwrap_err().to_string();
        let start = words.len() - 9;
        assert_eq!(
            message(&words[..start + 5]),
            format!("SPIR-V function at {:#x}: truncated: the data ends inside", start * 4)
        );
        assert_eq!(message(&words[..start - 6]), "SPIR-V entry point at 0x3c: function 7 is missing");
        assert_eq!(message(&words[..7]), "SPIR-V module at 0x0: no memory model");
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
