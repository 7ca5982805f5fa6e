//! Matching of bundle entries and requested targets.

use std::collections::HashSet;
use std::path::Path;

use crate::embed::bundle::error::{BundleError, Result};
use crate::embed::bundle::file::BundleFile;
use fatbin_core::target::BundleEntryId;
use fatbin_core::target::compatibility::{Fit, KindRules, TargetMismatch};

/// Rejects a bundle with two entries of one ID, because they are ambiguous.
pub fn check_entries(path: &Path, bundle: &BundleFile) -> Result<()> {
    let mut ids = HashSet::new();
    match bundle.entries.iter().find(|entry| !ids.insert(&entry.id)) {
        Some(entry) => Err(BundleError::DuplicateEntry { path: path.to_owned(), id: entry.id.clone() }),
        None => Ok(()),
    }
}

/// Returns whether the entry with an ID serves the requested ID.
pub fn serves(id: &str, wanted: &str, rules: KindRules) -> Result<Fit, TargetMismatch> {
    match (BundleEntryId::parse(id), BundleEntryId::parse(wanted)) {
        (Some(id), Some(wanted)) => id.serves(&wanted, rules),
        _ if id == wanted => Ok(Fit::Exact),
        _ => Err(TargetMismatch::Kind { found: id.to_owned(), requested: wanted.to_owned() }),
    }
}
