//! Errors of parsing a lock.

use std::str::Utf8Error;

use super::text::HEADER;
use fatbin_core::base::code::{Code, Coded, ErrorClass, Remedy};
use fatbin_core::base::error::Cause;

/// Error of parsing a lock.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("line {line}: {cause}")]
pub struct LockError {
    /// Line number, counted from 1.
    pub line: u64,
    /// Error in the line.
    pub cause: LineError,
}

impl Coded for LockError {
    fn class(&self) -> ErrorClass {
        self.cause.class()
    }
}

/// Error in a line of a lock. Each variant has the invalid text.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LineError {
    /// The first line is not the header.
    #[error("invalid header {0:?}, expected {HEADER:?}")]
    Header(String),
    /// The file is a summary.
    #[error("a summary is for readers")]
    Summary,
    /// The line is not UTF-8.
    #[error("invalid UTF-8")]
    NotUtf8(#[from] Utf8Error),
    /// The line begins with an unknown word.
    #[error("unknown entry {0:?}, expected file, unit, image or kernel")]
    UnknownEntry(String),
    /// An entry precedes the first entry that it belongs to: a unit the first file, an image the first unit, or a
    /// kernel the first image.
    #[error("{entry} before the first {outer}")]
    OutOfPlace {
        /// Type of the entry.
        entry: &'static str,
        /// Type of the entry that must precede it.
        outer: &'static str,
    },
    /// The entry has no name.
    #[error("{0} without a name")]
    NoName(&'static str),
    /// A required field is missing.
    #[error("missing field {field}")]
    Missing {
        /// Key of the field.
        field: &'static str,
    },
    /// A field is not of the form `KEY=VALUE`.
    #[error("invalid field {0:?}, expected KEY=VALUE")]
    InvalidField(String),
    /// The entry has no field with this key.
    #[error("unknown field {0:?}")]
    UnknownField(String),
    /// The entry has two fields with this key.
    #[error("duplicate field {0}")]
    DuplicateField(String),
    /// A quoted string is unterminated, or has an escape that JSON does not have.
    #[error("invalid string {0}: unterminated, or with an escape that JSON does not have")]
    InvalidString(String),
    /// A value is not a number.
    #[error("invalid {field} {value:?}, expected a number")]
    NotANumber {
        /// Key of the field.
        field: &'static str,
        /// The value.
        value: String,
    },
    /// A value is not a hash.
    #[error("invalid {field} {value:?}, expected the {digits} hexadecimal digits of a SHA-256")]
    NotAHash {
        /// Key of the field.
        field: &'static str,
        /// Number of digits.
        digits: usize,
        /// The value.
        value: String,
    },
    /// Fields are for an image that is not in the unit.
    #[error("unknown image {0:?} after @, expected one of the unit")]
    UnknownImage(String),
    /// An image is named twice.
    #[error("duplicate image {0} after @")]
    DuplicateImage(String),
    /// The lock has so many kernels of so many images that it exceeds the budget of its size.
    #[error("{0}")]
    OverBudget(Cause),
}

impl Coded for LineError {
    fn class(&self) -> ErrorClass {
        match self {
            LineError::Header(_)
            | LineError::NotUtf8(_)
            | LineError::UnknownEntry(_)
            | LineError::OutOfPlace { .. }
            | LineError::NoName(_)
            | LineError::Missing { .. }
            | LineError::InvalidField(_)
            | LineError::UnknownField(_)
            | LineError::DuplicateField(_)
            | LineError::InvalidString(_)
            | LineError::NotANumber { .. }
            | LineError::NotAHash { .. }
            | LineError::UnknownImage(_)
            | LineError::DuplicateImage(_) => Code::InvalidLock.into(),
            LineError::Summary => Code::InvalidLock.with(Remedy::WriteLock),
            LineError::OverBudget(cause) => cause.class(),
        }
    }
}
