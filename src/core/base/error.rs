//! Errors, with the values that they are about.
//!
//! There are two layers. A reader of a format knows bytes and offsets but no file, so it returns [`Malformed`]; the
//! code that opened the file adds its path and returns an [`Error`]. Both print as one line,
//! `PATH: FIELD at 0xOFFSET: CAUSE`; the command line puts the name of the program before it.

use std::io;
use std::path::{Path, PathBuf};

pub use super::resource::Resource;
use super::system_error::describe_failure;
use crate::base::code::{Code, Coded, ErrorClass, Remedy};

/// Result of functions that access files.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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

fn entry_count(count: u64) -> String {
    if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") }
}

/// Errors of operations on files, each with the file (or the argument, if there is no file) that it is about.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// An operating system call failed. The cause is part of the message and not a `source`, so that printing the whole
    /// chain of errors does not print it twice.
    #[error("{}: cannot {action}: {}", path.display(), describe_failure(path, action, cause))]
    Io {
        /// The file.
        path: PathBuf,
        /// The action, as a verb.
        action: &'static str,
        /// Error of the operating system.
        cause: io::Error,
    },
    /// A directory or device where a regular file is required.
    #[error("{}: is {found}, not a regular file", path.display())]
    NotAFile {
        /// The path.
        path: PathBuf,
        /// Kind of the file, with an article.
        found: &'static str,
    },
    /// A file with bytes that violate their format.
    #[error("{}: {malformed}", path.display())]
    Malformed {
        /// The file.
        path: PathBuf,
        /// The problem and its place.
        malformed: Malformed,
    },
    /// A decompressed image with bytes that violate their format.
    #[error("{}, image {number} decompressed: {malformed}", path.display())]
    MalformedImage {
        /// The file.
        path: PathBuf,
        /// Index of the image in the file.
        number: usize,
        /// The problem and its place in the decompressed image.
        malformed: Malformed,
    },
    /// A file that was truncated while it was read or copied.
    #[error("{}: truncated while it was being read: {missing} bytes missing", path.display())]
    Shrunk {
        /// The file.
        path: PathBuf,
        /// Number of bytes that could not be copied.
        missing: u64,
    },
    /// An output that is also an input.
    #[error("{}: is both input and output", path.display())]
    SameFile {
        /// The file.
        path: PathBuf,
    },
    /// One path for two outputs.
    #[error("{}: duplicate output; specify another path", path.display())]
    SameOutput {
        /// The path.
        path: PathBuf,
    },
    /// A binary file that a text would replace.
    #[error("{}: is not text, and would be replaced by text", path.display())]
    ReplacesBinary {
        /// The file.
        path: PathBuf,
    },
    /// A file of another kind that code would replace.
    #[error("{}: is no object, archive, program or container, and would be replaced by one", path.display())]
    ReplacesOther {
        /// The file.
        path: PathBuf,
    },
    /// A file without write permission that an output would replace.
    #[error("{}: is read-only; specify another file, or make it writable", path.display())]
    ReadOnly {
        /// The file.
        path: PathBuf,
    },
    /// A symbolic link below a directory with files that an input names.
    #[error("{}: is a symbolic link, which names from an input do not follow; replace it with its target", path.display())]
    SymbolicLink {
        /// The link.
        path: PathBuf,
    },
    /// An invalid `file://` address.
    #[error("{address}: {why}")]
    Address {
        /// The address.
        address: String,
        /// The reason.
        why: String,
    },
    /// A file that another process changed between opening it and the end of the operation.
    #[error("{}: changed while it was being read", path.display())]
    Changed {
        /// The file.
        path: PathBuf,
    },
    /// A member of an archive that cannot be read.
    #[error("{}: {why}", path.display())]
    UnreadableMember {
        /// The archive and the member.
        path: PathBuf,
        /// The reason.
        why: String,
    },
    /// A file that contains other files, in a format that is not opened.
    #[error("{}: not opened: {reason}; unpack it and specify the files in it", path.display())]
    NotOpened {
        /// The file.
        path: PathBuf,
        /// Format of the file, or another reason.
        reason: String,
    },
    /// LLVM bitcode of a host. Images in it are not changed.
    #[error("{}: {why}", path.display())]
    Bitcode {
        /// The file.
        path: PathBuf,
        /// Where the bitcode is, and the remedy.
        why: &'static str,
    },
    /// An output with names that its reader would reject.
    #[error("{}: not written: {malformed}; use fewer or shorter names, without NUL and line breaks", path.display())]
    UnreadableOutput {
        /// The output.
        path: PathBuf,
        /// Error of the reader.
        malformed: Malformed,
    },
    /// An output whose size exceeds 64 bits.
    #[error("{}: too large: size including headers exceeds 64 bits", path.display())]
    TooLarge {
        /// The output.
        path: PathBuf,
    },
}

#[doc(hidden)]
impl Coded for Error {
    fn class(&self) -> ErrorClass {
        match self {
            Error::Io { .. } => Code::SystemCall.into(),
            Error::NotAFile { .. } => Code::NotAFile.into(),
            Error::Malformed { malformed, .. } | Error::MalformedImage { malformed, .. } => malformed.class(),
            Error::Shrunk { .. } | Error::Changed { .. } => Code::ChangedInput.into(),
            Error::SameFile { .. } => Code::InputIsOutput.into(),
            Error::SameOutput { .. } => Code::SameOutput.into(),
            Error::ReplacesBinary { .. } | Error::ReplacesOther { .. } => {
                Code::BinaryFile.with(Remedy::ReplaceBinaries)
            }
            Error::ReadOnly { .. } => Code::SystemCall.into(),
            Error::SymbolicLink { .. } => Code::SymbolicLink.into(),
            Error::Address { .. } => Code::FileAddress.into(),
            Error::UnreadableMember { .. } => Code::UnreadableMember.into(),
            Error::NotOpened { .. } => Code::NotOpened.into(),
            Error::Bitcode { .. } => Code::Bitcode.into(),
            Error::UnreadableOutput { .. } | Error::TooLarge { .. } => Code::UnreadableOutput.into(),
        }
    }
}

impl Error {
    /// Path of the file that it concerns; `None` for an address that cannot be read.
    pub fn path(&self) -> Option<&Path> {
        match self {
            Error::Io { path, .. }
            | Error::NotAFile { path, .. }
            | Error::Shrunk { path, .. }
            | Error::SameFile { path }
            | Error::SameOutput { path }
            | Error::ReplacesBinary { path }
            | Error::ReplacesOther { path }
            | Error::ReadOnly { path }
            | Error::SymbolicLink { path }
            | Error::Changed { path }
            | Error::UnreadableMember { path, .. }
            | Error::NotOpened { path, .. }
            | Error::Bitcode { path, .. }
            | Error::UnreadableOutput { path, .. }
            | Error::Malformed { path, .. }
            | Error::MalformedImage { path, .. }
            | Error::TooLarge { path } => Some(path),
            Error::Address { .. } => None,
        }
    }

    /// Returns a function for `map_err` on an operating system call about `path`; `action` completes "cannot …".
    pub fn io(path: &Path, action: &'static str) -> impl FnOnce(io::Error) -> Error {
        let path = path.to_owned();
        move |cause| Error::Io { path, action, cause }
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

    /// Adds the path of the file that holds the bytes.
    pub fn in_file(self, path: &Path) -> Error {
        Error::Malformed { path: path.to_owned(), malformed: self }
    }
}
