//! Which entry of a bundle serves which target.

use std::collections::HashSet;
use std::path::Path;

use crate::ops::bundle::error::{BundleError, Result};
use crate::ops::bundle::file::BundleFile;
use crate::target::BundleEntryId;
use crate::target::compatibility::{Fit, KindRules, TargetMismatch};

/// Refuses a bundle that has an id twice: which one is meant nobody can say.
pub fn check_entries(path: &Path, bundle: &BundleFile) -> Result<()> {
    let mut ids = HashSet::new();
    match bundle.entries.iter().find(|entry| !ids.insert(&entry.id)) {
        Some(entry) => Err(BundleError::DuplicateEntry { path: path.to_owned(), id: entry.id.clone() }),
        None => Ok(()),
    }
}

/// Whether what stands under an id serves one that is asked for.
pub fn serves(id: &str, wanted: &str, rules: KindRules) -> Result<Fit, TargetMismatch> {
    match (BundleEntryId::parse(id), BundleEntryId::parse(wanted)) {
        (Some(id), Some(wanted)) => id.serves(&wanted, rules),
        _ if id == wanted => Ok(Fit::Exact),
        _ => Err(TargetMismatch::Kind { found: id.to_owned(), requested: wanted.to_owned() }),
    }
}
