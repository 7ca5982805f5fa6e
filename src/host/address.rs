//! What data and code of a plan refer to each other by.

/// Index of a symbol in its plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SymbolId(pub usize);

/// A symbol's address and a distance from it, in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Address {
    pub symbol: SymbolId,
    pub offset: u64,
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
