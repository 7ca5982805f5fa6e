//! Errors of fatbin's operations, in the tool's words.

use crate::base::error::Error;
use crate::cli::dropin::diagnostics::cause;
use crate::embed::bundle::BundleError;

/// Message for an error. For an error of the operating system, it is the system's message alone.
pub fn format(error: &Error) -> String {
    match error {
        Error::Io { path, cause: error, .. } => format!("'{}': {}", path.display(), cause(error)),
        Error::NotAFile { path, .. } => format!("'{}': Is a directory", path.display()),
        other => other.to_string(),
    }
}

/// Message for an error of an operation on bundles.
pub fn format_bundle_error(error: &BundleError) -> String {
    match error {
        BundleError::File(error) => format(error),
        other => other.to_string(),
    }
}
