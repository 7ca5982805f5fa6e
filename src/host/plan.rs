//! The plan of a host object, as plain data that tests can compare.

use super::code::{Function, Step};
use crate::content::Content;

/// Everything that goes into one host object, independent of machine and file format.
#[derive(Debug, Default)]
pub struct ObjectPlan<'data> {
    /// What the object calls its source, where the format has a place for that.
    pub source_name: &'static str,
    pub sections: Vec<Section<'data>>,
    pub functions: Vec<Function>,
    pub symbols: Vec<Symbol>,
}

/// Index of a section in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionId(pub usize);

/// Index of a symbol in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymbolId(pub usize);

/// A section of data.
#[derive(Debug)]
pub struct Section<'data> {
    pub name: String,
    pub kind: SectionKind,
    /// In bytes, a power of two.
    pub alignment: u64,
    pub data: Data<'data>,
}

/// What a section holds.
#[derive(Debug)]
pub enum Data<'data> {
    /// Bytes that mean the same on every machine.
    Bytes(Content<'data>),
    /// Structures, one field after the other without gaps; padding is a field like any other.
    Fields(Vec<Field>),
}

/// A field of a structure, in the byte order of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Field {
    U32(u32),
    /// An address, filled in by the linker or the loader.
    Pointer(Address),
}

/// What the linker and the loader do with a section.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SectionKind {
    /// Mapped read-only.
    ReadOnly,
    /// Mapped writable, so that the loader can relocate it.
    Writable,
    /// Mapped read-only and marked as device images, `SHT_LLVM_OFFLOADING`.
    Offloading,
    /// An array of functions that the loader calls.
    Constructors,
}

/// A symbol's address and a distance from it, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pub symbol: SymbolId,
    pub offset: u64,
}

/// A name in the object.
#[derive(Debug, PartialEq, Eq)]
pub struct Symbol {
    pub name: String,
    pub definition: Definition,
}

/// Where a symbol's address comes from. What is defined here is local: two wrapped objects in one link never collide.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Definition {
    /// Some other object or library.
    Undefined,
    /// The linker or some other object of the same program or library, never another one: with default visibility
    /// `__start_…` of one library would bind to the range of another.
    UndefinedHidden,
    /// `size` bytes at `offset` of a section of this plan.
    Data { section: SectionId, offset: u64, size: u64 },
    /// A function of this plan, by its index.
    Function(usize),
}

impl<'data> ObjectPlan<'data> {
    /// Adds a section.
    pub fn section(&mut self, section: Section<'data>) -> SectionId {
        self.sections.push(section);
        SectionId(self.sections.len() - 1)
    }

    /// The id that the next section will get, for symbols that are known before its data.
    pub fn next_section(&self) -> SectionId {
        SectionId(self.sections.len())
    }

    /// Adds a symbol.
    pub fn symbol(&mut self, name: impl Into<String>, definition: Definition) -> SymbolId {
        self.symbols.push(Symbol { name: name.into(), definition });
        SymbolId(self.symbols.len() - 1)
    }

    /// Adds a function and the symbol that names it.
    pub fn function(&mut self, name: &str, steps: Vec<Step>) -> SymbolId {
        self.functions.push(Function::new(steps));
        self.symbol(name, Definition::Function(self.functions.len() - 1))
    }
}

impl SymbolId {
    /// The address of the symbol itself.
    pub fn start(self) -> Address {
        self.plus(0)
    }

    /// The address `offset` bytes behind the symbol.
    pub fn plus(self, offset: u64) -> Address {
        Address { symbol: self, offset }
    }
}
