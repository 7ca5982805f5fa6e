//! Codes of errors of operations on images and files.

use super::{Code, Coded};
use crate::analyze::verify::VerifyError;
use crate::edit::split::{SplitError, SplitProblem};
use crate::edit::{EditError, ProofError};
use crate::embed::bundle::BundleError;
use crate::embed::files::EmbedError;
use crate::embed::wrap::{ImageError, WrapError};
use crate::scan::extract::ExtractError;
use crate::scan::filter::FilterError;

impl Coded for ImageError {
    fn code(&self) -> Code {
        match self {
            ImageError::File(error) => error.code(),
            ImageError::Empty { .. } => Code::EmptyImage,
            ImageError::NotADeviceImage { .. } => Code::NotADeviceImage,
            ImageError::UnknownArch { .. } | ImageError::UnknownTriple { .. } => Code::UnknownTarget,
            ImageError::ArchMismatch { .. }
            | ImageError::OverriddenContainer { .. }
            | ImageError::KindMismatch { .. } => Code::ContradictedHeader,
            ImageError::Duplicate { .. } => Code::DuplicateImage,
            ImageError::Conflict { .. } => Code::ConflictingTargets,
            ImageError::TooLarge { .. } => Code::UnreadableOutput,
        }
    }
}

impl Coded for WrapError {
    fn code(&self) -> Code {
        match self {
            WrapError::File(error) => error.code(),
            WrapError::Image(error) => error.code(),
            WrapError::Host(error) => error.code(),
            WrapError::UnsupportedKind { .. } | WrapError::UnsupportedHost { .. } => Code::UnsupportedRelease,
            WrapError::NoLargeSections { .. } | WrapError::LargeImagesInIr => Code::LargeSections,
            WrapError::DuplicateEntry { .. } | WrapError::NulInName { .. } => Code::InvalidEntry,
            WrapError::NoOffloadEntries { .. }
            | WrapError::UnreadableHostObject { .. }
            | WrapError::UnknownHostMachine { .. }
            | WrapError::UnknownEntries { .. }
            | WrapError::HostMismatch { .. } => Code::UnknownHostObject,
            WrapError::Write(_) => Code::SystemCall,
        }
    }
}

impl Coded for EmbedError {
    fn code(&self) -> Code {
        match self {
            EmbedError::File(error) => error.code(),
            EmbedError::Host(error) => error.code(),
            EmbedError::InvalidName { .. }
            | EmbedError::DuplicateSymbol { .. }
            | EmbedError::NotAnIdentifier { .. } => Code::InvalidSymbol,
            EmbedError::InvalidSection { .. }
            | EmbedError::InvalidAlignment { .. }
            | EmbedError::TooManyFiles { .. } => Code::InvalidPlacement,
            EmbedError::NoLargeSections { .. } => Code::LargeSections,
        }
    }
}

impl Coded for BundleError {
    fn code(&self) -> Code {
        match self {
            BundleError::DuplicateTarget { .. }
            | BundleError::ConflictingTargets { .. }
            | BundleError::ConflictingEntries { .. }
            | BundleError::SeveralHosts { .. }
            | BundleError::DuplicateEntry { .. } => Code::ConflictingTargets,
            BundleError::ContainsMarker { .. }
            | BundleError::UnsupportedType { .. }
            | BundleError::AlreadyBundled { .. }
            | BundleError::CompressedObject { .. } => Code::UnsupportedBundle,
            BundleError::TooLargeForVersion { .. } => Code::UnreadableOutput,
            BundleError::SeveralBundles { .. } => Code::SeveralBundles,
            BundleError::NotABundle { .. } => Code::NotABundle,
            BundleError::MissingTargets { .. } => Code::MissingTargets,
            BundleError::File(error) => error.code(),
        }
    }
}

