//! Errors of wrapping: what is wrong with an image, and what is wrong with a request.

use std::path::{Path, PathBuf};

use fatbin_core::base::code::{Code, Coded, ErrorClass, Remedy};
use fatbin_core::base::error::Error;
use fatbin_core::format::ImageKind;
use fatbin_core::host::HostError;
use fatbin_core::target::compatibility::FEATURE_RULE;

/// Error in an image to embed.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ImageError {
    /// The file cannot be read, or is malformed.
    #[error(transparent)]
    File(#[from] Error),
    /// The file has no bytes.
    #[error("{}: device image is empty", path.display())]
    Empty {
        /// File of the image.
        path: PathBuf,
    },
    /// The file is not an image that the kind can register.
    #[error("{}: is {found}; {remedy}", path.display())]
    NotADeviceImage {
        /// File of the image.
        path: PathBuf,
        /// Description of the file.
        found: String,
        /// Advice for the user.
        remedy: &'static str,
    },
    /// The file has none of the formats of code for GPUs. The user states a GPU, or no target.
    #[error("{}: is no {}: neither ELF, bitcode, SPIR-V nor PTX", path.display(),
        .platform.map_or("device image".to_owned(), |platform| format!("code for {platform} devices")))]
    UnknownContent {
        /// File of the image.
        path: PathBuf,
        /// Name of the vendor or the interface that the user states.
        platform: Option<&'static str>,
    },
    /// Neither the header nor the user names a processor.
    #[error("{}: no processor in the header", path.display())]
    UnknownArch {
        /// File of the image.
        path: PathBuf,
    },
    /// No device has the architecture.
    #[error("{}: no architecture has the name {arch}", path.display())]
    NoSuchArch {
        /// File of the image.
        path: PathBuf,
        /// Name of the architecture.
        arch: String,
    },
    /// Neither the header nor the user names a triple.
    #[error("{}: no target triple in the header", path.display())]
    UnknownTriple {
        /// File of the image.
        path: PathBuf,
    },
    /// The user specified another processor than the header.
    #[error("{}: arch={specified} contradicts the image's header: {found}", path.display())]
    ArchMismatch {
        /// File of the image.
        path: PathBuf,
        /// Processor that the user specified.
        specified: String,
        /// Processor in the header.
        found: String,
    },
    /// The user specified another triple than the header.
    #[error("{}: triple={specified} contradicts the image's header: {found}", path.display())]
    TripleMismatch {
        /// File of the image.
        path: PathBuf,
        /// Triple that the user specified.
        specified: String,
        /// Triple in the header.
        found: String,
    },
    /// The user specified a property of a container, whose entries have their own.
    #[error("{}: {property}={value} does not apply to a container, whose entries have their own; omit it", path.display())]
    OverriddenContainer {
        /// File of the container.
        path: PathBuf,
        /// Name of the property.
        property: &'static str,
        /// Value that the user specified.
        value: String,
    },
    /// An offload binary is for another kind.
    #[error("{}: offload binary is for {found}, expected {expected}", path.display())]
    KindMismatch {
        /// File of the offload binary.
        path: PathBuf,
        /// Kind in the offload binary.
        found: String,
        /// Kind that is wrapped.
        expected: &'static str,
    },
    /// A fat binary holds one image per processor.
    #[error("{}: duplicate image for {arch}; a fat binary holds one per processor", path.display())]
    Duplicate {
        /// File of the second image.
        path: PathBuf,
        /// Processor of both images.
        arch: String,
    },
    /// Two code objects for one processor, where only one sets a feature.
    #[error("conflicting targets {one} and {other}: {FEATURE_RULE}")]
    Conflict {
        /// The first ID.
        one: String,
        /// The second ID.
        other: String,
    },
    /// Sizes and offsets of the container do not fit into 64 bits.
    #[error("{}: too large: does not fit into 64 bits with its headers", path.display())]
    TooLarge {
        /// File of the image.
        path: PathBuf,
    },
}

#[doc(hidden)]
impl Coded for ImageError {
    fn class(&self) -> ErrorClass {
        match self {
            ImageError::File(error) => error.class(),
            ImageError::Empty { .. } => Code::EmptyImage.into(),
            ImageError::NotADeviceImage { .. } => Code::NotADeviceImage.into(),
            ImageError::UnknownContent { platform: Some(_), .. } => Code::NotADeviceImage.with(Remedy::EmbedUnchanged),
            ImageError::NoSuchArch { .. } => Code::UnknownTarget.into(),
            ImageError::UnknownArch { path } => Code::UnknownTarget.with(Remedy::SpecifyArch(path.clone())),
            ImageError::UnknownTriple { path } | ImageError::UnknownContent { path, platform: None } => {
                Code::UnknownTarget.with(Remedy::SpecifyTriple(path.clone()))
            }
            ImageError::ArchMismatch { .. }
            | ImageError::TripleMismatch { .. }
            | ImageError::OverriddenContainer { .. }
            | ImageError::KindMismatch { .. } => Code::ContradictedHeader.into(),
            ImageError::Duplicate { .. } => Code::DuplicateImage.into(),
            ImageError::Conflict { .. } => Code::ConflictingTargets.into(),
            ImageError::TooLarge { .. } => Code::UnreadableOutput.into(),
        }
    }
}

