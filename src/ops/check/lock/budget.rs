//! Budgets: limits on the growth of device code.

use std::fmt;

use fatbin_core::base::code::{Code, Coded, ErrorClass, Remedy};

use super::size::growth;
use super::{Lock, LockedImage};

/// A limit on the growth of all device code, or of the code for one architecture.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    /// The architecture; `None` limits all device code.
    pub arch: Option<String>,
    /// Maximum growth.
    pub limit: GrowthLimit,
}

/// Maximum growth of a size.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GrowthLimit {
    /// Relative to the old size.
    Percent(f64),
    /// Absolute.
    Bytes(u64),
}

/// The size that a budget limits.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Size of the decompressed images.
    Size,
    /// Size of the containers in the files. It is not limited per architecture: the parts of a compressed container
    /// cannot be attributed to one.
    Stored,
}

/// Outcome of checking one budget.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetResult<'a> {
    /// The budget that was checked.
    pub budget: &'a Budget,
    /// The size that was compared.
    pub measure: Measure,
    /// Old size, in bytes.
    pub old: u64,
    /// New size, in bytes.
    pub new: u64,
    /// True if the growth exceeds the limit.
    pub exceeded: bool,
}

/// Reason why a budget cannot be checked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    /// Neither lock has code for the architecture.
    #[error("no code for {0} in OLD or NEW; cannot check its growth")]
    UnknownArch(String),
    /// A lock does not record sizes.
    #[error("{side} records no sizes")]
    NoSizes {
        /// `OLD` or `NEW`.
        side: &'static str,
    },
}

impl Coded for BudgetError {
    fn class(&self) -> ErrorClass {
        match self {
            BudgetError::UnknownArch(_) => Code::GrowthUnknown.into(),
            BudgetError::NoSizes { .. } => Code::GrowthUnknown.with(Remedy::RecordSizes),
        }
    }
}

impl Measure {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Measure::Size => "size",
            Measure::Stored => "stored",
        }
    }
}

impl fmt::Display for GrowthLimit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            GrowthLimit::Percent(percent) => write!(f, "{percent} %"),
            GrowthLimit::Bytes(bytes) => write!(f, "{bytes} bytes"),
        }
    }
}

impl GrowthLimit {
    fn is_exceeded(self, old: u64, new: u64) -> bool {
        let growth = growth(old, new);
        match self {
            GrowthLimit::Percent(percent) => growth > 0 && growth as f64 * 100.0 > old as f64 * percent,
            GrowthLimit::Bytes(bytes) => growth > 0 && growth.unsigned_abs() > bytes,
        }
    }
}

/// Checks all budgets. A budget without an architecture limits both the decompressed images and the containers, so that
/// it catches new code as well as lost compression.
pub fn check_budgets<'a>(old: &Lock, new: &Lock, budgets: &'a [Budget]) -> Result<Vec<BudgetResult<'a>>, BudgetError> {
    let mut results = Vec::new();
    for budget in budgets {
        let is_limited = |image: &&LockedImage| budget.arch.is_none() || image.target.arch == budget.arch;
        if let Some(arch) = &budget.arch
            && !old.images().chain(new.images()).any(|image| is_limited(&image))
        {
            return Err(BudgetError::UnknownArch(arch.clone()));
        }
        let size = |lock: &Lock| lock.images().filter(is_limited).try_fold(0, |sum: u64, it| sum.checked_add(it.size?));
        let stored = |lock: &Lock| lock.files.iter().try_fold(0, |sum: u64, file| sum.checked_add(file.stored?));
        let mut add = |measure, of: &dyn Fn(&Lock) -> Option<u64>| {
            let old = of(old).ok_or(BudgetError::NoSizes { side: "OLD" })?;
            let new = of(new).ok_or(BudgetError::NoSizes { side: "NEW" })?;
            results.push(BudgetResult { budget, measure, old, new, exceeded: budget.limit.is_exceeded(old, new) });
            Ok(())
        };
        add(Measure::Size, &size)?;
        if budget.arch.is_none() {
            add(Measure::Stored, &stored)?;
        }
    }
    Ok(results)
}
