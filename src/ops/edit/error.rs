//! Errors of changing files.

use std::io;
use std::ops::Range;
use std::path::{Path, PathBuf};

use fatbin_core::base::code::{Code, Coded, ErrorClass, Remedy};
use fatbin_core::base::error::{Error, Malformed};
use fatbin_core::base::signature::Signature;
use fatbin_core::format::ccob::CompressError;
use fatbin_core::format::cuda_fatbin::WriteError;
use fatbin_core::format::readers::Reader;
use fatbin_core::target::Device;

/// Result of changing a file.
pub type Result<T, E = EditError> = std::result::Result<T, E>;

/// Error of changing a file.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum EditError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// Bytes that violate their format. The caller adds the file.
    #[error(transparent)]
    Malformed(#[from] Malformed),
    /// A container that has no such encoding.
    #[error("a container of type {container} has no such encoding")]
    UnsupportedEncoding {
        /// Type of the container.
        container: &'static str,
    },
    /// A codec that the containers of a type do not have.
    #[error("{codec} is not a codec of containers of type {container}")]
    UnsupportedCodec {
        /// Name of the codec.
        codec: &'static str,
        /// Type of the container.
        container: &'static str,
    },
    /// Compression in a version of offload binaries without it.
    #[error("offload binaries of version {version} are not compressed; use version 3")]
    UncompressedVersion {
        /// The version.
        version: u32,
    },
    /// An entry without an image in an offload binary that is to have version 1. Version 1 has no such entries.
    #[error("an entry has properties and no image: not representable in version 1 of offload binaries; use version 2")]
    MetadataEntry,
    /// A size that does not fit its field.
    #[error("too large: a size does not fit its field")]
    TooLarge,
    /// A CUDA fat binary cannot be written.
    #[error(transparent)]
    CudaFatbin(#[from] WriteError),
    /// A bundle cannot be compressed.
    #[error(transparent)]
    CompressBundle(CompressError),
    /// Compression failed.
    #[error("cannot compress: {0}")]
    Compress(io::Error),
    /// A release that refuses a bundle for the ID of an entry.
    #[error("{reader} refuses the bundle for its entry {id}; it needs a kind and a triple of four components")]
    ShortId {
        /// The release.
        reader: Reader,
        /// The ID.
        id: String,
    },
    /// A release that cannot read a container of the result.
    #[error(
        "{reader} cannot read {container} of this form{}",
        .first.map_or("; no release can".to_owned(), |first| format!("; {first} is the first release that can"))
    )]
    Unreadable {
        /// The release.
        reader: Reader,
        /// Type of the container.
        container: &'static str,
        /// First release that can.
        first: Option<Reader>,
    },
    /// No image has an index.
    #[error("no image {number}: the file has {}", match .count {
        0 => "no device images".to_owned(),
        1 => "one device image, with number 0".to_owned(),
        count => format!("device images 0 to {}", count.saturating_sub(1)),
    })]
    NoImage {
        /// The index.
        number: usize,
        /// Number of images.
        count: usize,
    },
    /// No image of a file is selected.
    #[error("{0}")]
    NoMatch(String),
    /// A selector of one image selects images in several files.
    #[error("{selector} selects images in several files: {files}")]
    SeveralFiles {
        /// The selector.
        selector: String,
        /// Names of the files.
        files: String,
    },
    /// A selector of one image selects several.
    #[error("several images match {selector}: {numbers}; use one of these numbers")]
    SeveralImages {
        /// The selector.
        selector: String,
        /// Indexes of the images.
        numbers: String,
    },
    /// Two new images for one place.
    #[error("duplicate replacement of image {number}")]
    ReplacedTwice {
        /// Index of the image.
        number: usize,
    },
    /// A new image has another target than the image that it replaces.
    #[error("image {number} is {old}, the new one {new}")]
    OtherTarget {
        /// Index of the image.
        number: usize,
        /// Format and target of the image.
        old: String,
        /// Format and target of the new image.
        new: String,
    },
    /// A new image without any format of device code.
    #[error("{}: is no device image: neither ELF, bitcode, SPIR-V nor PTX", path.display())]
    NotADeviceImage {
        /// Path of the image.
        path: PathBuf,
    },
    /// New bytes do not fit into the place of a container in a linked file.
    #[error("container at {offset:#x}: {needed} bytes do not fit into {room}")]
    NoRoom {
        /// Offset of the container in the file.
        offset: u64,
        /// Size of the rebuilt container, in bytes.
        needed: u64,
        /// Size of its place, in bytes.
        room: u64,
    },
    /// A new image without bytes.
    #[error("{}: empty file", path.display())]
    EmptyImage {
        /// Path of the image.
        path: PathBuf,
    },
    /// An error in a file.
    #[error("{}: {cause}", path.display())]
    InFile {
        /// Path of the file.
        path: PathBuf,
        /// The error.
        cause: Box<EditError>,
    },
    /// The written file differs from the expected one, and was discarded.
    #[error("{}: not changed: {cause}", path.display())]
    Unproven {
        /// Path of the file.
        path: PathBuf,
        /// The failed check.
        cause: ProofError,
    },
    /// A signature that the change breaks.
    #[error("{}: signed ({signature}), and a change breaks the signature", path.display())]
    Signed {
        /// Path of the file.
        path: PathBuf,
        /// The signature.
        signature: Signature,
    },
    /// An archive whose members cannot be changed.
    #[error("{}: only members of static libraries and zip files can be changed; extract it, and change the files", path.display())]
    UnsupportedArchive {
        /// Path of the archive.
        path: PathBuf,
    },
    /// A thin archive. It only lists its members.
    #[error("{}: a thin archive only lists its members; change these files", path.display())]
    ThinArchive {
        /// Path of the archive.
        path: PathBuf,
    },
    /// A host file whose device code is in kpack archives.
    #[error("{}: the device code is in kpack archives; change these files: {archives}", path.display())]
    SplitHost {
        /// Path of the host file.
        path: PathBuf,
        /// Paths of the archives.
        archives: String,
    },
    /// Containers of a file overlap.
    #[error("containers overlap; only a damaged file has such containers")]
    Overlap,
}

