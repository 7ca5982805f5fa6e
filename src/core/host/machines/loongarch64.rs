//! LoongArch with 64-bit registers under the LP64D ABI.

use object::{Endianness, elf};

use super::fixed_width::{distance, fill_in, signed, word};
use super::stack_frame::StackFrame;
use crate::host::architecture::{Architecture, CallFrame, ElfMachine};
use crate::host::assembler::{Assembler, Buffer, CodeTarget, Frame, Label, Register};
use crate::host::code::{Comparison, Width};
use crate::host::compile::compile;
use crate::host::symbol::{SymbolAddress, SymbolId};

/// The machine: LoongArch ABI, with its parts on ELF (laelf), procedure calls (lapcs) and DWARF (ladwarf). The linker
/// must not relax anything.
pub const LOONGARCH64: Architecture = Architecture {
    endianness: Endianness::Little,
    function_alignment: 4,
    fill: &[0x00, 0x00, 0x2a, 0x00], // break 0
    call_frame: CallFrame {
        code_alignment: 4,
        return_address: RA as u16,
        stack_pointer: SP as u16,
        entry_offset: 0,
        return_address_at: None,
    },
    elf: ElfMachine {
        machine: elf::EM_LOONGARCH,
        flags: elf::FileFlags(elf::EF_LARCH_ABI_DOUBLE_FLOAT.0 | elf::EF_LARCH_OBJABI_V1.0),
        absolute: elf::R_LARCH_64,
        relative: elf::R_LARCH_32_PCREL,
        eh_frame_type: elf::SHT_PROGBITS,
        hardening: None,
        large_section: None,
        function_other: 0,
        code_symbol: None,
        compile: compile::<LoongArchAssembler>,
    },
};

const ZERO: u32 = 0;
const RA: u32 = 1;
const SP: u32 = 3;
/// A second scratch register, t1, for constants in comparisons.
const CONSTANT: u32 = 13;

const LU12I_W: u32 = 0x1400_0000;
const PCALAU12I: u32 = 0x1a00_0000;
const PCADDU18I: u32 = 0x1e00_0000;
const LD_D: u32 = 0x28c0_0000;
const ST_D: u32 = 0x29c0_0000;
const LD_HU: u32 = 0x2a40_0000;
const LD_WU: u32 = 0x2a80_0000;
const ADDI_W: u32 = 0x0280_0000;
const ADDI_D: u32 = 0x02c0_0000;
const ORI: u32 = 0x0380_0000;
const BSTRPICK_D: u32 = 0x00c0_0000;
const OR: u32 = 0x0015_0000;
const JIRL: u32 = 0x4c00_0000;
const B: u32 = 0x5000_0000;
const BEQ: u32 = 0x5800_0000;
const BNE: u32 = 0x5c00_0000;
const BGEU: u32 = 0x6c00_0000;

#[derive(Default)]
pub struct LoongArchAssembler {
    buffer: Buffer,
}

impl LoongArchAssembler {
    fn number(register: Register) -> u32 {
        match register {
            Register::Argument(index) => 4 + index as u32, // a0 to a7
            Register::Result => 4,
            Register::Local(index) => Self::SAVED[1 + index].into(),
            Register::Scratch => 12, // t0
        }
    }

    /// Appends an instruction with a signed constant of 12 bits: arithmetic, or memory at `base` + `value`.
    fn immediate(&mut self, opcode: u32, register: u32, base: u32, value: i32) {
        self.buffer.word(opcode | signed(value.into(), 12) << 10 | base << 5 | register);
    }

    fn load_constant(&mut self, to: u32, value: i32) {
        let high = value as u32 >> 12;
        let low = value as u32 & 0xfff;
        self.buffer.word(LU12I_W | high << 5 | to);
        self.buffer.word(ORI | low << 10 | to << 5 | to);
    }

    fn branch(&mut self, opcode: u32, a: u32, b: u32, to: Label) {
        self.buffer.jump(to);
        self.buffer.word(opcode | a << 5 | b);
    }
}

impl StackFrame for LoongArchAssembler {
    const SAVED: &'static [u8] = &[RA as u8, 23, 24]; // ra, s0, s1

