//! Errors of the operations on bundles.

use std::path::{Path, PathBuf};

use crate::embed::bundle::file::BundleFileError;
use crate::embed::wrap::ImageError;
use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::base::error::Error;
use fatbin_core::format::bundle::FileType;
use fatbin_core::target::compatibility::FEATURE_RULE;

/// Result of an operation on bundles.
pub type Result<T, E = BundleError> = std::result::Result<T, E>;

/// Reason why files could not be bundled, unbundled or listed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum BundleError {
    /// A file that is not what its ID states.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// One id is given to two files.
    #[error("duplicate target {id}")]
    DuplicateTarget {
        /// The id.
        id: String,
    },
    /// Two ids for one processor, where only one sets a feature.
    #[error("conflicting targets {one} and {other}: {FEATURE_RULE}")]
    ConflictingTargets {
        /// The first id.
        one: String,
        /// The second id.
        other: String,
    },
    /// A bundle in a file with ids that conflict.
    #[error("{}: conflicting entries {one} and {other}: {FEATURE_RULE}", path.display())]
    ConflictingEntries {
        /// The file, or the member of an archive.
        path: PathBuf,
        /// The first id.
        one: String,
        /// The second id.
        other: String,
    },
    /// More than one id of kind `host`.
    #[error("conflicting targets {one} and {other}: a bundle has at most one host entry")]
    SeveralHosts {
        /// The first id.
        one: String,
        /// The second id.
        other: String,
    },
    /// A text with a line that the reader of a bundle would take for the end of the file.
    #[error("{}: contains an end marker of text bundles ({marker})", path.display())]
    ContainsMarker {
        /// The file.
        path: PathBuf,
        /// Start of the line.
        marker: String,
    },
    /// A type of file that cannot be bundled.
    #[error(
        "bundling to type {file_type} is not supported; bundle to type o and create an archive of the results with ar"
    )]
    UnsupportedType {
        /// Name of the type.
        file_type: &'static str,
    },
    /// A host object that already contains a bundle.
    #[error("{}: already a bundle", path.display())]
    AlreadyBundled {
        /// The file.
        path: PathBuf,
    },
    /// A bundle of objects is itself an object and has no compressed form.
    #[error("{}: bundles of object files cannot be compressed", path.display())]
    CompressedObject {
        /// The host's object.
        path: PathBuf,
    },
    /// More bytes than the fields of the compressed form can state.
    #[error("{}: uncompressed size {size} exceeds the limit of format version {version}", path.display())]
    TooLargeForVersion {
        /// The output.
        path: PathBuf,
        /// Size of the bundle before compression, in bytes.
        size: u64,
        /// Version of the compressed form.
        version: u16,
    },
    /// A file that continues after its first bundle.
    #[error("{}: more data follows the first bundle at {offset:#x}; use extract to extract all images", path.display())]
    SeveralBundles {
        /// The file.
        path: PathBuf,
        /// Offset of the first byte that follows the bundle and its padding.
        offset: u64,
    },
    /// A file that is not a bundle of the expected type.
    #[error("{}: not a bundle{}", path.display(), of_type(.file_type))]
    NotABundle {
        /// The file, or the member of an archive.
        path: PathBuf,
        /// The expected type; `None` where any was accepted.
        file_type: Option<FileType>,
    },
    /// Requested targets that no entry serves.
    #[error("{}: no entry for {} (available: {})", path.display(), .missing.join(", "), or_none(.available))]
    MissingTargets {
        /// The file.
        path: PathBuf,
        /// Requested IDs without an entry.
        missing: Vec<String>,
        /// Ids of all entries.
        available: Vec<String>,
    },
    /// A bundle with two entries of one id.
    #[error("{}: duplicate entry {id}", path.display())]
    DuplicateEntry {
        /// The file, or the member of an archive.
        path: PathBuf,
        /// The id.
        id: String,
    },
    /// An error about a file, independent of the operation.
    #[error(transparent)]
    File(#[from] Error),
}

impl Coded for BundleError {
    fn class(&self) -> ErrorClass {
        match self {
            BundleError::DuplicateTarget { .. }
            | BundleError::ConflictingTargets { .. }
            | BundleError::ConflictingEntries { .. }
            | BundleError::SeveralHosts { .. }
            | BundleError::DuplicateEntry { .. } => Code::ConflictingTargets.into(),
            BundleError::ContainsMarker { .. }
            | BundleError::UnsupportedType { .. }
            | BundleError::AlreadyBundled { .. }
            | BundleError::CompressedObject { .. } => Code::UnsupportedBundle.into(),
            BundleError::TooLargeForVersion { .. } => Code::UnreadableOutput.into(),
            BundleError::SeveralBundles { .. } => Code::SeveralBundles.into(),
            BundleError::NotABundle { .. } => Code::NotABundle.into(),
            BundleError::MissingTargets { .. } => Code::MissingTargets.into(),
            BundleError::File(error) => error.class(),
            BundleError::Image(error) => error.class(),
        }
    }
}

impl BundleError {
    /// Returns a function that adds the path and the expected type to an error of a reader.
    pub(crate) fn at(path: &Path, file_type: Option<FileType>) -> impl Fn(BundleFileError) -> BundleError {
        move |error| match error {
            BundleFileError::NotABundle => BundleError::NotABundle { path: path.to_owned(), file_type },
            BundleFileError::Malformed(malformed) => malformed.in_file(path).into(),
            BundleFileError::Search(error) => error.into(),
        }
    }
}

fn of_type(file_type: &Option<FileType>) -> String {
    file_type.map(|it| format!(" of type {} ({})", it.name, it.meaning)).unwrap_or_default()
}

fn or_none(ids: &[String]) -> String {
    if ids.is_empty() { "none".to_owned() } else { ids.join(", ") }
}
