//! Codes of errors about bytes, files, names and hosts.

use super::{Code, Coded};
use crate::base::error::{Cause, Error, Malformed};
use crate::base::pattern::PatternError;
use crate::embed::bundle::file::BundleFileError;
use crate::format::ccob::CompressError;
use crate::format::cuda_fatbin::WriteError;
use crate::host::HostError;
use crate::scan::extract::TemplateError;
use crate::target::{InvalidBundleEntryId, InvalidDevice, InvalidTargetId, UnsupportedStyle};

impl Coded for Malformed {
    fn code(&self) -> Code {
        self.cause.code()
    }
}

impl Coded for Cause {
    fn code(&self) -> Code {
        match self {
            Cause::Truncated { .. } | Cause::EndsInside | Cause::OutOfBounds { .. } | Cause::Unterminated => {
                Code::Truncated
            }
            Cause::Unexpected { .. }
            | Cause::Unreadable
            | Cause::Overlap { .. }
            | Cause::MissingEndMarker { .. }
            | Cause::ObjectFile(_)
            | Cause::Described(_) => Code::InvalidField,
            Cause::UnsupportedVersion { .. } => Code::UnsupportedVersion,
            Cause::BundleEntryId { .. } => Code::InvalidEntryId,
            Cause::NotAContainer { .. } => Code::UnknownContainer,
            Cause::OverLimit { .. } => Code::DecompressedLimit,
            Cause::OverBudget { .. } | Cause::NoMemory { .. } | Cause::NestedTooDeep { .. } => Code::WorkLimit,
            Cause::Compressed(_) | Cause::SizeMismatch { .. } | Cause::CompressedTwice => Code::DamagedCompression,
            Cause::HashMismatch { .. } => Code::HashMismatch,
            Cause::UnsupportedCodec { .. } => Code::StoredOnly,
        }
    }
}

impl Coded for Error {
    fn code(&self) -> Code {
        match self {
            Error::Io { .. } => Code::SystemCall,
            Error::NotAFile { .. } => Code::NotAFile,
            Error::Malformed { malformed, .. } | Error::MalformedImage { malformed, .. } => malformed.code(),
            Error::Shrunk { .. } | Error::Changed { .. } => Code::ChangedInput,
            Error::SameFile { .. } => Code::InputIsOutput,
            Error::SameOutput { .. } => Code::SameOutput,
            Error::ReplacesBinary { .. } => Code::BinaryFile,
            Error::Address { .. } => Code::FileAddress,
            Error::UnreadableMember { .. } => Code::UnreadableMember,
            Error::NotOpened { .. } => Code::NotOpened,
            Error::Bitcode { .. } => Code::Bitcode,
            Error::UnreadableOutput { .. } | Error::TooLarge { .. } => Code::UnreadableOutput,
        }
    }
}

impl Coded for std::io::Error {
    fn code(&self) -> Code {
        Code::SystemCall
    }
}

impl Coded for BundleFileError {
    fn code(&self) -> Code {
        match self {
            BundleFileError::NotABundle => Code::NotABundle,
            BundleFileError::Malformed(malformed) => malformed.code(),
            BundleFileError::Search(error) => error.code(),
        }
    }
}

impl Coded for CompressError {
    fn code(&self) -> Code {
        match self {
            CompressError::TooLarge { .. } => Code::UnreadableOutput,
            CompressError::Io(_) => Code::Internal,
        }
    }
}

impl Coded for WriteError {
    fn code(&self) -> Code {
        match self {
            WriteError::TooLarge => Code::UnreadableOutput,
            WriteError::UnsupportedCodec(_) | WriteError::CompressedLtoIr | WriteError::Unaligned { .. } => {
                Code::UnsupportedEncoding
            }
            WriteError::Compress(_) => Code::Internal,
        }
    }
}

impl Coded for HostError {
    fn code(&self) -> Code {
        match self {
            HostError::UnsupportedTriple { .. } | HostError::UnsupportedNative { .. } => Code::UnsupportedHost,
            HostError::ObjectTooLarge { .. } => Code::UnreadableOutput,
            HostError::UnwindInformation(_) | HostError::ObjectFile(_) => Code::Internal,
        }
    }
}

impl Coded for PatternError {
    fn code(&self) -> Code {
        match self {
            PatternError::TooLong { .. }
            | PatternError::TooLarge { .. }
            | PatternError::TooLargeTogether
            | PatternError::Syntax(_) => Code::InvalidPattern,
        }
    }
}

impl Coded for TemplateError {
    fn code(&self) -> Code {
        Code::InvalidTemplate
    }
}

impl Coded for InvalidTargetId {
    fn code(&self) -> Code {
        match self {
            InvalidTargetId::UnknownProcessor { .. }
            | InvalidTargetId::NoSign { .. }
            | InvalidTargetId::UnknownFeature { .. }
            | InvalidTargetId::RepeatedFeature { .. } => Code::InvalidTargetId,
        }
    }
}

impl Coded for InvalidDevice {
    fn code(&self) -> Code {
        match self {
            InvalidDevice::TargetId(error) => error.code(),
            InvalidDevice::Generic { .. }
            | InvalidDevice::Form { .. }
            | InvalidDevice::Suffix { .. }
            | InvalidDevice::Unknown { .. } => Code::UnknownDevice,
        }
    }
}

impl Coded for InvalidBundleEntryId {
    fn code(&self) -> Code {
        match self {
            InvalidBundleEntryId::Shape { .. }
            | InvalidBundleEntryId::Kind { .. }
            | InvalidBundleEntryId::Triple { .. }
            | InvalidBundleEntryId::Subarch { .. }
            | InvalidBundleEntryId::Processor { .. }
            | InvalidBundleEntryId::Family { .. } => Code::InvalidEntryId,
            InvalidBundleEntryId::TargetId { cause, .. } => cause.code(),
        }
    }
}

impl Coded for UnsupportedStyle {
    fn code(&self) -> Code {
        Code::UnsupportedSpelling
    }
}
