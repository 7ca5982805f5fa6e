//! How much device code may grow, and whether it did.

use std::fmt;

use super::size::growth;
use super::{Lock, LockedImage};

/// A limit on the growth of all device code, or of that for one processor.
#[derive(Debug, Clone, PartialEq)]
pub struct Budget {
    pub arch: Option<String>,
    pub limit: GrowthLimit,
}

/// By how much something may grow.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum GrowthLimit {
    Percent(f64),
    Bytes(u64),
}

/// What of it is measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Measure {
    /// Images once they are decompressed.
    Size,
    /// What containers take of the files. Which part of a compressed one is for a processor cannot be told.
    Stored,
}

/// What came of a budget.
#[derive(Debug, Clone, PartialEq)]
pub struct BudgetResult<'a> {
    pub budget: &'a Budget,
    pub measure: Measure,
    pub old: u64,
    pub new: u64,
    pub exceeded: bool,
}

/// Why nobody knows whether a budget is kept.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BudgetError {
    #[error("neither side has code for {0}, whose growth is to be limited")]
    UnknownArch(String),
    #[error("{side} does not state the sizes that --max-growth needs")]
    NoSizes { side: &'static str },
}

impl Measure {
    /// The name in JSON.
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

/// Whether the budgets are kept. One for everything holds for the images and for what they take once they are stored, so
/// that neither new code nor a lost compression goes by.
pub fn check_budgets<'a>(old: &Lock, new: &Lock, budgets: &'a [Budget]) -> Result<Vec<BudgetResult<'a>>, BudgetError> {
    let mut verdicts = Vec::new();
    for budget in budgets {
        let is_meant = |image: &&LockedImage| budget.arch.is_none() || image.target.arch == budget.arch;
        if let Some(arch) = &budget.arch
            && !old.images().chain(new.images()).any(|image| is_meant(&image))
        {
            return Err(BudgetError::UnknownArch(arch.clone()));
        }
        let size = |lock: &Lock| lock.images().filter(is_meant).try_fold(0, |sum: u64, it| sum.checked_add(it.size?));
        let stored = |lock: &Lock| lock.files.iter().try_fold(0, |sum: u64, file| sum.checked_add(file.stored?));
        let mut add = |measure, of: &dyn Fn(&Lock) -> Option<u64>| {
            let old = of(old).ok_or(BudgetError::NoSizes { side: "OLD" })?;
            let new = of(new).ok_or(BudgetError::NoSizes { side: "NEW" })?;
            verdicts.push(BudgetResult { budget, measure, old, new, exceeded: budget.limit.is_exceeded(old, new) });
            Ok(())
        };
        add(Measure::Size, &size)?;
        if budget.arch.is_none() {
            add(Measure::Stored, &stored)?;
        }
    }
    Ok(verdicts)
}
