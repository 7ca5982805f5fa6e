//! Errors of embedding files.

use fatbin_core::base::code::{Code, Coded, ErrorClass, Remedy};
use fatbin_core::base::error::Error;
use fatbin_core::host::HostError;

/// Error of embedding files in a host object.
#[derive(Debug, thiserror::Error)]
pub enum EmbedError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// The host is not supported, or the object cannot be emitted.
    #[error(transparent)]
    Host(#[from] HostError),
    /// A name that no symbol can have.
    #[error("invalid symbol name {name:?}: {problem}")]
    InvalidName {
        /// The name.
        name: String,
        /// Reason.
        problem: &'static str,
    },
    /// Two definitions of one symbol.
    #[error("duplicate symbol {symbol}: {one} and {other}; rename one of them")]
    DuplicateSymbol {
        /// The symbol.
        symbol: String,
        /// Description of the first definition.
        one: String,
        /// Description of the second definition.
        other: String,
    },
    /// A name that a language cannot spell.
    #[error("symbol {name:?} is not a C identifier")]
    NotAnIdentifier {
        /// The name.
        name: String,
    },
    /// A section name that the object format does not allow.
    #[error("{name}: {problem}")]
    InvalidSection {
        /// The name.
        name: String,
        /// Reason.
        problem: String,
    },
    /// An alignment that the object format does not allow.
    #[error("{alignment}: {problem}")]
    InvalidAlignment {
        /// The alignment.
        alignment: u64,
        /// Reason.
        problem: String,
    },
    /// Only ELF has large sections.
    #[error("objects for {host} have no large sections")]
    NoLargeSections {
        /// Triple of the host.
        host: String,
    },
    /// More sections than a file of the format can have.
    #[error("{count} files: one object holds at most {limit}; write several objects")]
    TooManyFiles {
        /// Number of files.
        count: usize,
        /// Maximum.
        limit: usize,
    },
}

impl Coded for EmbedError {
    fn class(&self) -> ErrorClass {
        match self {
            EmbedError::File(error) => error.class(),
            EmbedError::Host(error) => error.class(),
            EmbedError::InvalidName { .. } | EmbedError::DuplicateSymbol { .. } => Code::InvalidSymbol.into(),
            EmbedError::NotAnIdentifier { .. } => Code::InvalidSymbol.with(Remedy::RenameOrOmitHeader),
            EmbedError::InvalidSection { .. } => Code::InvalidPlacement.with(Remedy::ChangeSection),
            EmbedError::InvalidAlignment { .. } => Code::InvalidPlacement.with(Remedy::ChangeAlignment),
            EmbedError::TooManyFiles { .. } => Code::InvalidPlacement.into(),
            EmbedError::NoLargeSections { .. } => Code::LargeSections.with(Remedy::AllowSmallFiles),
        }
    }
}
