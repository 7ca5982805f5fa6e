//! Errors of choosing a host and of emitting an object for it.

use crate::base::code::{Code, Coded, ErrorClass, Remedy};
use crate::base::spelling::Suggestions;

/// Error of choosing a host or of emitting an object for it.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum HostError {
    /// A triple of no supported machine, operating system or environment.
    #[error("{triple}: unsupported host{suggestions} (available: {available})")]
    UnsupportedTriple {
        /// The triple as the user wrote it.
        triple: String,
        /// The supported triples.
        available: String,
        /// Similar triples.
        #[doc(hidden)]
        suggestions: Suggestions,
    },
    /// This program was built for a machine that is not a host, so there is no default.
    #[error("{machine}: unsupported host (available: {available})")]
    UnsupportedNative {
        /// The machine, under Rust's name.
        machine: &'static str,
        /// The supported triples.
        available: String,
    },
    /// `.eh_frame` could not be written. Plans of this crate have not caused it.
    #[error("cannot emit unwind information")]
    UnwindInformation(#[source] Box<dyn std::error::Error + Send + Sync>),
    /// Offsets in objects of this format have 32 bits.
    #[error("{format} object of {size} bytes is too large: at most 4 GiB; wrap fewer images per object")]
    ObjectTooLarge {
        /// Name of the format.
        format: &'static str,
        /// Size of the object in bytes.
        size: u64,
    },
    /// The object file could not be written. Plans of this crate have not caused it.
    #[error("cannot emit the object file")]
    ObjectFile(#[source] Box<dyn std::error::Error + Send + Sync>),
}

impl HostError {
    pub(super) fn unwind_information(error: gimli::write::Error) -> Self {
        HostError::UnwindInformation(Box::new(error))
    }

    pub(super) fn object_file(error: object::write::Error) -> Self {
        HostError::ObjectFile(Box::new(error))
    }
}

#[doc(hidden)]
impl Coded for HostError {
    fn class(&self) -> ErrorClass {
        match self {
            HostError::UnsupportedTriple { .. } => Code::UnsupportedHost.into(),
            HostError::UnsupportedNative { .. } => Code::UnsupportedHost.with(Remedy::SpecifyHost),
            HostError::ObjectTooLarge { .. } => Code::UnreadableOutput.into(),
            HostError::UnwindInformation(_) | HostError::ObjectFile(_) => Code::Internal.into(),
        }
    }
}
