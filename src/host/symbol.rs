//! Symbols of a plan: what its data and code refer to each other by.

/// Index of a symbol in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymbolId(pub usize);

/// Index of a section in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionId(pub usize);

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
    /// Some other object or library, or nobody: then its address is 0.
    UndefinedWeak,
    /// The linker or some other object of the same program or library, never another one: with default visibility
    /// `__start_…` of one library would bind to the range of another.
    UndefinedHidden,
    /// `size` bytes at `offset` of a section of this plan.
    Data { section: SectionId, offset: u64, size: u64 },
    /// A function of this plan, by its index.
    Function(usize),
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
