//! What a machine is to the emitter: numbers in a table and one function that writes code.

use object::Endianness;
use object::elf;

use super::assembler::Code;
use super::code::Function;

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
    /// What the code promises to hardening: the type and bits of a property in `.note.gnu.property`. A linker keeps a
    /// promise for the program only where every object makes it.
    pub hardening: Option<(elf::GnuPropertyType, u32)>,
    /// The flag of a section that is too large to stand among the others, on machines that have one.
    pub large_section: Option<elf::SectionFlags>,
    /// `st_other` of functions.
    pub function_other: u8,
    /// The name of the symbol that the ABI wants before code, so that readers can tell it from data.
    pub code_symbol: Option<&'static str>,
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
