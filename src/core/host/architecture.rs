//! Description of a machine for the emitters: a table of numbers and one function that generates code.

use object::{Endianness, elf, macho, pe};

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
    /// Properties of its ELF objects. Every machine has them.
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
    /// Hardening that the code supports: the type and bits of a property in `.note.gnu.property`. A linker keeps a
    /// property for the program only if every object has it.
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

/// Properties of a machine's COFF objects, for the machines that run Windows.
#[derive(Debug)]
pub struct CoffMachine {
    /// The machine itself.
    pub architecture: &'static Architecture,
    /// `Machine` of the file header.
    pub machine: pe::Machine,
    /// The relocation that stores a 64-bit address.
    pub absolute: pe::RelocationType,
    /// The relocation that stores a 32-bit distance from the start of the program or library, for `.pdata`.
    pub image_relative: pe::RelocationType,
    /// Relocations of code: in ELF, and here.
    pub code_relocations: &'static [(elf::RelocationType, pe::RelocationType)],
    /// Stores the addend of an ELF relocation in the code at an offset. COFF relocations have no addend.
    pub store_addend: fn(&mut [u8], usize, pe::RelocationType, i64),
    /// Format of unwind information.
    pub unwind: UnwindFormat,
    /// Compiles a function for Windows.
    pub compile: fn(&Function) -> CompiledFunction,
}

/// Format of the unwind information of Windows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnwindFormat {
    /// The format of x64.
    X64,
    /// The format of ARM64.
    Arm64,
}

/// Properties of a machine's Mach-O objects, for the machines that run macOS.
#[derive(Debug)]
pub struct MachOMachine {
    /// The machine itself.
    pub architecture: &'static Architecture,
    /// `cputype` and `cpusubtype`.
    pub cpu: (macho::CpuType, macho::CpuSubtypeId),
    /// The oldest version of macOS that runs on the machine and whose objects have the same load commands.
    pub oldest_system: (u16, u8),
    /// Relocations of code: the ELF type, the Mach-O type, and whether it is relative to its own place.
    pub code_relocations: &'static [(elf::RelocationType, macho::RelocationType, bool)],
    /// Place of the addends of those relocations.
    pub addend: AddendForm,
    /// Returns the compact unwind encoding of a function.
    pub compact_unwind: fn(&CompiledFunction) -> u32,
    /// Compiles a function for macOS.
    pub compile: fn(&Function) -> CompiledFunction,
}

/// Place of the addend of a relocation of code in Mach-O.
#[derive(Debug, Clone, Copy)]
pub enum AddendForm {
    /// In the code at an offset.
    Code(fn(&mut [u8], usize, i64)),
    /// In another relocation of this type, which precedes it.
    Relocation(macho::RelocationType),
}

/// Frame at a function's first instruction, in the register numbers of the machine's DWARF supplement.
#[derive(Debug)]
pub struct CallFrame {
    /// Factor of code offsets.
    pub code_alignment: u8,
    /// Register or column of the return address.
    pub return_address: u16,
    /// Register of the stack pointer.
    pub stack_pointer: u16,
    /// Distance of the canonical frame address from the stack pointer on entry, in bytes.
    pub entry_offset: i32,
    /// Position where the call instruction stored the return address, relative to the canonical frame address; `None`
    /// if the return address stays in its register.
    pub return_address_at: Option<i32>,
}
