//! What an architecture has to be able to say, and the buffer it says it into.
//!
//! The vocabulary is what [`super::compile`] needs and no more; each word is an instruction or a few. Registers are
//! named by their part in the game, because every ABI casts the same parts with other registers.

use object::elf;

use super::code::{Comparison, Width};
use super::symbol::{Address, SymbolId};

/// A register by what it is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Register {
    /// The n-th argument of the next call, below [`Assembler::ARGUMENT_REGISTERS`].
    Argument(usize),
    /// The result of the last call.
    Result,
    /// The n-th local; kept by whoever is called.
    Local(usize),
    /// Holds a value between two words of the vocabulary, over no call.
    Scratch,
}

/// What a function needs on the stack.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Frame {
    /// Locals in use, 0 to 2; those are the registers that have to be saved.
    pub locals: usize,
    /// The most arguments of any call that go over the stack.
    pub stack_arguments: usize,
}

/// A place in the code of a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Label(usize);

/// An architecture's instructions. Every method appends to [`Assembler::buffer`].
pub trait Assembler {
    /// How many arguments of a call go in registers; the rest go over the stack.
    const ARGUMENT_REGISTERS: usize;

    fn buffer(&mut self) -> &mut Buffer;

    /// Makes the frame: return address, saved locals and room for stack arguments, with unwind rules for each change.
    fn prologue(&mut self, frame: Frame);
    /// Takes the frame down and returns.
    fn epilogue(&mut self, frame: Frame);

    /// Calls a function that may be in another object or library.
    fn call(&mut self, callee: SymbolId);
    /// `to` = an integer, extended with its sign.
    fn integer(&mut self, to: Register, value: i32);
    /// `to` = an address, which is even: not every architecture can say others.
    fn address(&mut self, to: Register, address: Address);
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

    /// Goes on at `to`.
    fn jump(&mut self, to: Label);
    /// Jumps to `to` if the comparison of `register`, 64 bits, with a small constant holds.
    fn jump_if(&mut self, register: Register, comparison: Comparison, to: Label);
    /// Goes on at `to` if `a`, an unsigned 64-bit number, is `b` or above.
    fn jump_if_not_below(&mut self, a: Register, b: Register, to: Label);

    /// Fills in the distance of a jump: the instruction at `at`, whose label is at `target`, both from the start of the
    /// function.
    fn fix_jump(code: &mut [u8], at: usize, target: usize);
}

/// Code in the making, and what has to be known about it.
#[derive(Debug, Default)]
pub struct Buffer {
    code: Code,
    /// Where each label is, once it is.
    labels: Vec<Option<usize>>,
    /// Jumps and the labels they go to.
    jumps: Vec<(usize, Label)>,
}

/// A compiled function.
#[derive(Debug, Default, PartialEq, Eq)]
pub struct Code {
    pub bytes: Vec<u8>,
    pub relocations: Vec<CodeRelocation>,
    /// From which byte on which rule holds.
    pub unwind: Vec<(u32, UnwindRule)>,
}

/// A relocation in the machine's own numbers.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeRelocation {
    pub offset: u64,
    pub kind: elf::RelocationType,
    pub target: CodeTarget,
    pub addend: i64,
}

/// What a relocation in code refers to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum CodeTarget {
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
    Saved { register: u16, at: i32 },
    /// A register of the caller is in its place again.
    Restored { register: u16 },
    /// The return address gets a signature, or loses the one it has (AArch64 only).
    ReturnAddressSignature,
}

impl Buffer {
    /// Appends bytes of code.
    pub fn push(&mut self, bytes: &[u8]) {
        self.code.bytes.extend(bytes);
    }

    /// Where the next byte goes.
    pub fn position(&self) -> usize {
        self.code.bytes.len()
    }

    /// A relocation of the bytes from `offset` on.
    pub fn relocate(&mut self, offset: usize, kind: elf::RelocationType, target: CodeTarget, addend: i64) {
        self.code.relocations.push(CodeRelocation { offset: offset as u64, kind, target, addend });
    }

    /// An unwind rule that holds from the next byte on.
    pub fn unwind(&mut self, rule: UnwindRule) {
        self.code.unwind.push((self.position() as u32, rule));
    }

    /// The next instruction jumps to `to`.
    pub fn jump(&mut self, to: Label) {
        self.jumps.push((self.position(), to));
    }

    /// A label that is nowhere yet.
    pub fn label(&mut self) -> Label {
        self.labels.push(None);
        Label(self.labels.len() - 1)
    }

    /// Puts a label before the next byte.
    pub fn place(&mut self, label: Label) {
        self.labels[label.0] = Some(self.position());
    }

    /// The finished code: every jump has got its distance.
    ///
    /// # Panics
    /// If a label was not placed.
    pub fn finish<A: Assembler>(mut self) -> Code {
        for (at, label) in self.jumps {
            let target = self.labels[label.0].expect("every label is placed");
            A::fix_jump(&mut self.code.bytes, at, target);
        }
        self.code
    }
}
