//! Errors of splitting and joining.

use std::path::{Path, PathBuf};

use crate::edit::EditError;
use fatbin_core::base::code::{Code, Coded, ErrorClass, Remedy};
use fatbin_core::base::error::{Error, Malformed};
use fatbin_core::base::io::InvalidName;

/// Error of splitting and joining.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplitError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// Bytes that violate their format. The caller adds the file.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A package, whose members are files by themselves.
    #[error("{}: is an archive; unpack it and split the files in it", path.display())]
    Package {
        /// The file.
        path: PathBuf,
    },
    /// A thin archive. It only lists its members.
    #[error("{}: a thin archive only lists its members; split these files", path.display())]
    ThinArchive {
        /// The archive.
        path: PathBuf,
    },
    /// A signature that the split breaks, or one that cannot be read.
    #[error(transparent)]
    Signed(Box<EditError>),
    /// A problem of a file.
    #[error("{}: {problem}", path.display())]
    InFile {
        /// The file.
        path: PathBuf,
        /// The problem.
        problem: SplitProblem,
    },
    /// A problem in a file that the caller knows.
    #[error(transparent)]
    Problem(#[from] SplitProblem),
}

impl Coded for SplitError {
    fn class(&self) -> ErrorClass {
        match self {
            SplitError::File(error) => error.class(),
            SplitError::Malformed(error) => error.class(),
            SplitError::Signed(error) => error.class(),
            SplitError::Package { .. } | SplitError::ThinArchive { .. } => Code::UnsupportedArchive.into(),
            SplitError::InFile { problem, .. } | SplitError::Problem(problem) => problem.class(),
        }
    }
}

/// Reason why a file cannot be split or joined.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum SplitProblem {
    /// Images overlap.
    #[error("device images overlap; only a damaged file has such images")]
    Overlap,
    /// A file name that the index cannot state.
    #[error("the file name is not UTF-8")]
    Name,
    /// A file name that the index must not state.
    #[error("{0}; rename the file")]
    InvalidName(InvalidName),
    /// Code for a target that no file name can have.
    #[error("archive {0}")]
    InvalidTarget(InvalidName),
    /// The directory has the parts of another file.
    #[error("has the parts of {file}; specify another directory")]
    OtherFile {
        /// Name of the other file.
        file: String,
    },
    /// Device code that HIP does not register.
    #[error("no HIP wrapper registers its device code")]
    NoWrappers,
    /// A host file whose wrappers HIP's loader does not find.
    #[error("not an ELF or PE file")]
    HostFormat,
    /// A wrapper without a bundle.
    #[error("HIP wrapper at {offset:#x}: does not point to a bundle")]
    WrapperTarget {
        /// Offset of the wrapper.
        offset: u64,
    },
    /// A wrapper whose last word is in use.
    #[error("HIP wrapper at {offset:#x}: the index of the code object has no room")]
    WrapperInUse {
        /// Offset of the wrapper.
        offset: u64,
    },
    /// Code that archives cannot hold.
    #[error("image {number}: {kind} for {target}; kpack archives hold ELF code objects for AMD only")]
    Code {
        /// Index among the device images of the file.
        number: usize,
        /// Kind of the image.
        kind: &'static str,
        /// Target of the image.
        target: String,
    },
    /// A bundle that is smaller than the marker that replaces it.
    #[error("bundle at {offset:#x}: the marker of {needed} bytes does not fit into {room}")]
    NoRoom {
        /// Offset of the bundle.
        offset: u64,
        /// Size of the marker, in bytes.
        needed: u64,
        /// Size of the bundle, in bytes.
        room: u64,
    },
    /// Compression failed.
    #[error("cannot compress: {0}")]
    Compress(std::io::Error),
    /// A text that is not an index.
    #[error("not an index of fatbin split: {0}")]
    Index(String),
    /// An index that does not record the original.
    #[error("cannot be joined: {0}")]
    NotJoinable(String),
    /// A file that differs from the index.
    #[error("{what} differs from the index: {found}, expected {expected}")]
    Differs {
        /// The property.
        what: &'static str,
        /// Its value.
        found: String,
        /// The value in the index.
        expected: String,
    },
}

impl Coded for SplitProblem {
    fn class(&self) -> ErrorClass {
        match self {
            SplitProblem::Overlap => Code::InvalidField.into(),
            SplitProblem::Name | SplitProblem::InvalidName(_) => Code::NotSplittable.into(),
            SplitProblem::NoWrappers
            | SplitProblem::HostFormat
            | SplitProblem::InvalidTarget(_)
            | SplitProblem::WrapperTarget { .. }
            | SplitProblem::WrapperInUse { .. }
            | SplitProblem::Code { .. }
            | SplitProblem::NoRoom { .. } => Code::NotSplittable.with(Remedy::SplitIntoFiles),
            SplitProblem::Compress(_) => Code::Internal.into(),
            SplitProblem::OtherFile { .. }
            | SplitProblem::Index(_)
            | SplitProblem::NotJoinable(_)
            | SplitProblem::Differs { .. } => Code::NotJoinable.into(),
        }
    }
}

impl SplitError {
    /// Adds the path to an error that has none.
    pub fn in_file(self, path: &Path) -> SplitError {
        match self {
            SplitError::Malformed(cause) => cause.in_file(path).into(),
            SplitError::Problem(problem) => SplitError::InFile { path: path.to_owned(), problem },
            SplitError::File(_)
            | SplitError::Package { .. }
            | SplitError::ThinArchive { .. }
            | SplitError::Signed(_)
            | SplitError::InFile { .. } => self,
        }
    }
}
