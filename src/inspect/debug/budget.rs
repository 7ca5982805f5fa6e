//! How much may be done for a file of its size.
//!
//! Debug information refers to itself: a thousand units may share one line table, or each have a table that begins within
//! the one before. Tools do that in moderation. A hostile file does it until reading its few bytes takes forever, so every
//! step is paid for, and who runs out of money stops.

/// What is left.
pub struct ParseBudget {
    left: u64,
}

/// Steps for each byte of the file. Reading everything once takes about one, decompression gives at most some dozens.
const STEPS_PER_BYTE: u64 = 256;
const STEPS_AT_LEAST: u64 = 1 << 20;

/// Why it stopped, in the words of `gimli`'s errors.
pub enum DwarfError {
    Malformed(gimli::Error),
    BudgetExhausted,
}

impl ParseBudget {
    pub fn new(size: u64) -> ParseBudget {
        ParseBudget { left: size.saturating_mul(STEPS_PER_BYTE).saturating_add(STEPS_AT_LEAST) }
    }

    pub fn charge(&mut self, steps: usize) -> Result<(), DwarfError> {
        self.left = self.left.checked_sub(steps as u64 + 1).ok_or(DwarfError::BudgetExhausted)?;
        Ok(())
    }
}

impl From<gimli::Error> for DwarfError {
    fn from(error: gimli::Error) -> DwarfError {
        DwarfError::Malformed(error)
    }
}

impl std::fmt::Display for DwarfError {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            DwarfError::Malformed(error) => error.fmt(formatter),
            DwarfError::BudgetExhausted => {
                formatter.write_str("refers to itself so often that reading it does not end")
            }
        }
    }
}
