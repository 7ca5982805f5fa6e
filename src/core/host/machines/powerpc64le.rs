//! Little-endian Power with 64-bit registers under the ELFv2 ABI.

use object::{Endianness, elf};

use super::fixed_width::{distance, fill_in, signed, word};
use crate::host::architecture::{Architecture, CallFrame, ElfMachine};
use crate::host::assembler::{Assembler, Buffer, CodeTarget, Frame, Label, Register, UnwindRule};
use crate::host::code::{Comparison, Width};
use crate::host::compile::compile;
use crate::host::symbol::{SymbolAddress, SymbolId};

/// The machine: 64-Bit ELF V2 ABI Specification, Power Architecture.
pub const POWERPC64LE: Architecture = Architecture {
    endianness: Endianness::Little,
    function_alignment: 16,
    fill: &[0x08, 0x00, 0xe0, 0x7f], // trap
    call_frame: CallFrame {
        code_alignment: 4,
        return_address: LINK_REGISTER,
        stack_pointer: SP as u16,
        entry_offset: 0,
        return_address_at: None,
    },
    elf: ElfMachine {
        machine: elf::EM_PPC64,
        flags: elf::FileFlags(2), // ELFv2
        absolute: elf::R_PPC64_ADDR64,
        relative: elf::R_PPC64_REL32,
        eh_frame_type: elf::SHT_PROGBITS,
        hardening: None,
        // The local entry point, for callers that share the TOC, comes after the two instructions that load its
        // address.
        large_section: None,
        function_other: 3 << elf::STO_PPC64_LOCAL_BIT,
        code_symbol: None,
        compile: compile::<PowerAssembler>,
    },
};

const LINK_REGISTER: u16 = 65;
const SP: u32 = 1;
/// Register of the TOC; every address is calculated from it.
const TOC: u32 = 2;
/// Register of a function's own address when it is entered from another module.
const ENTRY: u32 = 12;
/// Registers of the locals.
const LOCALS: [u32; 2] = [31, 30];

/// The frame, from the stack pointer: back chain, condition and link registers and TOC of the callees; then, if a call
/// has more arguments than registers, space for all its arguments; at the end the saved locals.
const HEADER_SIZE: usize = 32;
const LINK_REGISTER_AT: i32 = 16;

/// The major opcodes, combined with minor opcodes where those exist.
const CMPDI: u32 = 11 << 26 | 1 << 21;
const ADDI: u32 = 14 << 26;
const ADDIS: u32 = 15 << 26;
const BC: u32 = 16 << 26;
const B: u32 = 18 << 26;
const ORI: u32 = 24 << 26;
const RLDICL: u32 = 30 << 26;
const LWZ: u32 = 32 << 26;
const LHZ: u32 = 40 << 26;
const LD: u32 = 58 << 26;
const STD: u32 = 62 << 26;
const STDU: u32 = 62 << 26 | 1;
const CMPLD: u32 = 31 << 26 | 1 << 21 | 32 << 1;
const OR: u32 = 31 << 26 | 444 << 1;
const EXTSW: u32 = 31 << 26 | 986 << 1;
const NOP: u32 = ORI;

/// Conditions of `bc`: branch if a bit of the comparison's result is set (12) or clear (4), and the number of the bit.
const EQUAL: u32 = 12 << 21 | 2 << 16;
const NOT_EQUAL: u32 = 4 << 21 | 2 << 16;
const NOT_BELOW: u32 = 4 << 21;

#[derive(Default)]
pub struct PowerAssembler {
    buffer: Buffer,
}

impl PowerAssembler {
    fn number(register: Register) -> u32 {
        match register {
            Register::Argument(index) => 3 + index as u32, // r3 to r10
            Register::Result => 3,
            Register::Local(index) => LOCALS[index],
            Register::Scratch => 11, // and not r0, which means the number 0 to a base
        }
    }

    /// Appends an instruction with a constant of 16 bits: arithmetic, or memory at `base` + `value`.
    fn immediate(&mut self, opcode: u32, register: u32, base: u32, value: i32) {
        self.buffer.word(opcode | register << 21 | base << 16 | signed(value.into(), 16));
    }

    /// Appends a load or store of 64 bits, where the low bits of the offset belong to the opcode.
    fn doubleword(&mut self, opcode: u32, register: u32, base: u32, offset: i32) {
        assert!(offset % 4 == 0, "{offset} is not aligned");
        self.immediate(opcode, register, base, offset);
    }

    /// Appends `addis` and `addi`: `to` = `base` + a distance that the linker fills in, the upper half and then the
    /// lower, each with a relocation and its addend.
    fn add_distance(&mut self, to: u32, base: u32, target: CodeTarget, halves: [(elf::RelocationType, i64); 2]) {
        for ((opcode, base), (kind, addend)) in [(ADDIS, base), (ADDI, to)].into_iter().zip(halves) {
            let position = self.buffer.position();
            self.buffer.relocate(position, kind, target, addend);
            self.immediate(opcode, to, base, 0);
        }
    }

    fn branch(&mut self, condition: u32, to: Label) {
        self.buffer.jump(to);
        self.buffer.word(BC | condition);
    }

    fn compare(&mut self, register: Register, value: i32) {
        self.buffer.word(CMPDI | Self::number(register) << 16 | signed(value.into(), 16));
    }

    fn size(frame: Frame) -> i32 {
        let arguments = match frame.stack_arguments {
            0 => 0,
            more => 8 * (Self::ARGUMENT_REGISTERS + more),
        };
        (HEADER_SIZE + arguments + 8 * frame.locals).next_multiple_of(16) as i32
    }

