//! Signatures in extended attributes.

use std::path::Path;

use crate::base::io::extended_attribute;

/// Returns whether the value of an extended attribute has one of these types.
pub fn has_type(path: &Path, name: &str, types: &[u8]) -> bool {
    let value = extended_attribute(path, name).unwrap_or_default();
    value.first().is_some_and(|first| types.contains(first))
}
