//! Symbols of a plan: what its data and code refer to each other by.

/// Index of a symbol in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymbolId(pub usize);

/// Index of a section in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SectionId(pub usize);

/// A symbol's address and a distance from it, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SymbolAddress {
    /// Symbol that the address is relative to.
    pub symbol: SymbolId,
    /// Distance from the symbol, in bytes.
    pub offset: u64,
}

/// A symbol of the object.
#[derive(Debug, PartialEq, Eq)]
pub struct Symbol {
    /// Name of the symbol.
    pub name: String,
    /// Origin of its address.
    pub definition: Definition,
    /// Scope of the name.
    pub scope: Scope,
}

/// Scope where a name refers to a definition of the plan. Functions and undefined symbols can only be `Local`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Scope {
    /// This object: two wrapped objects in one link never collide.
    Local,
    /// The program or library, and modules that use it, where libraries export all symbols.
    Global,
    /// The program or library.
    Hidden,
}

/// A symbol whose address is a number that no linker moves.
#[derive(Debug, PartialEq, Eq)]
pub struct AbsoluteSymbol {
    /// Name of the symbol.
    pub name: String,
    /// The number.
    pub value: u64,
    /// Scope of the name.
    pub scope: Scope,
}

/// Origin of a symbol's address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Definition {
    /// Defined by another object or library.
    Undefined,
    /// Defined by another object or library, or undefined: then its address is 0.
    UndefinedWeak,
    /// Defined by the linker or another object of the same program or library, never by another module: with default
    /// visibility `__start_…` of one library would bind to the range of another.
    UndefinedHidden,
    /// `size` bytes at `offset` of a section of this plan.
    Data {
        /// Section of the bytes.
        section: SectionId,
        /// Offset of the bytes in the section.
        offset: u64,
        /// Number of bytes.
        size: u64,
    },
    /// A function of this plan, by its index.
    Function(usize),
}

impl Definition {
    /// Rank among the definitions of an undefined symbol; `None` for one that the plan defines.
    pub fn strength(self) -> Option<u8> {
        match self {
            Definition::UndefinedWeak => Some(0),
            Definition::Undefined => Some(1),
            Definition::UndefinedHidden => Some(2),
            Definition::Data { .. } | Definition::Function(_) => None,
        }
    }
}

impl SymbolId {
    /// Returns the address of the symbol itself.
    pub fn start(self) -> SymbolAddress {
        self.plus(0)
    }

    /// Returns the address `offset` bytes after the symbol.
    pub fn plus(self, offset: u64) -> SymbolAddress {
        SymbolAddress { symbol: self, offset }
    }
}