impl Coded for EditError {
    fn class(&self) -> ErrorClass {
        match self {
            EditError::File(error) => error.class(),
            EditError::Malformed(error) => error.class(),
            EditError::UnsupportedEncoding { .. }
            | EditError::UnsupportedCodec { .. }
            | EditError::UncompressedVersion { .. }
            | EditError::MetadataEntry => Code::UnsupportedEncoding.into(),
            EditError::TooLarge => Code::UnreadableOutput.into(),
            EditError::CudaFatbin(error) => error.class(),
            EditError::CompressBundle(error) => error.class(),
            EditError::Compress(_) => Code::Internal.into(),
            EditError::Unreadable { .. } | EditError::ShortId { .. } => Code::UnreadableByRelease.into(),
            EditError::NoImage { .. } | EditError::NoMatch(_) => Code::NoMatch.into(),
            EditError::SeveralFiles { .. } | EditError::SeveralImages { .. } => Code::SeveralMatches.into(),
            EditError::ReplacedTwice { .. } => Code::InvalidReplacement.into(),
            EditError::EmptyImage { .. } => Code::EmptyImage.into(),
            EditError::NotADeviceImage { .. } => Code::NotADeviceImage.into(),
            EditError::OtherTarget { .. } => Code::InvalidReplacement.with(Remedy::AllowOtherTarget),
            EditError::Signed { .. } => Code::Signed.with(Remedy::BreakSignature),
            EditError::NoRoom { .. } => Code::NoRoom.into(),
            EditError::InFile { cause, .. } => cause.class(),
            EditError::Unproven { cause, .. } => cause.class(),
            EditError::UnsupportedArchive { .. } | EditError::ThinArchive { .. } | EditError::SplitHost { .. } => {
                Code::UnsupportedArchive.into()
            }
            EditError::Overlap => Code::InvalidField.into(),
        }
    }
}

/// Reason why an edit is refused.
#[derive(Debug, thiserror::Error)]
pub enum ProofError {
    /// The new file has an error that the old one has not.
    #[error("the result cannot be read: {0}")]
    Unreadable(Malformed),
    /// The new file does not have the expected number of images.
    #[error("the result has {found} device images, expected {expected}")]
    Count {
        /// Number that was found.
        found: usize,
        /// Number of images that the edit keeps.
        expected: usize,
    },
    /// An image has changed unexpectedly.
    #[error("image {number} of the result differs in {what}")]
    Image {
        /// Index of the image in the result.
        number: usize,
        /// The property.
        what: &'static str,
    },
    /// The new file does not have the expected size.
    #[error("the result has {found} bytes, expected {expected}")]
    Size {
        /// Size that was found, in bytes.
        found: u64,
        /// Size by the spans of the edit, in bytes.
        expected: u64,
    },
    /// Bytes that the edit must not touch have changed.
    #[error("bytes from {:#x} to {:#x} have changed", .0.start, .0.end)]
    Bytes(Range<u64>),
    /// A runtime selects another image than before.
    #[error("on {device}, {runtime} selects another image from the container with image {number} than before")]
    Selection {
        /// The device.
        device: Device,
        /// Name of the runtime.
        runtime: &'static str,
        /// Index of the first image of the container before the edit.
        number: usize,
    },
}

impl Coded for ProofError {
    fn class(&self) -> ErrorClass {
        match self {
            ProofError::Unreadable(_)
            | ProofError::Count { .. }
            | ProofError::Image { .. }
            | ProofError::Size { .. }
            | ProofError::Bytes(_)
            | ProofError::Selection { .. } => Code::Unproven.into(),
        }
    }
}

/// Reason why bytes cannot be cut out of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum KeepsSize {
    /// A segment contains later bytes whose addresses would change.
    #[error("bytes after it are loaded by the same segment")]
    Segment,
    /// A segment has zeroed memory after the bytes.
    #[error("its segment continues in memory")]
    Memory,
    /// Fewer bytes are free than the alignment of the bytes after them.
    #[error("what is free is less than the alignment of what follows")]
    Alignment,
    /// The file is not a 64-bit ELF file.
    #[error("only 64-bit ELF files are made smaller")]
    Format,
}

impl EditError {
    /// Adds the path to an error that has none.
    pub fn in_file(self, path: &Path) -> EditError {
        match self {
            EditError::Malformed(cause) => cause.in_file(path).into(),
            EditError::File(_)
            | EditError::NotADeviceImage { .. }
            | EditError::InFile { .. }
            | EditError::Unproven { .. } => self,
            cause => EditError::InFile { path: path.to_owned(), cause: Box::new(cause) },
        }
    }
}
