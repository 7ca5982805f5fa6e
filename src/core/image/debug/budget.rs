//! Charges for parsing debug information.
//!
//! Debug information refers to itself. A thousand units may share one line table, or each unit may have a table that
//! begins within the previous one. Compilers do that in moderation. In a hostile file, parsing a few bytes can take
//! forever, so every step is charged to the budget of the file. Parsing stops when the budget is exhausted.

use crate::base::bytes::{Resource, View, text_memory, text_work};
use crate::base::error::Malformed;

/// Access to the budget of a file.
#[derive(Debug, Clone, Copy)]
pub struct ParseBudget<'data>(pub View<'data>);

/// Error of parsing debug information.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DwarfError {
    /// The debug information is malformed.
    #[error(transparent)]
    Malformed(#[from] gimli::Error),
    /// A row of a line table is of a source file that the table does not list. Tools that replace a path by a shorter
    /// one and NUL, such as installers of conda, end the list there.
    #[error("line table: a row is of source file {index}, and the table lists {count}")]
    UnknownFile { index: u64, count: usize },
    /// The debug information refers to itself too often.
    #[error(transparent)]
    BudgetExhausted(Malformed),
}

const FIELD: &str = "debug information";

impl ParseBudget<'_> {
    /// Charges a number of steps, and at least one.
    pub fn charge(self, steps: usize) -> Result<(), DwarfError> {
        self.0.charge(FIELD, Resource::Work, (steps as u64).max(1)).map_err(DwarfError::BudgetExhausted)
    }

    /// Charges records of a size in bytes that are kept.
    pub fn charge_records(self, count: usize, size: usize) -> Result<(), DwarfError> {
        let size = count.saturating_mul(size) as u64;
        self.0.charge(FIELD, Resource::Memory, size).map_err(DwarfError::BudgetExhausted)
    }

    /// Charges a text that is kept.
    pub fn charge_text(self, length: usize) -> Result<(), DwarfError> {
        let read = self.0.charge(FIELD, Resource::Work, text_work(length));
        let kept = self.0.charge(FIELD, Resource::Memory, text_memory(length));
        read.and(kept).map_err(DwarfError::BudgetExhausted)
    }
}
