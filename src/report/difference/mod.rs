//! What became of device code, as text: the sums first, then by file, arch and kernel, the largest difference first.

mod cells;
mod json;
mod kernels;
mod table;

pub use json::differences_json;
pub use table::differences_table;

use crate::lock::{BudgetResult, Comparison};

/// Two builds and what differs.
#[derive(Debug, Clone, Copy)]
pub struct Differences<'a> {
    /// What the user calls the old and the new one.
    pub names: &'a [String; 2],
    pub comparison: &'a Comparison<'a>,
    /// Of the limits on growth, if there are any.
    pub verdicts: &'a [BudgetResult<'a>],
}
