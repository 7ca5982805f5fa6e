//! AArch64, little-endian, under the Procedure Call Standard for the Arm 64-bit Architecture (AAPCS64).

use std::marker::PhantomData;

use object::{Endianness, elf, macho, pe};

use super::fixed_width::{distance, fill_in, signed, unsigned, word};
use super::stack_frame::StackFrame;
use crate::host::architecture::{
    AddendForm, Architecture, CallFrame, CoffMachine, ElfMachine, MachOMachine, UnwindFormat,
};
use crate::host::assembler::{Assembler, Buffer, CodeTarget, CompiledFunction, Frame, Label, Register, UnwindRule};
use crate::host::code::{Comparison, Width};
use crate::host::compile::compile;
use crate::host::symbol::{SymbolAddress, SymbolId};

/// The machine. Register numbers: DWARF for the Arm 64-bit Architecture; relocations and the mapping symbol `$x`: ELF
/// for the Arm 64-bit Architecture.
pub const AARCH64: Architecture = Architecture {
    endianness: Endianness::Little,
    function_alignment: 4,
    fill: &[0, 0, 0, 0], // udf
    call_frame: CallFrame {
        code_alignment: 4,
        return_address: 30,
        stack_pointer: 31,
        entry_offset: 0,
        return_address_at: None,
    },
    elf: ElfMachine {
        machine: elf::EM_AARCH64,
        flags: elf::FileFlags(0),
        absolute: elf::R_AARCH64_ABS64,
        relative: elf::R_AARCH64_PREL32,
        eh_frame_type: elf::SHT_PROGBITS,
        // Functions begin with paciasp, which accepts an indirect branch, and sign the return address on the stack.
        hardening: Some((
            elf::GNU_PROPERTY_AARCH64_FEATURE_1_AND,
            elf::GNU_PROPERTY_AARCH64_FEATURE_1_BTI | elf::GNU_PROPERTY_AARCH64_FEATURE_1_PAC,
        )),
        large_section: None,
        function_other: 0,
        code_symbol: Some("$x"),
        compile: compile::<A64Assembler<Linux>>,
    },
};

/// Objects for Windows. Relocations: PE Format, ARM64 processors; an addend is in the immediate of the instruction.
/// Unwind information for signed return addresses exists only since Windows 11, so they are not signed.
pub const AARCH64_COFF: CoffMachine = CoffMachine {
    architecture: &AARCH64,
    machine: pe::IMAGE_FILE_MACHINE_ARM64,
    absolute: pe::IMAGE_REL_ARM64_ADDR64,
    image_relative: pe::IMAGE_REL_ARM64_ADDR32NB,
    code_relocations: &[
        (elf::R_AARCH64_CALL26, pe::IMAGE_REL_ARM64_BRANCH26),
        (elf::R_AARCH64_ADR_PREL_PG_HI21, pe::IMAGE_REL_ARM64_PAGEBASE_REL21),
        (elf::R_AARCH64_ADD_ABS_LO12_NC, pe::IMAGE_REL_ARM64_PAGEOFFSET_12A),
    ],
    store_addend: |code, at, kind, addend| {
        let bits = match kind {
            pe::IMAGE_REL_ARM64_PAGEBASE_REL21 => {
                let addend = signed(addend, 21);
                (addend & 3) << 29 | (addend >> 2) << 5
            }
            pe::IMAGE_REL_ARM64_PAGEOFFSET_12A => (addend as u32 & 0xfff) << 10,
            _ => signed(addend / 4, 26),
        };
        fill_in(code, at, bits);
    },
    unwind: UnwindFormat::Arm64,
    compile: compile::<A64Assembler<Windows>>,
};

/// Objects for macOS. Relocations: Apple, `mach-o/arm64/reloc.h`; a separate relocation has the addend.
pub const AARCH64_MACHO: MachOMachine = MachOMachine {
    architecture: &AARCH64,
    cpu: (macho::CPU_TYPE_ARM64, macho::CPU_SUBTYPE_ARM64_ALL),
    oldest_system: (11, 0),
    code_relocations: &[
        (elf::R_AARCH64_CALL26, macho::ARM64_RELOC_BRANCH26, true),
        (elf::R_AARCH64_ADR_PREL_PG_HI21, macho::ARM64_RELOC_PAGE21, true),
        (elf::R_AARCH64_ADD_ABS_LO12_NC, macho::ARM64_RELOC_PAGEOFF12, false),
    ],
    addend: AddendForm::Relocation(macho::ARM64_RELOC_ADDEND),
    compact_unwind,
    compile: compile::<A64Assembler<Apple>>,
};

