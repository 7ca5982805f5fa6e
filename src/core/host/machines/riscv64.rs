//! RISC-V with 64-bit registers under the LP64D ABI.

use object::{Endianness, elf};

use super::fixed_width::{distance, fill_in, signed, word};
use super::stack_frame::StackFrame;
use crate::host::architecture::{Architecture, CallFrame, ElfMachine};
use crate::host::assembler::{Assembler, Buffer, CodeTarget, Frame, Label, Register};
use crate::host::code::{Comparison, Width};
use crate::host::compile::compile;
use crate::host::symbol::{SymbolAddress, SymbolId};

/// The machine: RISC-V ABIs Specification (psABI), chapters on ELF and DWARF. The object holds no compressed
/// instructions and lets the linker relax nothing, so that it needs no alignment relocations and no
/// `.riscv.attributes`.
pub const RISCV64: Architecture = Architecture {
    endianness: Endianness::Little,
    function_alignment: 4,
    fill: &[0x73, 0x00, 0x10, 0x00], // ebreak
    call_frame: CallFrame {
        code_alignment: 4,
        return_address: RA as u16,
        stack_pointer: SP as u16,
        entry_offset: 0,
        return_address_at: None,
    },
    elf: ElfMachine {
        machine: elf::EM_RISCV,
        flags: elf::EF_RISCV_FLOAT_ABI_DOUBLE,
        absolute: elf::R_RISCV_64,
        relative: elf::R_RISCV_32_PCREL,
        eh_frame_type: elf::SHT_PROGBITS,
        hardening: None,
        large_section: None,
        function_other: 0,
        code_symbol: Some("$x"),
        compile: compile::<RiscvAssembler>,
    },
};

const ZERO: u32 = 0;
const RA: u32 = 1;
const SP: u32 = 2;
/// A second scratch register, t1, for constants in comparisons.
const CONSTANT: u32 = 6;

/// Major opcodes: chapter "RV32/64G Instruction Set Listings" of the ISA manual.
const LOAD: u32 = 0x03;
const OP_IMM: u32 = 0x13;
const AUIPC: u32 = 0x17;
const OP_IMM_32: u32 = 0x1b;
const STORE: u32 = 0x23;
const LUI: u32 = 0x37;
const BRANCH: u32 = 0x63;
const JALR: u32 = 0x67;
const JAL: u32 = 0x6f;

/// Function codes, the second part of an opcode.
const DOUBLEWORD: u32 = 3;
const SHIFT_LEFT: u32 = 1;
const SHIFT_RIGHT: u32 = 5;
const EQUAL: u32 = 0;
const NOT_EQUAL: u32 = 1;
const NOT_BELOW: u32 = 7;

#[derive(Default)]
pub struct RiscvAssembler {
    buffer: Buffer,
}

impl RiscvAssembler {
    fn number(register: Register) -> u32 {
        match register {
            Register::Argument(index) => 10 + index as u32, // a0 to a7
            Register::Result => 10,
            Register::Local(index) => Self::SAVED[1 + index].into(),
            Register::Scratch => 5, // t0
        }
    }

    /// Appends an instruction of the I format: `to` = `from` and a constant of 12 bits.
    fn immediate(&mut self, opcode: u32, function: u32, to: u32, from: u32, value: i32) {
        self.buffer.word(signed(value.into(), 12) << 20 | from << 15 | function << 12 | to << 7 | opcode);
    }

    /// Appends `sd`, of the S format.
    fn store_doubleword(&mut self, from: u32, base: u32, offset: i32) {
        let offset = signed(offset.into(), 12);
        let high = offset >> 5;
        let low = offset & 0x1f;
        self.buffer.word(high << 25 | from << 20 | base << 15 | DOUBLEWORD << 12 | low << 7 | STORE);
    }

    fn load_constant(&mut self, to: u32, value: i32) {
        // The low half is added with its sign, so the upper half compensates; both results keep 32 bits.
        let low = (value << 20) >> 20;
        let high = value.wrapping_sub(low) as u32;
        self.buffer.word(high | to << 7 | LUI);
        self.immediate(OP_IMM_32, 0, to, to, low); // addiw
    }

    fn branch(&mut self, condition: u32, a: u32, b: u32, to: Label) {
        self.buffer.jump(to);
        self.buffer.word(b << 20 | a << 15 | condition << 12 | BRANCH);
    }
}

fn bits_of(number: u32, first: u32, count: u32) -> u32 {
    number >> first & ((1 << count) - 1)
}

impl StackFrame for RiscvAssembler {
    const SAVED: &'static [u8] = &[RA as u8, 9, 18]; // ra, s1, s2

    fn move_stack_pointer(&mut self, by: i32) {
        self.immediate(OP_IMM, 0, SP, SP, by); // addi
    }

