//! What a machine is to the emitter: numbers in a table and one function that writes code.

use object::Endianness;
use object::elf;

use super::plan::{Function, SymbolId};

/// A host machine. Each has a file of its own that holds its value of this.
pub struct Architecture {
    pub machine: elf::Machine,
    pub flags: elf::FileFlags,
    pub endianness: Endianness,
    /// Alignment of a function in bytes.
    pub function_alignment: u64,
    /// What fills the gap between two functions: an instruction that traps.
    pub fill: &'static [u8],
    /// The relocation that stores a 64-bit address.
    pub absolute: elf::RelocationType,
    /// The relocation that stores a 32-bit distance from itself, for `.eh_frame`.
    pub relative: elf::RelocationType,
    /// The section type of `.eh_frame`.
    pub eh_frame_type: elf::SectionType,
    pub call_frame: CallFrame,
    /// Turns a function into code.
    pub compile: fn(&Function) -> Code,
}

/// How a frame looks at a function's first instruction, in the register numbers of the machine's DWARF supplement.
pub struct CallFrame {
    pub code_alignment: u8,
    pub data_alignment: i8,
    pub return_address: u16,
    pub stack_pointer: u16,
    /// Distance of the canonical frame address from the stack pointer on entry, in bytes.
    pub entry_offset: i32,
    /// Where the call instruction stored the return address, from the canonical frame address; `None` where it stays
    /// in its register.
    pub return_address_at: Option<i32>,
}

/// A compiled function.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Code {
    pub bytes: Vec<u8>,
    pub relocations: Vec<CodeRelocation>,
    /// From which byte on the canonical frame address is how far from the stack pointer.
    pub unwind: Vec<(u32, i32)>,
}

/// A relocation against a symbol of the plan, in the machine's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeRelocation {
    pub offset: u64,
    pub kind: elf::RelocationType,
    pub symbol: SymbolId,
    pub addend: i64,
}
