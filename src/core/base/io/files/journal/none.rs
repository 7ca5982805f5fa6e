//! Systems without records.

use std::path::Path;

use super::{JournalEntry, Recovered};
use crate::base::error::Result;

/// No record.
#[derive(Debug)]
pub struct Journal;

impl Journal {
    /// Writes nothing.
    pub fn write(_entries: &[JournalEntry<'_>]) -> Option<Journal> {
        None
    }

    /// Does nothing.
    pub fn add_copy(&self, _entry: usize, _copy: &Path) {}

    /// Does nothing.
    pub fn complete(&self) {}
}

/// Returns false: there are no records.
pub fn has_unfinished(_directory: &Path) -> bool {
    false
}

/// Finds no record.
pub fn recover(_directory: &Path) -> Result<Vec<Recovered>> {
    Ok(Vec::new())
}
