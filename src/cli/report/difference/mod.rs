//! Differences between two builds as text and JSON: totals first, then by file, arch and kernel, the largest difference
//! first.

mod cells;
mod families;
mod json;
mod kernels;
mod lost;
mod rows;
mod table;

pub use json::differences_json;
pub use lost::lost_text;
pub use table::differences_table;

use fatbin_ops::check::lock::{BudgetResult, Comparison, Lost};

/// Rows of the tables.
#[derive(Debug, Clone, Copy, Default)]
pub struct Detail {
    /// Kernels are listed below their families.
    pub has_kernels: bool,
    /// No row is left out, and no name is shortened.
    pub has_all: bool,
}

/// Two builds and their differences.
#[derive(Debug, Clone, Copy)]
pub struct Differences<'a> {
    /// Names of the old and the new build as specified by the user.
    pub names: &'a [String; 2],
    /// The differences.
    pub comparison: &'a Comparison<'a>,
    /// Results of the limits on growth.
    pub budgets: &'a [BudgetResult<'a>],
    /// What the new build lacks, if that is asked.
    pub lost: Option<&'a [Lost<'a>]>,
}
