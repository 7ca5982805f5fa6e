//! Errors of fatbin's operations in the tool's words.

use crate::cli::dropin::diagnostics::cause;
use crate::error::Error;

/// Returns the message for an error; for one of the operating system, the message of that system alone.
pub fn format(error: &Error) -> String {
    match error {
        Error::Io { path, cause: error, .. } => format!("'{}': {}", path.display(), cause(error)),
        Error::NotAFile { path, .. } => format!("'{}': Is a directory", path.display()),
        other => other.to_string(),
    }
}