    fn save(&mut self, register: u8, at: i32) {
        self.store_doubleword(register.into(), SP, at);
    }

    fn restore(&mut self, register: u8, at: i32) {
        self.immediate(LOAD, DOUBLEWORD, register.into(), SP, at);
    }
}

impl Assembler for RiscvAssembler {
    const ARGUMENT_REGISTERS: usize = 8;

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn prologue(&mut self, frame: Frame) {
        self.make_frame(frame);
    }

    fn epilogue(&mut self, frame: Frame) {
        self.remove_frame(frame);
        self.immediate(JALR, 0, ZERO, RA, 0); // ret
    }

    fn call(&mut self, callee: SymbolId) {
        // One relocation for both instructions.
        let position = self.buffer.position();
        self.buffer.relocate(position, elf::R_RISCV_CALL_PLT, CodeTarget::Symbol(callee), 0);
        self.buffer.word(RA << 7 | AUIPC);
        self.immediate(JALR, 0, RA, RA, 0);
    }

    fn integer(&mut self, to: Register, value: i32) {
        self.load_constant(Self::number(to), value);
    }

    fn address(&mut self, to: Register, address: SymbolAddress) {
        let to = Self::number(to);
        let position = self.buffer.position();
        let target = CodeTarget::Symbol(address.symbol);
        self.buffer.relocate(position, elf::R_RISCV_PCREL_HI20, target, address.offset as i64);
        self.buffer.word(to << 7 | AUIPC);
        // The low part belongs to the distance from the auipc, so its relocation refers to that and not to the address.
        let high_part = CodeTarget::Here(position as u64);
        self.buffer.relocate(position + 4, elf::R_RISCV_PCREL_LO12_I, high_part, 0);
        self.immediate(OP_IMM, 0, to, to, 0); // addi
    }

    fn load(&mut self, to: Register, base: Register, offset: u32, width: Width) {
        let function = match width {
            Width::U16 => 5, // lhu
            Width::U32 => 6, // lwu
            Width::U64 => DOUBLEWORD,
        };
        self.immediate(LOAD, function, Self::number(to), Self::number(base), offset as i32);
    }

    fn store(&mut self, base: Register, from: Register) {
        self.store_doubleword(Self::number(from), Self::number(base), 0);
    }

    fn store_stack_argument(&mut self, index: usize, from: Register) {
        self.store_doubleword(Self::number(from), SP, 8 * index as i32);
    }

    fn copy(&mut self, to: Register, from: Register) {
        self.immediate(OP_IMM, 0, Self::number(to), Self::number(from), 0); // mv
    }

    fn extract_bits(&mut self, register: Register, first: u32, count: u32) {
        let register = Self::number(register);
        self.immediate(OP_IMM, SHIFT_LEFT, register, register, 64 - (first + count) as i32);
        self.immediate(OP_IMM, SHIFT_RIGHT, register, register, 64 - count as i32);
    }

    fn sign_extend(&mut self, register: Register) {
        let register = Self::number(register);
        self.immediate(OP_IMM_32, 0, register, register, 0); // sext.w
    }

    fn add(&mut self, register: Register, value: u32) {
        let register = Self::number(register);
        self.immediate(OP_IMM, 0, register, register, value as i32); // addi
    }

    fn jump(&mut self, to: Label) {
        self.buffer.jump(to);
        self.buffer.word(JAL);
    }

    fn jump_if(&mut self, register: Register, comparison: Comparison, to: Label) {
        let (condition, value) = comparison.parts(EQUAL, NOT_EQUAL);
        self.load_constant(CONSTANT, value);
        self.branch(condition, Self::number(register), CONSTANT, to);
    }

    fn jump_if_not_below(&mut self, a: Register, b: Register, to: Label) {
        self.branch(NOT_BELOW, Self::number(a), Self::number(b), to);
    }

    fn fix_jump(code: &mut [u8], at: usize, target: usize) {
        // The instructions hold a distance in bytes, without the lowest bit and in shuffled pieces.
        let bits = match word(code, at) {
            JAL => {
                let bytes = distance(at, target, 19) << 2;
                bits_of(bytes, 20, 1) << 31
                    | bits_of(bytes, 1, 10) << 21
                    | bits_of(bytes, 11, 1) << 20
                    | bits_of(bytes, 12, 8) << 12
            }
            _ => {
                let bytes = distance(at, target, 11) << 2;
                bits_of(bytes, 12, 1) << 31
                    | bits_of(bytes, 5, 6) << 25
                    | bits_of(bytes, 1, 4) << 8
                    | bits_of(bytes, 11, 1) << 7
            }
        };
        fill_in(code, at, bits);
    }
}
