//! Bytes that violate their format: the field, its offset and the cause.

use std::path::PathBuf;

use super::resource::Resource;
use crate::base::code::{Code, Coded, ErrorClass, Remedy};

/// Bytes that violate their format.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{field} at {offset:#x}: {cause}")]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Malformed {
    /// The structure and field, in the words of its specification: `offload binary header: size`.
    pub field: &'static str,
    /// Offset of the field, in bytes from the start of the file (of the outermost view, if there is no file).
    pub offset: u64,
    /// Problem with its value.
    pub cause: Cause,
}

#[doc(hidden)]
impl Coded for Malformed {
    fn class(&self) -> ErrorClass {
        self.cause.class()
    }
}

/// Reason why a field is invalid; each variant holds the offending value.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Cause {
    /// The structure ends beyond the available bytes.
    #[error("truncated: need {needed} bytes, {available} available")]
    Truncated {
        /// Number of bytes that the structure has.
        needed: u64,
        /// Number of bytes that are left.
        available: u64,
    },
    /// Text or a sequence of instructions that ends inside a structure without a stated size.
    #[error("truncated: the data ends inside")]
    EndsInside,
    /// An offset and size outside the structure that they refer to.
    #[error("offset {offset} with size {size} is out of bounds ({limit} bytes available)")]
    OutOfBounds {
        /// The offset.
        offset: u64,
        /// The size in bytes.
        size: u64,
        /// Size of the structure in bytes.
        limit: u64,
    },
    /// A value that the field does not allow.
    #[error("invalid value {value:#x}, expected {expected}")]
    Unexpected {
        /// The value.
        value: u64,
        /// Description of the allowed values.
        expected: &'static str,
    },
    /// A version of a format that is not supported.
    #[error("unsupported version {value} (supported: {supported})")]
    UnsupportedVersion {
        /// The version.
        value: u64,
        /// The supported versions.
        supported: &'static str,
    },
    /// A string without a terminating NUL before the end of its structure.
    #[error("unterminated string")]
    Unterminated,
    /// A string that is not UTF-8, or an identifier that is not printable.
    #[error("not a printable UTF-8 string")]
    Unreadable,
    /// An offset of bytes that belong to something else.
    #[error("offset {offset} overlaps the preceding data, which ends at {end}")]
    Overlap {
        /// The offset.
        offset: u64,
        /// End of the data before it.
        end: u64,
    },
    /// A file of a text bundle without its end marker.
    #[error("missing end marker of file {id}")]
    MissingEndMarker {
        /// Bundle entry ID of the file.
        id: String,
    },
    /// A bundle entry ID that does not follow `<kind>-<triple>[-<target id>]`.
    #[error("invalid bundle entry ID {id:?}, expected <offload kind>-<triple>[-<target id>]")]
    BundleEntryId {
        /// The ID.
        id: String,
    },
    /// Bytes of no known format where a container is expected.
    #[error("unrecognized container magic ({first})")]
    NotAContainer {
        /// The first bytes, in hexadecimal.
        first: String,
    },
    /// Compressed bytes whose size exceeds the limit on all decompressed bytes of the input.
    #[error("decompressed size of {size} bytes exceeds the limit for this file ({left} of {limit} bytes left)")]
    OverLimit {
        /// The size in bytes.
        size: u64,
        /// Number of bytes that may still be decompressed.
        left: u64,
        /// The limit in bytes.
        limit: u64,
    },
    /// Contents that take more of a resource than the size of the input allows.
    #[error("exceeds the limit of {limit} {} for this file", resource.unit())]
    OverBudget {
        /// The limit.
        limit: u64,
        /// The resource.
        resource: Resource,
    },
    /// Memory for the decompressed bytes could not be allocated.
    #[error("cannot allocate {size} bytes")]
    NoMemory {
        /// Size in bytes.
        size: u64,
    },
    /// Bytes that are not a complete stream of their codec, in the words of its library.
    #[error("cannot decompress: {0}")]
    Compressed(String),
    /// A decompressed size that differs from the stated one.
    #[error("decompressed to {size} bytes, expected {expected}")]
    SizeMismatch {
        /// The decompressed size in bytes.
        size: u64,
        /// The stated size in bytes.
        expected: u64,
    },
    /// A hash that differs from the hash of the decompressed bytes.
    #[error("hash mismatch: stored {stored:#018x}, computed {found:#018x}")]
    HashMismatch {
        /// The hash in the file.
        stored: u64,
        /// The hash of the decompressed bytes.
        found: u64,
    },
    /// A codec that cannot be decompressed.
    #[error("unsupported compression ({codec})")]
    UnsupportedCodec {
        /// Name of the codec.
        codec: &'static str,
    },
    /// A section for device images that is compressed as an ELF section.
    #[error(
        "compressed section (SHF_COMPRESSED), which no reader of device code accepts; decompress it with llvm-objcopy"
    )]
    CompressedSection,
    /// Offload entries of a linked file that registers no image.
    #[error("{entries} for {launch}, and no image is registered: the link lost the device code", entries = entry_count(*entries))]
    LostDeviceCode {
        /// Number of entries.
        entries: u64,
        /// Function that launches kernels.
        launch: &'static str,
    },
    /// A compressed container directly in a compressed container. No tool writes that.
    #[error("decompressed to another compressed container")]
    CompressedTwice,
    /// A container that is nested too deeply to be opened.
    #[error("not opened: inside of {limit} containers")]
    NestedTooDeep {
        /// Maximum number of containers around it.
        limit: usize,
    },
    /// Files that the bytes refer to, and that do not exist.
    #[error("not found: {files} in {}", directory.display())]
    NotFound {
        /// Paths of the files.
        files: String,
        /// The directory where they were searched.
        directory: PathBuf,
    },
    /// Error of the parser of host files and device ELF files.
    #[error("{0}")]
    ObjectFile(String),
    /// Error that another crate, or a check without numbers, describes in words.
    #[error("{0}")]
    Described(String),
}