/// Returns the compact unwind encoding of a function: a frame with a frame pointer, and whether x19 and x20 are saved
/// below it.
/// Source: Apple, `mach-o/compact_unwind_encoding.h`.
fn compact_unwind(function: &CompiledFunction) -> u32 {
    const FRAME: u32 = 0x0400_0000;
    const X19_X20_PAIR: u32 = 1;
    let is_pair = |&(_, rule): &(u32, UnwindRule)| matches!(rule, UnwindRule::Saved { register: 19, .. });
    if function.unwind.iter().any(is_pair) { FRAME | X19_X20_PAIR } else { FRAME }
}

/// Conventions of a system.
pub trait System: Default {
    /// True if functions sign the return address on the stack.
    const SIGNS: bool = false;
    /// Registers that functions save: the return address, the frame pointer where it is required, the locals.
    const SAVED: &'static [u8] = &[30, 19, 20];
    /// Number of registers that every function saves.
    const ALWAYS_SAVED: usize = 1;
}

/// Linux.
#[derive(Default)]
pub struct Linux;

impl System for Linux {
    const SIGNS: bool = true;
}

/// Windows.
#[derive(Default)]
pub struct Windows;

impl System for Windows {}

/// Apple's systems, where the frame pointer always points to a frame record: itself and the return address of the
/// caller.
#[derive(Default)]
pub struct Apple;

impl System for Apple {
    const SAVED: &'static [u8] = &[30, 29, 19, 20];
    const ALWAYS_SAVED: usize = 2;
}

/// A second scratch register, x10, for constants in comparisons.
const CONSTANT: u32 = 10;
const SP: u32 = 31;

/// Conditions of `b.cond`.
const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
const NOT_BELOW: u32 = 2;

#[derive(Default)]
pub struct A64Assembler<S = Linux> {
    buffer: Buffer,
    system: PhantomData<S>,
}

impl<S: System> A64Assembler<S> {
    fn number(register: Register) -> u32 {
        match register {
            Register::Argument(index) => index as u32, // x0 to x7
            Register::Result => 0,
            Register::Local(index) => S::SAVED[S::ALWAYS_SAVED + index].into(),
            Register::Scratch => 9,
        }
    }

    /// Uses both locals or none if unwind information describes them as a pair.
    fn whole(frame: Frame) -> Frame {
        let locals = if S::ALWAYS_SAVED == 2 && frame.locals > 0 { 2 } else { frame.locals };
        Frame { locals, ..frame }
    }

    fn load_constant(&mut self, to: u32, value: i32) {
        let low = value as u32 & 0xffff;
        let high = value as u32 >> 16;
        if value < 0 {
            self.buffer.word(0x9280_0000 | (low ^ 0xffff) << 5 | to); // movn: all other bits become ones
        } else {
            self.buffer.word(0xd280_0000 | low << 5 | to); // movz
        }
        self.buffer.word(0xf2a0_0000 | high << 5 | to); // movk, lsl 16
    }

    /// Appends `operation` on 64 bits in memory; the offset is encoded in units of 8.
    fn memory(&mut self, operation: u32, register: u32, base: u32, offset: u32) {
        assert!(offset.is_multiple_of(8), "{offset} is not aligned");
        self.buffer.word(operation | unsigned(offset / 8, 12) << 10 | base << 5 | register);
    }

    fn compare(&mut self, a: u32, b: u32) {
        self.buffer.word(0xeb00_001f | b << 16 | a << 5); // cmp
    }

    fn branch(&mut self, condition: u32, to: Label) {
        self.buffer.jump(to);
        self.buffer.word(B_COND | condition);
    }
}

const STR: u32 = 0xf900_0000;
const LDR: u32 = 0xf940_0000;
const B: u32 = 0x1400_0000;
const B_COND: u32 = 0x5400_0000;

impl<S: System> StackFrame for A64Assembler<S> {
    const SAVED: &'static [u8] = S::SAVED;
    const ALWAYS_SAVED: usize = S::ALWAYS_SAVED;

    fn move_stack_pointer(&mut self, by: i32) {
        let operation = if by < 0 { 0xd100_0000 } else { 0x9100_0000 }; // sub, add
        self.buffer.word(operation | unsigned(by.unsigned_abs(), 12) << 10 | SP << 5 | SP);
    }

    fn save(&mut self, register: u8, at: i32) {
        self.memory(STR, register.into(), SP, at as u32);
    }

