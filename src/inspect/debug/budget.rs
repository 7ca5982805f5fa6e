//! Parse budget: a limit on the work for a file, in proportion to its size.
//!
//! Debug information refers to itself: a thousand units may share one line table, or each unit may have a table that begins
//! within the previous one. Compilers do that in moderation. A hostile file can make parsing of a few bytes take forever, so
//! every step is charged to a budget, and parsing stops when it is exhausted.

/// Number of parse steps that are left.
#[derive(Debug)]
pub struct ParseBudget {
    left: u64,
}

/// Steps per byte of the file. Reading everything once takes about one; decompression multiplies that by some dozens at most.
const STEPS_PER_BYTE: u64 = 256;
/// Steps for a file of any size.
const MIN_STEPS: u64 = 1 << 20;

/// Error of parsing debug information.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DwarfError {
    /// The debug information is malformed.
    #[error(transparent)]
    Malformed(#[from] gimli::Error),
    /// The debug information refers to itself too often.
    #[error("too many references to shared parts")]
    BudgetExhausted,
}

impl ParseBudget {
    /// Creates the budget for a file of this size, in bytes.
    pub fn new(size: u64) -> ParseBudget {
        ParseBudget { left: size.saturating_mul(STEPS_PER_BYTE).saturating_add(MIN_STEPS) }
    }

    /// Charges a number of steps, plus one.
    pub fn charge(&mut self, steps: usize) -> Result<(), DwarfError> {
        self.left = self.left.checked_sub(steps as u64 + 1).ok_or(DwarfError::BudgetExhausted)?;
        Ok(())
    }
}
