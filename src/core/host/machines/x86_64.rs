//! x86-64 under the System V ABI and under Microsoft's x64 calling convention.

use std::marker::PhantomData;

use object::{Endianness, elf, macho, pe};

use crate::base::elf_layout::SHF_X86_64_LARGE;
use crate::host::architecture::{
    AddendForm, Architecture, CallFrame, CoffMachine, ElfMachine, MachOMachine, UnwindFormat,
};
use crate::host::assembler::{Assembler, Buffer, CodeTarget, CompiledFunction, Frame, Label, Register, UnwindRule};
use crate::host::code::{Comparison, Width};
use crate::host::compile::compile;
use crate::host::symbol::{SymbolAddress, SymbolId};

/// The machine. Register numbers: System V ABI, AMD64 supplement, table 3.36.
pub const X86_64: Architecture = Architecture {
    endianness: Endianness::Little,
    function_alignment: 16,
    fill: &[0xcc], // int3
    call_frame: CallFrame {
        code_alignment: 1,
        return_address: 16,
        stack_pointer: 7,
        entry_offset: 8,
        return_address_at: Some(-8),
    },
    elf: ElfMachine {
        machine: elf::EM_X86_64,
        flags: elf::FileFlags(0),
        absolute: elf::R_X86_64_64,
        relative: elf::R_X86_64_PC32,
        // The ABI's own type. LLVM writes it, GNU as writes PROGBITS; bfd, gold, lld and mold accept both.
        eh_frame_type: elf::SHT_X86_64_UNWIND,
        // Functions begin with endbr64, and calls and returns match, as a shadow stack requires.
        hardening: Some((
            elf::GNU_PROPERTY_X86_FEATURE_1_AND,
            elf::GNU_PROPERTY_X86_FEATURE_1_IBT | elf::GNU_PROPERTY_X86_FEATURE_1_SHSTK,
        )),
        large_section: Some(SHF_X86_64_LARGE),
        function_other: 0,
        code_symbol: None,
        compile: compile::<X86Assembler>,
    },
};

/// Objects for Windows. Relocations: PE Format, x64 processors; a distance is relative to the end of its four bytes.
pub const X86_64_COFF: CoffMachine = CoffMachine {
    architecture: &X86_64,
    machine: pe::IMAGE_FILE_MACHINE_AMD64,
    absolute: pe::IMAGE_REL_AMD64_ADDR64,
    image_relative: pe::IMAGE_REL_AMD64_ADDR32NB,
    code_relocations: &[
        (elf::R_X86_64_PC32, pe::IMAGE_REL_AMD64_REL32),
        (elf::R_X86_64_PLT32, pe::IMAGE_REL_AMD64_REL32),
    ],
    store_addend: |code, at, _, addend| store_addend(code, at, addend),
    unwind: UnwindFormat::X64,
    compile: compile::<X86Assembler<Windows>>,
};

/// Registers of the locals, with their numbers in instructions and in DWARF. r12 and r13 would need longer
/// addressing.
const LOCALS: [(u8, u16); 2] = [(3, 3), (14, 14)]; // rbx, r14

/// Scratch and result.
const RAX: u8 = 0;

/// Objects for macOS. Relocations: Apple, `mach-o/x86_64/reloc.h`; a distance is relative to the end of its four bytes.
pub const X86_64_MACHO: MachOMachine = MachOMachine {
    architecture: &X86_64,
    cpu: (macho::CPU_TYPE_X86_64, macho::CPU_SUBTYPE_X86_64_ALL),
    oldest_system: (10, 14),
    code_relocations: &[
        (elf::R_X86_64_PC32, macho::X86_64_RELOC_SIGNED, true),
        (elf::R_X86_64_PLT32, macho::X86_64_RELOC_BRANCH, true),
    ],
    addend: AddendForm::Code(store_addend),
    compact_unwind,
    compile: compile::<X86Assembler<SystemV>>,
};

/// Stores the addend of a distance from its first byte as one from its end.
fn store_addend(code: &mut [u8], at: usize, addend: i64) {
    let addend = (addend + 4) as i32;
    code[at..at + 4].copy_from_slice(&addend.to_le_bytes());
}

