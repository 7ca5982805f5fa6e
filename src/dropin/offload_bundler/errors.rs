//! Errors of fatbin's operations, in the tool's words.

use crate::files::file_message;
use fatbin_ops::embed::bundle::BundleError;

/// Message for an error of an operation on bundles.
pub fn format_bundle_error(error: &BundleError) -> String {
    match error {
        BundleError::File(error) => file_message(error),
        other => other.to_string(),
    }
}
