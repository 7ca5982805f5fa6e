//! IBM Z with 64-bit registers (z/Architecture) under the s390x ELF ABI; big-endian.

use object::{Endianness, elf};

use crate::host::architecture::{Architecture, CallFrame, ElfMachine};
use crate::host::assembler::{Assembler, Buffer, CodeTarget, Frame, Label, Register, UnwindRule};
use crate::host::code::{Comparison, Width};
use crate::host::compile::compile;
use crate::host::symbol::{SymbolAddress, SymbolId};

/// The machine: s390x ELF Application Binary Interface Supplement. Its instructions exist since z9; Linux distributions
/// require newer machines.
pub const S390X: Architecture = Architecture {
    endianness: Endianness::Big,
    function_alignment: 16,
    fill: &[0, 0], // no instruction has this operation code
    call_frame: CallFrame {
        code_alignment: 1,
        return_address: 14,
        stack_pointer: SP as u16,
        entry_offset: SAVE_AREA,
        return_address_at: None,
    },
    elf: ElfMachine {
        machine: elf::EM_S390,
        flags: elf::FileFlags(0),
        absolute: elf::R_390_64,
        relative: elf::R_390_PC32,
        eh_frame_type: elf::SHT_PROGBITS,
        hardening: None,
        large_section: None,
        function_other: 0,
        code_symbol: None,
        compile: compile::<ZAssembler>,
    },
};

const SP: u8 = 15;

/// Size of the area at the end of a caller's frame where the callee saves registers; register n is saved at 8 * n. The
/// canonical frame address follows it.
const SAVE_AREA: i32 = 160;

/// First saved register. It holds an argument, but callees preserve it. All higher registers are saved too, although
/// this code changes only the ones in `CHANGED`.
const FIRST_SAVED: u8 = 6;
const CHANGED: [u8; 5] = [6, LOCALS[0], LOCALS[1], 14, SP];
const LOCALS: [u8; 2] = [8, 9];

/// Conditions of `brcl`: a bit for each of the four results of a comparison.
const ALWAYS: u8 = 15;
const EQUAL: u8 = 8;
const NOT_EQUAL: u8 = 7;
const NOT_BELOW: u8 = 10;

#[derive(Default)]
pub struct ZAssembler {
    buffer: Buffer,
}

impl ZAssembler {
    fn number(register: Register) -> u8 {
        match register {
            Register::Argument(index) => 2 + index as u8, // r2 to r6
            Register::Result => 2,
            Register::Local(index) => LOCALS[index],
            Register::Scratch => 1, // and not r0, which means the number 0 to a base
        }
    }

    /// Appends an instruction of the format RRE: two registers.
    fn registers(&mut self, operation: u8, to: u8, from: u8) {
        self.buffer.push(&[0xb9, operation, 0, to << 4 | from]);
    }

    /// Appends an instruction of the format RIL: a register, or the second half of the operation, and 32 bits.
    fn immediate(&mut self, operation: u8, register: u8, second: u8, value: i32) {
        self.buffer.push(&[operation, register << 4 | second]);
        self.buffer.push(&value.to_be_bytes());
    }

    /// Appends an instruction of the format RIL with a distance that the linker fills in. It counts halfwords from the
    /// instruction's start, 2 bytes before the field.
    fn relative(&mut self, operation: u8, register: u8, second: u8, kind: elf::RelocationType, to: SymbolAddress) {
        let position = self.buffer.position() + 2;
        self.buffer.relocate(position, kind, CodeTarget::Symbol(to.symbol), to.offset as i64 + 2);
        self.immediate(operation, register, second, 0);
    }

    /// Appends an instruction of the formats RXY and RSY: one register, or all from `register` to `last`, and memory at
    /// `base` + `offset`.
    fn memory(&mut self, operation: [u8; 2], register: u8, last: u8, base: u8, offset: i32) {
        assert!((0..1 << 19).contains(&offset), "{offset} does not fit into 20 bits with sign");
        let [first, second] = operation;
        let middle = (offset >> 8 & 0xf) as u8;
        let low = offset as u8;
        let high = (offset >> 12) as u8;
        self.buffer.push(&[first, register << 4 | last, base << 4 | middle, low, high, second]);
    }

    /// Appends a shift of the format RSY, with the number of bits in place of an address.
    fn shift(&mut self, operation: u8, register: u8, by: u32) {
        self.memory([0xeb, operation], register, register, 0, by as i32);
    }