/// Returns the compact unwind encoding of a function: a frame without frame pointer, its size in units of 8, and the
/// saved registers. Source: Apple, `mach-o/compact_unwind_encoding.h`.
fn compact_unwind(function: &CompiledFunction) -> u32 {
    const STACK_IMMEDIATE: u32 = 0x0200_0000;
    let mut size = 8;
    let mut saved = 0;
    for &(_, rule) in &function.unwind {
        match rule {
            UnwindRule::FrameAt(frame) => size = size.max(frame),
            UnwindRule::Saved { .. } => saved += 1,
            UnwindRule::Restored { .. } | UnwindRule::ReturnAddressSignature => {}
        }
    }
    // The permutation: each register, from the last one pushed on, as its index among rbx, r12 to r15 and rbp without
    // those before it, in a mixed radix. Of two registers the first is r14 and the second rbx.
    let permutation = if saved == 2 { 3 * 5 } else { 0 };
    STACK_IMMEDIATE | (size as u32 / 8) << 16 | saved << 10 | permutation
}

/// A calling convention. In both, the registers of locals are preserved and the scratch register is not.
pub trait Convention: Default {
    /// Registers of arguments, in order.
    const ARGUMENTS: &'static [u8];
    /// Size of the space below the stack arguments where a callee may store register arguments, in bytes.
    const HOME_SPACE: usize;
    /// True if functions begin with `endbr64`.
    const IS_TRACKED: bool;
}

/// System V ABI, AMD64 supplement, section 3.2.
#[derive(Default)]
pub struct SystemV;

impl Convention for SystemV {
    const ARGUMENTS: &'static [u8] = &[7, 6, 2, 1, 8, 9]; // rdi, rsi, rdx, rcx, r8, r9
    const HOME_SPACE: usize = 0;
    const IS_TRACKED: bool = true;
}

/// Microsoft, x64 calling convention. Windows does not track indirect branches by `endbr64`.
#[derive(Default)]
pub struct Windows;

impl Convention for Windows {
    const ARGUMENTS: &'static [u8] = &[1, 2, 8, 9]; // rcx, rdx, r8, r9
    const HOME_SPACE: usize = 32;
    const IS_TRACKED: bool = false;
}

#[derive(Default)]
pub struct X86Assembler<C = SystemV> {
    buffer: Buffer,
    convention: PhantomData<C>,
}

impl<C: Convention> X86Assembler<C> {
    fn number(register: Register) -> u8 {
        match register {
            Register::Argument(index) => C::ARGUMENTS[index],
            Register::Local(index) => LOCALS[index].0,
            Register::Result | Register::Scratch => RAX,
        }
    }

    /// Appends an instruction on 64-bit registers: REX prefix, opcode, and a ModRM byte with `mode` (3 register, 2
    /// memory with a 32-bit displacement, 0 with `rm` 5 relative to the next instruction).
    fn instruction(&mut self, opcode: &[u8], mode: u8, reg: u8, rm: u8) {
        let rex = 0x48 | (reg >> 3) << 2 | rm >> 3;
        self.buffer.push(&[rex]);
        self.buffer.push(opcode);
        self.buffer.push(&[mode << 6 | (reg & 7) << 3 | rm & 7]);
    }

    /// Appends an instruction of group 81: `operation` (0 add, 4 and, 5 sub, 7 cmp) with a 32-bit constant.
    fn arithmetic(&mut self, operation: u8, register: u8, value: i32) {
        self.instruction(&[0x81], 3, operation, register);
        self.buffer.push(&value.to_le_bytes());
    }

    /// Appends a 32-bit distance, which is relative to its own end, hence 4 less than one relative to its start.
    fn distance(&mut self, kind: elf::RelocationType, symbol: SymbolId, offset: i64) {
        let position = self.buffer.position();
        self.buffer.relocate(position, kind, CodeTarget::Symbol(symbol), offset - 4);
        self.buffer.push(&[0; 4]);
    }

    fn jump_with(&mut self, opcode: &[u8], to: Label) {
        self.buffer.jump(to);
        self.buffer.push(opcode);
        self.buffer.push(&[0; 4]);
    }

    /// Returns the size of the stack below the return address and the saved locals: a multiple of 16 together with
    /// them.
    fn space(frame: Frame) -> i32 {
        let used = 8 + 8 * frame.locals;
        let arguments = C::HOME_SPACE + 8 * frame.stack_arguments;
        ((used + arguments).next_multiple_of(16) - used) as i32
    }
}

impl<C: Convention> Assembler for X86Assembler<C> {
    const ARGUMENT_REGISTERS: usize = C::ARGUMENTS.len();

    fn buffer(&mut self) -> &mut Buffer {
        &mut self.buffer
    }

