//! Codes of errors of links, and of their diagnosis.

use super::{Code, Coded};
use crate::link::LinkError;
use crate::link::doctor::{DoctorError, DriverError, LineError};

impl Coded for LinkError {
    fn code(&self) -> Code {
        match self {
            LinkError::File(error) => error.code(),
            LinkError::Wrap(error) => error.code(),
            LinkError::Target { cause, .. } => cause.code(),
            LinkError::Style(error) => error.code(),
            LinkError::MissingValue(_) | LinkError::MissingLibrary { .. } | LinkError::ResponseFiles { .. } => {
                Code::MissingLinkInput
            }
            LinkError::UnsupportedTarget { .. }
            | LinkError::LinkedAlready { .. }
            | LinkError::Relocatable { .. }
            | LinkError::MixedKinds { .. }
            | LinkError::Refused(_)
            | LinkError::FoundByLinker { .. }
            | LinkError::SeveralKinds { .. } => Code::NotLinkable,
            LinkError::ConflictingTargets { .. } => Code::ConflictingTargets,
            LinkError::EmptyImage { .. } => Code::EmptyImage,
            LinkError::MissingTool { .. } => Code::MissingTool,
            LinkError::MissingKernels { .. } | LinkError::NotLinked { .. } => Code::MissingKernels,
            LinkError::UnknownTarget { .. } => Code::UnknownTarget,
            LinkError::NoImages => Code::NoImages,
            LinkError::Start { .. } | LinkError::Failed { .. } | LinkError::FailedWithBundle { .. } => {
                Code::ProgramFailed
            }
        }
    }
}

impl Coded for DoctorError {
    fn code(&self) -> Code {
        match self {
            DoctorError::File(error) => error.code(),
            DoctorError::Line(error) => error.code(),
            DoctorError::Driver(error) => error.code(),
            DoctorError::InvalidObject { .. } => Code::InvalidField,
            DoctorError::NoObjects => Code::MissingLinkInput,
            DoctorError::UnknownMachine { .. } => Code::UnknownLayout,
            DoctorError::Wrap(error) => error.code(),
        }
    }
}

impl Coded for DriverError {
    fn code(&self) -> Code {
        match self {
            DriverError::Start { .. } => Code::ProgramFailed,
            DriverError::NoLink { .. } => Code::UnknownLayout,
        }
    }
}

impl Coded for LineError {
    fn code(&self) -> Code {
        match self {
            LineError::MissingValue { .. } => Code::MissingLinkInput,
            LineError::UnknownLinker { .. }
            | LineError::Script { .. }
            | LineError::UnreadScript { .. }
            | LineError::Address { .. }
            | LineError::ResponseFiles { .. } => Code::UnknownLayout,
        }
    }
}