    fn compare(&mut self, register: Register, value: i32) {
        self.immediate(0xc2, Self::number(register), 12, value); // cgfi
    }

    fn branch(&mut self, condition: u8, to: Label) {
        self.buffer.jump(to);
        self.immediate(0xc0, condition, 4, 0); // brcl
    }

    /// Returns the size of the frame: the save area for the callees, and their stack arguments.
    fn size(frame: Frame) -> i32 {
        SAVE_AREA + 8 * frame.stack_arguments as i32
    }
}

const STG: [u8; 2] = [0xe3, 0x24];

impl Assembler for ZAssembler {
    const ARGUMENT_REGISTERS: usize = 5;

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn prologue(&mut self, frame: Frame) {
        let size = Self::size(frame);
        self.memory([0xeb, 0x24], FIRST_SAVED, SP, SP, 8 * i32::from(FIRST_SAVED)); // stmg
        for register in CHANGED {
            let at = 8 * i32::from(register) - SAVE_AREA;
            self.buffer.unwind(UnwindRule::Saved { register: register.into(), at });
        }
        self.immediate(0xc2, SP, 8, -size); // agfi
        self.buffer.unwind(UnwindRule::FrameAt(SAVE_AREA + size));
    }

    fn epilogue(&mut self, frame: Frame) {
        // Loads the stack pointer too. The saved values stay in the caller's frame.
        self.memory([0xeb, 0x04], FIRST_SAVED, SP, SP, Self::size(frame) + 8 * i32::from(FIRST_SAVED)); // lmg
        self.buffer.unwind(UnwindRule::FrameAt(SAVE_AREA));
        self.buffer.push(&[0x07, 0xfe]); // br %r14
    }

    fn call(&mut self, callee: SymbolId) {
        self.relative(0xc0, 14, 5, elf::R_390_PLT32DBL, callee.start()); // brasl
    }

    fn integer(&mut self, to: Register, value: i32) {
        self.immediate(0xc0, Self::number(to), 1, value); // lgfi
    }

    fn address(&mut self, to: Register, address: SymbolAddress) {
        // The distance counts halfwords. From an odd address ld.bfd and gold 2.40, lld 22 and mold 1.10 silently cut
        // one off.
        assert!(address.offset.is_multiple_of(2), "{} is odd", address.offset);
        self.relative(0xc0, Self::number(to), 0, elf::R_390_PC32DBL, address); // larl
    }

    fn load(&mut self, to: Register, base: Register, offset: u32, width: Width) {
        let operation = match width {
            Width::U16 => 0x91, // llgh
            Width::U32 => 0x16, // llgf
            Width::U64 => 0x04, // lg
        };
        self.memory([0xe3, operation], Self::number(to), 0, Self::number(base), offset as i32);
    }

    fn store(&mut self, base: Register, from: Register) {
        self.memory(STG, Self::number(from), 0, Self::number(base), 0);
    }

    fn store_stack_argument(&mut self, index: usize, from: Register) {
        self.memory(STG, Self::number(from), 0, SP, SAVE_AREA + 8 * index as i32);
    }

    fn copy(&mut self, to: Register, from: Register) {
        self.registers(0x04, Self::number(to), Self::number(from)); // lgr
    }

    fn extract_bits(&mut self, register: Register, first: u32, count: u32) {
        let register = Self::number(register);
        self.shift(0x0d, register, 64 - (first + count)); // sllg
        self.shift(0x0c, register, 64 - count); // srlg
    }

    fn sign_extend(&mut self, register: Register) {
        let register = Self::number(register);
        self.registers(0x14, register, register); // lgfr
    }

    fn add(&mut self, register: Register, value: u32) {
        self.immediate(0xc2, Self::number(register), 8, value as i32); // agfi
    }

    fn jump(&mut self, to: Label) {
        self.branch(ALWAYS, to);
    }

    fn jump_if(&mut self, register: Register, comparison: Comparison, to: Label) {
        let (condition, value) = comparison.parts(EQUAL, NOT_EQUAL);
        self.compare(register, value);
        self.branch(condition, to);
    }

    fn jump_if_not_below(&mut self, a: Register, b: Register, to: Label) {
        self.registers(0x21, Self::number(a), Self::number(b)); // clgr
        self.branch(NOT_BELOW, to);
    }

    fn fix_jump(code: &mut [u8], at: usize, target: usize) {
        let halfwords = (target as i32 - at as i32) / 2;
        code[at + 2..at + 6].copy_from_slice(&halfwords.to_be_bytes());
    }
}