    fn prologue(&mut self, frame: Frame) {
        let mut cfa = 8;
        if C::IS_TRACKED {
            // endbr64: where indirect branches are tracked, the loader and `atexit` may only jump here.
            self.buffer.push(&[0xf3, 0x0f, 0x1e, 0xfa]);
        }
        for &(number, dwarf) in &LOCALS[..frame.locals] {
            if number >= 8 {
                self.buffer.push(&[0x41]);
            }
            self.buffer.push(&[0x50 | number & 7]); // push
            cfa += 8;
            self.buffer.unwind(UnwindRule::FrameAt(cfa));
            self.buffer.unwind(UnwindRule::Saved { register: dwarf, at: -cfa });
        }
        let space = Self::space(frame);
        if space > 0 {
            self.arithmetic(5, 4, space); // sub rsp
            self.buffer.unwind(UnwindRule::FrameAt(cfa + space));
        }
    }

    fn epilogue(&mut self, frame: Frame) {
        let mut cfa = 8 + 8 * frame.locals as i32;
        let space = Self::space(frame);
        if space > 0 {
            self.arithmetic(0, 4, space); // add rsp
            self.buffer.unwind(UnwindRule::FrameAt(cfa));
        }
        for &(number, _) in LOCALS[..frame.locals].iter().rev() {
            if number >= 8 {
                self.buffer.push(&[0x41]);
            }
            self.buffer.push(&[0x58 | number & 7]); // pop
            cfa -= 8;
            self.buffer.unwind(UnwindRule::FrameAt(cfa));
        }
        self.buffer.push(&[0xc3]); // ret
    }

    fn call(&mut self, callee: SymbolId) {
        self.buffer.push(&[0xe8]);
        self.distance(elf::R_X86_64_PLT32, callee, 0);
    }

    fn integer(&mut self, to: Register, value: i32) {
        self.instruction(&[0xc7], 3, 0, Self::number(to)); // mov
        self.buffer.push(&value.to_le_bytes());
    }

    fn address(&mut self, to: Register, address: SymbolAddress) {
        self.instruction(&[0x8d], 0, Self::number(to), 5); // lea
        self.distance(elf::R_X86_64_PC32, address.symbol, address.offset as i64);
    }

    fn load(&mut self, to: Register, base: Register, offset: u32, width: Width) {
        let to = Self::number(to);
        let base = Self::number(base);
        match width {
            Width::U16 => self.instruction(&[0x0f, 0xb7], 2, to, base), // movzx
            Width::U64 => self.instruction(&[0x8b], 2, to, base),       // mov
            Width::U32 => {
                // Without REX.W: the upper half becomes zero.
                self.buffer.push(&[0x40 | (to >> 3) << 2 | base >> 3, 0x8b, 2 << 6 | (to & 7) << 3 | base & 7]);
            }
        }
        self.buffer.push(&offset.to_le_bytes());
    }

    fn store(&mut self, base: Register, from: Register) {
        self.instruction(&[0x89], 2, Self::number(from), Self::number(base)); // mov
        self.buffer.push(&[0; 4]);
    }

    fn store_stack_argument(&mut self, index: usize, from: Register) {
        self.instruction(&[0x89], 2, Self::number(from), 4); // mov, with a SIB byte for rsp
        self.buffer.push(&[0x24]);
        self.buffer.push(&((C::HOME_SPACE + 8 * index) as u32).to_le_bytes());
    }

    fn copy(&mut self, to: Register, from: Register) {
        self.instruction(&[0x89], 3, Self::number(from), Self::number(to)); // mov
    }

    fn extract_bits(&mut self, register: Register, first: u32, count: u32) {
        let register = Self::number(register);
        self.instruction(&[0xc1], 3, 5, register); // shr
        self.buffer.push(&[first as u8]);
        self.arithmetic(4, register, (1 << count) - 1); // and
    }

    fn sign_extend(&mut self, register: Register) {
        let register = Self::number(register);
        self.instruction(&[0x63], 3, register, register); // movsxd
    }

    fn add(&mut self, register: Register, value: u32) {
        self.arithmetic(0, Self::number(register), value as i32);
    }

    fn jump(&mut self, to: Label) {
        self.jump_with(&[0xe9], to); // jmp
    }

    fn jump_if(&mut self, register: Register, comparison: Comparison, to: Label) {
        let (opcode, value) = comparison.parts(0x84, 0x85); // je, jne
        self.arithmetic(7, Self::number(register), value); // cmp
        self.jump_with(&[0x0f, opcode], to);
    }

    fn jump_if_not_below(&mut self, a: Register, b: Register, to: Label) {
        self.instruction(&[0x39], 3, Self::number(b), Self::number(a)); // cmp
        self.jump_with(&[0x0f, 0x83], to); // jae
    }

    fn fix_jump(code: &mut [u8], at: usize, target: usize) {
        let opcode_size = if code[at] == 0x0f { 2 } else { 1 };
        let end = at + opcode_size + 4;
        let distance = target as i32 - end as i32;
        code[end - 4..end].copy_from_slice(&distance.to_le_bytes());
    }
}