    /// Returns the registers of the locals and their distances from the canonical frame address.
    fn saved(frame: Frame) -> impl Iterator<Item = (u32, i32)> {
        LOCALS[..frame.locals].iter().zip(1..).map(|(&register, place)| (register, -8 * place))
    }
}

impl Assembler for PowerAssembler {
    const ARGUMENT_REGISTERS: usize = 8;

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn prologue(&mut self, frame: Frame) {
        // The TOC's distance from the function, hence from the first of the two instructions.
        let halves = [(elf::R_PPC64_REL16_HA, 0), (elf::R_PPC64_REL16_LO, 4)];
        self.add_distance(TOC, ENTRY, CodeTarget::Abi(".TOC."), halves);
        let size = Self::size(frame);
        self.buffer.word(0x7c08_02a6); // mflr 0
        self.doubleword(STD, 0, SP, LINK_REGISTER_AT); // in the caller's frame
        self.buffer.unwind(UnwindRule::Saved { register: LINK_REGISTER, at: LINK_REGISTER_AT });
        self.doubleword(STDU, SP, SP, -size);
        self.buffer.unwind(UnwindRule::FrameAt(size));
        for (register, at) in Self::saved(frame) {
            self.doubleword(STD, register, SP, size + at);
            self.buffer.unwind(UnwindRule::Saved { register: register as u16, at });
        }
    }

    fn epilogue(&mut self, frame: Frame) {
        let size = Self::size(frame);
        for (register, at) in Self::saved(frame) {
            self.doubleword(LD, register, SP, size + at);
        }
        // The saved values stay readable: the ABI keeps signals away from 288 bytes below the stack pointer.
        self.immediate(ADDI, SP, SP, size);
        self.buffer.unwind(UnwindRule::FrameAt(0));
        self.doubleword(LD, 0, SP, LINK_REGISTER_AT);
        self.buffer.word(0x7c08_03a6); // mtlr 0
        self.buffer.word(0x4e80_0020); // blr
    }

    fn call(&mut self, callee: SymbolId) {
        let position = self.buffer.position();
        self.buffer.relocate(position, elf::R_PPC64_REL24, CodeTarget::Symbol(callee), 0);
        self.buffer.word(B | 1); // bl
        // The linker puts the reload of the TOC here if the callee may be in another module.
        self.buffer.word(NOP);
    }

    fn integer(&mut self, to: Register, value: i32) {
        let to = Self::number(to);
        self.immediate(ADDIS, to, 0, value >> 16); // lis
        self.buffer.word(ORI | to << 21 | to << 16 | value as u32 & 0xffff);
    }

    fn address(&mut self, to: Register, address: SymbolAddress) {
        let halves = [elf::R_PPC64_TOC16_HA, elf::R_PPC64_TOC16_LO].map(|kind| (kind, address.offset as i64));
        self.add_distance(Self::number(to), TOC, CodeTarget::Symbol(address.symbol), halves);
    }

    fn load(&mut self, to: Register, base: Register, offset: u32, width: Width) {
        let to = Self::number(to);
        let base = Self::number(base);
        let offset = offset as i32;
        match width {
            Width::U16 => self.immediate(LHZ, to, base, offset),
            Width::U32 => self.immediate(LWZ, to, base, offset),
            Width::U64 => self.doubleword(LD, to, base, offset),
        }
    }

    fn store(&mut self, base: Register, from: Register) {
        self.doubleword(STD, Self::number(from), Self::number(base), 0);
    }

    fn store_stack_argument(&mut self, index: usize, from: Register) {
        // After the space for the register arguments.
        let at = HEADER_SIZE + 8 * (Self::ARGUMENT_REGISTERS + index);
        self.doubleword(STD, Self::number(from), SP, at as i32);
    }

    fn copy(&mut self, to: Register, from: Register) {
        let from = Self::number(from);
        self.buffer.word(OR | from << 21 | Self::number(to) << 16 | from << 11); // mr
    }

    fn extract_bits(&mut self, register: Register, first: u32, count: u32) {
        // Rotates the bits to the right end and clears all before them; both numbers have their highest bit elsewhere.
        let register = Self::number(register);
        let rotate = (64 - first) % 64;
        let clear = 64 - count;
        let rotate = (rotate & 0x1f) << 11 | (rotate >> 5) << 1;
        let clear = (clear & 0x1f) << 6 | clear & 0x20;
        self.buffer.word(RLDICL | register << 21 | register << 16 | rotate | clear);
    }

    fn sign_extend(&mut self, register: Register) {
        let register = Self::number(register);
        self.buffer.word(EXTSW | register << 21 | register << 16);
    }

    fn add(&mut self, register: Register, value: u32) {
        let register = Self::number(register);
        self.immediate(ADDI, register, register, value as i32);
    }

    fn jump(&mut self, to: Label) {
        self.buffer.jump(to);
        self.buffer.word(B);
    }

    fn jump_if(&mut self, register: Register, comparison: Comparison, to: Label) {
        let (condition, value) = comparison.parts(EQUAL, NOT_EQUAL);
        self.compare(register, value);
        self.branch(condition, to);
    }

    fn jump_if_not_below(&mut self, a: Register, b: Register, to: Label) {
        self.buffer.word(CMPLD | Self::number(a) << 16 | Self::number(b) << 11);
        self.branch(NOT_BELOW, to);
    }

    fn fix_jump(code: &mut [u8], at: usize, target: usize) {
        let bits = match word(code, at) {
            B => distance(at, target, 24) << 2,
            _ => distance(at, target, 14) << 2, // bc
        };
        fill_in(code, at, bits);
    }
}