    fn move_stack_pointer(&mut self, by: i32) {
        self.immediate(ADDI_D, SP, SP, by);
    }

    fn save(&mut self, register: u8, at: i32) {
        self.immediate(ST_D, register.into(), SP, at);
    }

    fn restore(&mut self, register: u8, at: i32) {
        self.immediate(LD_D, register.into(), SP, at);
    }
}

impl Assembler for LoongArchAssembler {
    const ARGUMENT_REGISTERS: usize = 8;

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn prologue(&mut self, frame: Frame) {
        self.make_frame(frame);
    }

    fn epilogue(&mut self, frame: Frame) {
        self.remove_frame(frame);
        self.buffer.word(JIRL | RA << 5 | ZERO); // ret
    }

    fn call(&mut self, callee: SymbolId) {
        // One relocation for both instructions, with a reach of 128 GiB. LLVM 22 calls like this by default. `bl` alone
        // reaches 128 MiB, and lld 22 rejects a program whose text is larger; lld 19 and 22 support this relocation.
        let position = self.buffer.position();
        self.buffer.relocate(position, elf::R_LARCH_CALL36, CodeTarget::Symbol(callee), 0);
        self.buffer.word(PCADDU18I | RA);
        self.buffer.word(JIRL | RA << 5 | RA);
    }

    fn integer(&mut self, to: Register, value: i32) {
        self.load_constant(Self::number(to), value);
    }

    fn address(&mut self, to: Register, address: SymbolAddress) {
        let to = Self::number(to);
        let position = self.buffer.position();
        let target = CodeTarget::Symbol(address.symbol);
        self.buffer.relocate(position, elf::R_LARCH_PCALA_HI20, target, address.offset as i64);
        self.buffer.word(PCALAU12I | to);
        self.buffer.relocate(position + 4, elf::R_LARCH_PCALA_LO12, target, address.offset as i64);
        self.immediate(ADDI_D, to, to, 0);
    }

    fn load(&mut self, to: Register, base: Register, offset: u32, width: Width) {
        let opcode = match width {
            Width::U16 => LD_HU,
            Width::U32 => LD_WU,
            Width::U64 => LD_D,
        };
        self.immediate(opcode, Self::number(to), Self::number(base), offset as i32);
    }

    fn store(&mut self, base: Register, from: Register) {
        self.immediate(ST_D, Self::number(from), Self::number(base), 0);
    }

    fn store_stack_argument(&mut self, index: usize, from: Register) {
        self.immediate(ST_D, Self::number(from), SP, 8 * index as i32);
    }

    fn copy(&mut self, to: Register, from: Register) {
        self.buffer.word(OR | ZERO << 10 | Self::number(from) << 5 | Self::number(to)); // move
    }

    fn extract_bits(&mut self, register: Register, first: u32, count: u32) {
        let register = Self::number(register);
        self.buffer.word(BSTRPICK_D | (first + count - 1) << 16 | first << 10 | register << 5 | register);
    }

    fn sign_extend(&mut self, register: Register) {
        let register = Self::number(register);
        self.immediate(ADDI_W, register, register, 0);
    }

    fn add(&mut self, register: Register, value: u32) {
        let register = Self::number(register);
        self.immediate(ADDI_D, register, register, value as i32);
    }

    fn jump(&mut self, to: Label) {
        self.buffer.jump(to);
        self.buffer.word(B);
    }

    fn jump_if(&mut self, register: Register, comparison: Comparison, to: Label) {
        let (opcode, value) = comparison.parts(BEQ, BNE);
        self.load_constant(CONSTANT, value);
        self.branch(opcode, Self::number(register), CONSTANT, to);
    }

    fn jump_if_not_below(&mut self, a: Register, b: Register, to: Label) {
        self.branch(BGEU, Self::number(a), Self::number(b), to);
    }

    fn fix_jump(code: &mut [u8], at: usize, target: usize) {
        let bits = match word(code, at) {
            B => {
                let distance = distance(at, target, 26);
                (distance & 0xffff) << 10 | distance >> 16
            }
            _ => distance(at, target, 16) << 10, // beq, bne, bgeu
        };
        fill_in(code, at, bits);
    }
}
