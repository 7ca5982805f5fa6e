//! Errors, with the values that they are about.
//!
//! There are two layers. A reader of a format knows bytes and offsets but no file, so it returns [`Malformed`]; the
//! code that opened the file adds its path and returns an [`Error`]. Both print as one line,
//! `PATH: FIELD at 0xOFFSET: CAUSE`; the command line puts the name of the program before it.

use std::io;
use std::path::{Path, PathBuf};

pub use super::malformed::{Cause, Malformed};
pub use super::resource::Resource;
use super::system_error::describe_failure;
use crate::base::code::{Code, Coded, ErrorClass, Remedy};

/// Result of functions that access files.
pub type Result<T, E = Error> = std::result::Result<T, E>;

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

impl Malformed {
    /// Adds the path of the file that holds the bytes.
    pub fn in_file(self, path: &Path) -> Error {
        Error::Malformed { path: path.to_owned(), malformed: self }
    }
}