impl ImageError {
    /// Creates the error for an image whose triple neither its header nor the user states.
    pub(crate) fn without_triple(path: &Path, kind: ImageKind) -> ImageError {
        let path = path.to_owned();
        if kind == ImageKind::Unknown {
            ImageError::UnknownContent { path, platform: None }
        } else {
            ImageError::UnknownTriple { path }
        }
    }
}

/// Error of wrapping images into a host object.
#[derive(Debug, thiserror::Error)]
#[non_exhaustive]
pub enum WrapError {
    /// A file cannot be read or written.
    #[error(transparent)]
    File(#[from] Error),
    /// An image cannot be embedded.
    #[error(transparent)]
    Image(#[from] ImageError),
    /// The host is not supported, or the object cannot be emitted.
    #[error(transparent)]
    Host(#[from] HostError),
    /// The runtime of this release does not support the kind.
    #[error("{abi}: {kind} is not supported (available for {kind}: {available})")]
    UnsupportedKind {
        /// Name of the release.
        abi: &'static str,
        /// Name of the offload kind.
        kind: &'static str,
        /// Names of the releases that have the kind.
        available: String,
    },
    /// Objects of this release cannot be linked for the host.
    #[error("{abi}: host {host} is not supported (available for it: {available})")]
    UnsupportedHost {
        /// Name of the release.
        abi: &'static str,
        /// Triple of the host.
        host: String,
        /// Names of the releases whose objects can be linked.
        available: String,
    },
    /// Only ELF has large sections.
    #[error("objects for {host} have no large sections")]
    NoLargeSections {
        /// Triple of the host.
        host: String,
    },
    /// The compiler of IR decides on sections.
    #[error("LLVM IR has no large sections")]
    LargeImagesInIr,
    /// Two entries have one name.
    #[error("duplicate entry {name}")]
    DuplicateEntry {
        /// Name of both.
        name: String,
    },
    /// A name has a byte that ends it in symbol tables.
    #[error("invalid name {name:?} in an entry: contains a NUL byte")]
    NulInName {
        /// The name.
        name: String,
    },
    /// The host object was not compiled with offloading of this kind.
    #[error("{}: no section of offload entries", path.display())]
    NoOffloadEntries {
        /// The host object.
        path: PathBuf,
    },
    /// The host object cannot be parsed.
    #[error("{}: not an object file", path.display())]
    UnreadableHostObject {
        /// The host object.
        path: PathBuf,
        /// Error of the parser.
        source: Box<dyn std::error::Error + Send + Sync>,
    },
    /// The host object is for an unknown machine.
    #[error("{}: not a 64-bit object for a known machine", path.display())]
    UnknownHostMachine {
        /// The host object.
        path: PathBuf,
    },
    /// The host object is a program or a shared library.
    #[error("{}: is linked already; expected an object file", path.display())]
    LinkedHost {
        /// The file.
        path: PathBuf,
    },
    /// No release writes offload entries of this size in this section.
    #[error("{}: offload entries of {size} bytes in {section} match no release", path.display())]
    UnknownEntries {
        /// The host object.
        path: PathBuf,
        /// Size of an entry in bytes.
        size: u64,
        /// Section of the entries.
        section: String,
    },
    /// The wrapper of the release registers none of the host object's entries.
    #[error("{}: its offload entries are of {needed}, and a wrapper of {abi} registers none of them", path.display())]
    OtherEntries {
        /// The host object.
        path: PathBuf,
        /// Release of its entries.
        needed: &'static str,
        /// Release of the wrapper.
        abi: &'static str,
    },
    /// The user specified a different host than the host object's.
    #[error("{}: host is {found}, not {specified}", path.display())]
    HostMismatch {
        /// The host object.
        path: PathBuf,
        /// Triple that the user specified.
        specified: String,
        /// Triple of the host object.
        found: &'static str,
    },
    /// The object cannot be written to its output.
    #[error("cannot write the object")]
    Write(#[from] std::io::Error),
}

#[doc(hidden)]
impl Coded for WrapError {
    fn class(&self) -> ErrorClass {
        match self {
            WrapError::File(error) => error.class(),
            WrapError::Image(error) => error.class(),
            WrapError::Host(error) => error.class(),
            WrapError::UnsupportedKind { .. } | WrapError::UnsupportedHost { .. } => {
                Code::UnsupportedRelease.with(Remedy::ChangeRelease)
            }
            WrapError::OtherEntries { .. } => Code::UnsupportedRelease.with(Remedy::TakeReleaseOfObjects),
            WrapError::NoLargeSections { .. } => Code::LargeSections.with(Remedy::AllowSmallImages),
            WrapError::LargeImagesInIr => Code::LargeSections.with(Remedy::AllowSmallImagesOrEmitObject),
            WrapError::DuplicateEntry { .. } | WrapError::NulInName { .. } => Code::InvalidEntry.into(),
            WrapError::NoOffloadEntries { .. } | WrapError::UnknownEntries { .. } => {
                Code::UnknownHostObject.with(Remedy::SpecifyRelease)
            }
            WrapError::UnreadableHostObject { .. }
            | WrapError::UnknownHostMachine { .. }
            | WrapError::LinkedHost { .. }
            | WrapError::HostMismatch { .. } => Code::UnknownHostObject.into(),
            WrapError::Write(_) => Code::SystemCall.into(),
        }
    }
}