#[doc(hidden)]
impl Coded for Cause {
    fn class(&self) -> ErrorClass {
        match self {
            Cause::Truncated { .. } | Cause::EndsInside | Cause::OutOfBounds { .. } | Cause::Unterminated => {
                Code::Truncated.into()
            }
            Cause::Unexpected { .. }
            | Cause::Unreadable
            | Cause::Overlap { .. }
            | Cause::MissingEndMarker { .. }
            | Cause::ObjectFile(_)
            | Cause::Described(_) => Code::InvalidField.into(),
            Cause::UnsupportedVersion { .. } => Code::UnsupportedVersion.into(),
            Cause::BundleEntryId { .. } => Code::InvalidEntryId.into(),
            Cause::NotAContainer { .. } | Cause::CompressedSection => Code::UnknownContainer.into(),
            Cause::NotFound { .. } => Code::InvalidField.with(Remedy::SpecifyReferences),
            Cause::OverLimit { .. } => Code::DecompressedLimit.with(Remedy::RaiseDecompressedLimit),
            Cause::OverBudget { resource: Resource::Decompressed, .. } => {
                Code::WorkLimit.with(Remedy::RaiseDecompressedLimit)
            }
            Cause::OverBudget { .. } => Code::WorkLimit.with(Remedy::RaiseLimits),
            Cause::NoMemory { .. } | Cause::NestedTooDeep { .. } => Code::WorkLimit.into(),
            Cause::Compressed(_) | Cause::SizeMismatch { .. } | Cause::CompressedTwice => {
                Code::DamagedCompression.into()
            }
            Cause::HashMismatch { .. } => Code::HashMismatch.into(),
            Cause::LostDeviceCode { .. } => Code::LostDeviceCode.into(),
            Cause::UnsupportedCodec { .. } => Code::StoredOnly.into(),
        }
    }
}

impl Cause {
    /// Creates the cause from an error of the `object` crate.
    #[doc(hidden)]
    pub fn object_file(error: object::read::Error) -> Self {
        Cause::ObjectFile(error.to_string())
    }

    /// Returns whether bytes that end too early can cause this.
    pub(crate) fn is_truncation(&self) -> bool {
        matches!(
            self,
            Cause::Truncated { .. }
                | Cause::EndsInside
                | Cause::OutOfBounds { .. }
                | Cause::Unterminated
                | Cause::Compressed(_)
        )
    }
}

impl Malformed {
    /// Creates an error in a field.
    #[doc(hidden)]
    pub fn new(field: &'static str, offset: u64, cause: Cause) -> Self {
        Malformed { field, offset, cause }
    }
}

fn entry_count(count: u64) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}
