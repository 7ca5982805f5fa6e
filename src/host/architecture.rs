//! Description of a machine for the emitters: a table of numbers and one function that generates code.

use object::Endianness;
use object::elf;

use super::assembler::CompiledFunction;
use super::code::Function;

/// Description of a machine. Each machine has a file with its value.
#[derive(Debug)]
pub struct Architecture {
    /// Byte order of data.
    pub endianness: Endianness,
    /// Alignment of a function in bytes.
    pub function_alignment: u64,
    /// Filler between two functions: an instruction that traps.
    pub fill: &'static [u8],
    /// Frame on entry to a function.
    pub call_frame: CallFrame,
    /// Properties of its ELF objects, which every machine has.
    pub elf: ElfMachine,
}

/// Properties of a machine's ELF objects.
#[derive(Debug)]
pub struct ElfMachine {
    /// `e_machine`.
    pub machine: elf::Machine,
    /// `e_flags`.
    pub flags: elf::FileFlags,
    /// The relocation that stores a 64-bit address.
    pub absolute: elf::RelocationType,
    /// The relocation that stores a 32-bit distance from itself, for `.eh_frame`.
    pub relative: elf::RelocationType,
    /// The section type of `.eh_frame`.
    pub eh_frame_type: elf::SectionType,
    /// Hardening that the code supports: the type and bits of a property in `.note.gnu.property`. A linker keeps a property
    /// for the program only if every object has it.
    pub hardening: Option<(elf::GnuPropertyType, u32)>,
    /// Flag of a section that is too large to be placed among the others, on machines that have such a flag.
    pub large_section: Option<elf::SectionFlags>,
    /// `st_other` of functions.
    pub function_other: u8,
    /// Name of the mapping symbol that the ABI requires before code, so that readers can distinguish it from data.
    pub code_symbol: Option<&'static str>,
    /// Compiles a function for Linux.
    pub compile: fn(&Function) -> CompiledFunction,
}

/// Frame at a function's first instruction, in the register numbers of the machine's DWARF supplement.
#[derive(Debug)]
pub struct CallFrame {
    /// Factor of code offsets.
    pub code_alignment: u8,
    /// Factor of data offsets.
    pub data_alignment: i8,
    /// Register or column of the return address.
    pub return_address: u16,
    /// Register of the stack pointer.
    pub stack_pointer: u16,
    /// Distance of the canonical frame address from the stack pointer on entry, in bytes.
    pub entry_offset: i32,
    /// Position at which the call instruction stored the return address, relative to the canonical frame address; `None`
    /// where it stays in its register.
    pub return_address_at: Option<i32>,
}