    fn restore(&mut self, register: u8, at: i32) {
        self.memory(LDR, register.into(), SP, at as u32);
    }

    fn set_frame_pointer(&mut self, at: i32) {
        if S::ALWAYS_SAVED == 2 {
            self.buffer.word(0x9100_0000 | unsigned(at as u32, 12) << 10 | SP << 5 | 29); // add
        }
    }
}

impl<S: System> Assembler for A64Assembler<S> {
    const ARGUMENT_REGISTERS: usize = 8;

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn prologue(&mut self, frame: Frame) {
        if S::SIGNS {
            self.buffer.word(0xd503_233f); // paciasp
            self.buffer.unwind(UnwindRule::ReturnAddressSignature);
        }
        self.make_frame(Self::whole(frame));
    }

    fn epilogue(&mut self, frame: Frame) {
        self.remove_frame(Self::whole(frame));
        if S::SIGNS {
            self.buffer.word(0xd503_23bf); // autiasp
            self.buffer.unwind(UnwindRule::ReturnAddressSignature);
        }
        self.buffer.word(0xd65f_03c0); // ret
    }

    fn call(&mut self, callee: SymbolId) {
        let position = self.buffer.position();
        self.buffer.relocate(position, elf::R_AARCH64_CALL26, CodeTarget::Symbol(callee), 0);
        self.buffer.word(0x9400_0000); // bl
    }

    fn integer(&mut self, to: Register, value: i32) {
        self.load_constant(Self::number(to), value);
    }

    fn address(&mut self, to: Register, address: SymbolAddress) {
        let to = Self::number(to);
        let position = self.buffer.position();
        let target = CodeTarget::Symbol(address.symbol);
        self.buffer.relocate(position, elf::R_AARCH64_ADR_PREL_PG_HI21, target, address.offset as i64);
        self.buffer.word(0x9000_0000 | to); // adrp
        self.buffer.relocate(position + 4, elf::R_AARCH64_ADD_ABS_LO12_NC, target, address.offset as i64);
        self.buffer.word(0x9100_0000 | to << 5 | to); // add
    }

    fn load(&mut self, to: Register, base: Register, offset: u32, width: Width) {
        let (operation, size) = match width {
            Width::U16 => (0x7940_0000, 2), // ldrh
            Width::U32 => (0xb940_0000, 4), // ldr, 32 bits
            Width::U64 => (LDR, 8),
        };
        assert!(offset.is_multiple_of(size), "{offset} is not aligned");
        let offset = unsigned(offset / size, 12);
        self.buffer.word(operation | offset << 10 | Self::number(base) << 5 | Self::number(to));
    }

    fn store(&mut self, base: Register, from: Register) {
        self.memory(STR, Self::number(from), Self::number(base), 0);
    }

    fn store_stack_argument(&mut self, index: usize, from: Register) {
        self.memory(STR, Self::number(from), SP, 8 * index as u32);
    }

    fn copy(&mut self, to: Register, from: Register) {
        self.buffer.word(0xaa00_03e0 | Self::number(from) << 16 | Self::number(to)); // mov
    }

    fn extract_bits(&mut self, register: Register, first: u32, count: u32) {
        let register = Self::number(register);
        self.buffer.word(0xd340_0000 | first << 16 | (first + count - 1) << 10 | register << 5 | register); // ubfx
    }

    fn sign_extend(&mut self, register: Register) {
        let register = Self::number(register);
        self.buffer.word(0x9340_7c00 | register << 5 | register); // sxtw
    }

    fn add(&mut self, register: Register, value: u32) {
        let register = Self::number(register);
        self.buffer.word(0x9100_0000 | unsigned(value, 12) << 10 | register << 5 | register); // add
    }

    fn jump(&mut self, to: Label) {
        self.buffer.jump(to);
        self.buffer.word(B);
    }

    fn jump_if(&mut self, register: Register, comparison: Comparison, to: Label) {
        let (condition, value) = comparison.parts(EQUAL, NOT_EQUAL);
        self.load_constant(CONSTANT, value);
        self.compare(Self::number(register), CONSTANT);
        self.branch(condition, to);
    }

    fn jump_if_not_below(&mut self, a: Register, b: Register, to: Label) {
        self.compare(Self::number(a), Self::number(b));
        self.branch(NOT_BELOW, to);
    }

    fn fix_jump(code: &mut [u8], at: usize, target: usize) {
        let bits = match word(code, at) {
            B => distance(at, target, 26),
            _ => distance(at, target, 19) << 5, // b.cond
        };
        fill_in(code, at, bits);
    }
}
