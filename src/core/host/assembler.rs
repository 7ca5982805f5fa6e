//! The operations that an architecture provides, and the buffer that they append to.
//!
//! Only the operations that [`super::compile`] needs exist; each is one instruction or a few. Registers are named by
//! their role, because every ABI assigns other registers to the same roles.

use object::elf;

use super::code::{Comparison, Width};
use super::symbol::{SymbolAddress, SymbolId};

/// A register by its role.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// The n-th argument of the next call, below [`Assembler::ARGUMENT_REGISTERS`].
    Argument(usize),
    /// The result of the last call.
    Result,
    /// The n-th local; preserved by callees.
    Local(usize),
    /// A value between two operations, not preserved by a call.
    Scratch,
}

/// Stack requirements of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame {
    /// Number of locals in use, 0 to 2; their registers must be saved.
    pub locals: usize,
    /// Largest number of arguments that any call passes on the stack.
    pub stack_arguments: usize,
}

/// A place in the code of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// An architecture's instructions. Every method appends to [`Assembler::buffer`].
pub trait Assembler {
    /// Number of arguments of a call that are passed in registers; the rest are passed on the stack.
    const ARGUMENT_REGISTERS: usize;

    /// Returns the buffer that every operation appends to.
    fn buffer(&mut self) -> &mut Buffer;

    /// Sets up the frame: return address, saved locals and stack arguments, with unwind rules for each change.
    fn prologue(&mut self, frame: Frame);
    /// Removes the frame and returns.
    fn epilogue(&mut self, frame: Frame);

    /// Calls a function that may be in another object or library.
    fn call(&mut self, callee: SymbolId);
    /// `to` = an integer, extended with its sign.
    fn integer(&mut self, to: Register, value: i32);
    /// `to` = an address, which is even: not every architecture can encode odd ones.
    fn address(&mut self, to: Register, address: SymbolAddress);
    /// `to` = the `width` bytes at `base` + `offset`, extended with zeros.
    fn load(&mut self, to: Register, base: Register, offset: u32, width: Width);
    /// The 64 bits at `base` = `from`.
    fn store(&mut self, base: Register, from: Register);
    /// The n-th stack argument of the next call = `from`.
    fn store_stack_argument(&mut self, index: usize, from: Register);
    /// `to` = `from`.
    fn copy(&mut self, to: Register, from: Register);
    /// `register` = its `count` bits from bit `first` on.
    fn extract_bits(&mut self, register: Register, first: u32, count: u32);
    /// `register` = its low 32 bits, extended with their sign.
    fn sign_extend(&mut self, register: Register);
    /// `register` += `value`.
    fn add(&mut self, register: Register, value: u32);

    /// Jumps to `to`.
    fn jump(&mut self, to: Label);
    /// Jumps to `to` if the comparison of `register`, 64 bits, with a small constant holds.
    fn jump_if(&mut self, register: Register, comparison: Comparison, to: Label);
    /// Jumps to `to` if `a`, an unsigned 64-bit number, is `b` or above.
    fn jump_if_not_below(&mut self, a: Register, b: Register, to: Label);

    /// Fills in the distance of a jump: the instruction at `at`, whose label is at `target`, both relative to the start
    /// of the function.
    fn fix_jump(code: &mut [u8], at: usize, target: usize);
}

/// Code of a function, its labels and its jumps.
#[derive(Debug, Default)]
pub struct Buffer {
    code: CompiledFunction,
    /// Position of each label; `None` until it is placed.
    labels: Vec<Option<usize>>,
    /// Positions of jumps and their labels.
    jumps: Vec<(usize, Label)>,
}

/// A compiled function.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct CompiledFunction {
    /// Machine code.
    pub bytes: Vec<u8>,
    /// Relocations of the machine code.
    pub relocations: Vec<CodeRelocation>,
    /// Unwind rules, each with the offset of the first byte that it applies to.
    pub unwind: Vec<(u32, UnwindRule)>,
}

/// A relocation in the machine's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeRelocation {
    /// Offset in the function.
    pub offset: u64,
    /// Type of the relocation.
    pub kind: elf::RelocationType,
    /// Target of the relocation.
    pub target: CodeTarget,
    /// Constant that is added to the target's address.
    pub addend: i64,
}

/// Target of a relocation in code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeTarget {
    /// A symbol of the plan.
    Symbol(SymbolId),
    /// A byte of the same function, for relocations that refer to another instruction; gets a local symbol.
    Here(u64),
    /// A symbol that the ABI defines, like `.TOC.`.
    Abi(&'static str),
}

/// A step in unwinding, in the machine's DWARF register numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum UnwindRule {
    /// The canonical frame address is this far from the stack pointer.
    FrameAt(i32),
    /// A register of the caller is saved at this distance from the canonical frame address.
    Saved {
        /// Number of the register.
        register: u16,
        /// Distance from the canonical frame address.
        at: i32,
    },
    /// A register of the caller holds its value again.
    Restored {
        /// Number of the register.
        register: u16,
    },
    /// The return address is signed, or its signature is removed (AArch64 only).
    ReturnAddressSignature,
}

impl Buffer {
    /// Appends bytes of code.
    pub fn push(&mut self, bytes: &[u8]) {
        self.code.bytes.extend(bytes);
    }

    /// Returns the position of the next byte.
    pub fn position(&self) -> usize {
        self.code.bytes.len()
    }

    /// Adds a relocation of the bytes at `offset`.
    pub fn relocate(&mut self, offset: usize, kind: elf::RelocationType, target: CodeTarget, addend: i64) {
        self.code.relocations.push(CodeRelocation { offset: offset as u64, kind, target, addend });
    }

    /// Adds an unwind rule that applies from the next byte on.
    pub fn unwind(&mut self, rule: UnwindRule) {
        self.code.unwind.push((self.position() as u32, rule));
    }

    /// Records that the next instruction jumps to `to`.
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.position(), to));
    }

    /// Creates a label without a position.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Places a label at the next byte.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.position());
    }

    /// Fills in the distance of every jump and returns the code.
    ///
    /// # Panics
    /// If a label was not placed.
    pub fn finish<A: Assembler>(mut self) -> CompiledFunction {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].expect("every label is placed");
            A::fix_jump(&mut self.code.bytes, at, target);
        }
        self.code
    }
}