impl Coded for FilterError {
    fn code(&self) -> Code {
        match self {
            FilterError::Input(error) => error.code(),
            FilterError::NoMatch { .. } => Code::NoMatch,
            FilterError::KernelsUnknown { .. } => Code::KernelsUnknown,
            FilterError::Pattern(error) => error.code(),
        }
    }
}

impl Coded for ExtractError {
    fn code(&self) -> Code {
        match self {
            ExtractError::File(error) => error.code(),
            ExtractError::Filter(error) => error.code(),
            ExtractError::UnknownCodec { .. } | ExtractError::Scrambled { .. } => Code::StoredOnly,
            ExtractError::SameName { .. } => Code::SameOutput,
            ExtractError::SeveralMatches { .. } => Code::SeveralMatches,
        }
    }
}

impl Coded for VerifyError {
    fn code(&self) -> Code {
        match self {
            VerifyError::Input(error) => error.code(),
            VerifyError::Image { .. } => Code::DefectiveImage,
        }
    }
}

impl Coded for EditError {
    fn code(&self) -> Code {
        match self {
            EditError::File(error) => error.code(),
            EditError::Malformed(error) => error.code(),
            EditError::UnsupportedEncoding { .. }
            | EditError::UnsupportedCodec { .. }
            | EditError::UncompressedVersion { .. }
            | EditError::MetadataEntry => Code::UnsupportedEncoding,
            EditError::TooLarge => Code::UnreadableOutput,
            EditError::CudaFatbin(error) => error.code(),
            EditError::CompressBundle(error) => error.code(),
            EditError::Compress(_) => Code::Internal,
            EditError::Unreadable { .. } => Code::UnreadableByRelease,
            EditError::NoImage { .. } | EditError::NoMatch(_) => Code::NoMatch,
            EditError::SeveralFiles { .. } | EditError::SeveralImages { .. } => Code::SeveralMatches,
            EditError::ReplacedTwice { .. } | EditError::OtherTarget { .. } => Code::InvalidReplacement,
            EditError::Signed { .. } => Code::Signed,
            EditError::NoRoom { .. } | EditError::UnknownTable { .. } => Code::NoRoom,
            EditError::InFile { cause, .. } => cause.code(),
            EditError::Unproven { cause, .. } => cause.code(),
            EditError::UnsupportedArchive { .. } | EditError::ThinArchive { .. } | EditError::SplitHost { .. } => {
                Code::UnsupportedArchive
            }
            EditError::Overlap => Code::InvalidField,
        }
    }
}

impl Coded for ProofError {
    fn code(&self) -> Code {
        match self {
            ProofError::Unreadable(_)
            | ProofError::Count { .. }
            | ProofError::Image { .. }
            | ProofError::Size { .. }
            | ProofError::Bytes(_)
            | ProofError::Selection { .. } => Code::Unproven,
        }
    }
}

impl Coded for SplitError {
    fn code(&self) -> Code {
        match self {
            SplitError::File(error) => error.code(),
            SplitError::Malformed(error) => error.code(),
            SplitError::Package { .. } | SplitError::ThinArchive { .. } => Code::UnsupportedArchive,
            SplitError::InFile { problem, .. } | SplitError::Problem(problem) => problem.code(),
        }
    }
}

impl Coded for SplitProblem {
    fn code(&self) -> Code {
        match self {
            SplitProblem::Overlap => Code::InvalidField,
            SplitProblem::Name
            | SplitProblem::NoWrappers
            | SplitProblem::HostFormat
            | SplitProblem::WrapperTarget { .. }
            | SplitProblem::WrapperInUse { .. }
            | SplitProblem::Code { .. }
            | SplitProblem::NoRoom { .. } => Code::NotSplittable,
            SplitProblem::Compress(_) => Code::Internal,
            SplitProblem::OtherFile { .. }
            | SplitProblem::Index(_)
            | SplitProblem::NotJoinable(_)
            | SplitProblem::Differs { .. } => Code::NotJoinable,
        }
    }
}
