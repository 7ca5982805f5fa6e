//! Codes of errors in policies and locks.

use super::{Code, Coded};
use crate::check::lock::{BudgetError, LineError, LockError};
use crate::check::{Contradiction, InvalidPolicyTarget, PolicyCause, PolicyError};

impl Coded for PolicyError {
    fn code(&self) -> Code {
        self.cause.code()
    }
}

impl Coded for PolicyCause {
    fn code(&self) -> Code {
        match self {
            PolicyCause::Toml { .. }
            | PolicyCause::WrongType(_)
            | PolicyCause::UnknownKey { .. }
            | PolicyCause::UnknownRule { .. } => Code::InvalidPolicy,
            PolicyCause::Target(error) => error.code(),
            PolicyCause::DuplicateArch(_)
            | PolicyCause::NotADevice(_)
            | PolicyCause::InvalidPtx { .. }
            | PolicyCause::InvalidKernelArchs(_)
            | PolicyCause::InvalidKernelDevices(_) => Code::InvalidPolicyTarget,
            PolicyCause::InvalidSize(_)
            | PolicyCause::ZeroSize
            | PolicyCause::InvalidRelease(_)
            | PolicyCause::NoHipRuntime(_)
            | PolicyCause::InvalidDriver(_)
            | PolicyCause::EmptyKernels => Code::InvalidPolicyValue,
            PolicyCause::InvalidPattern(error) | PolicyCause::InvalidRegex(error) => error.code(),
            PolicyCause::Contradiction(error) => error.code(),
        }
    }
}

impl Coded for InvalidPolicyTarget {
    fn code(&self) -> Code {
        match self {
            InvalidPolicyTarget::Unknown { .. } | InvalidPolicyTarget::TargetId(_) => Code::InvalidPolicyTarget,
        }
    }
}

impl Coded for Contradiction {
    fn code(&self) -> Code {
        match self {
            Contradiction::RequiredAndForbidden(_)
            | Contradiction::RequiredAndNotAllowed(_)
            | Contradiction::AllowedAndForbidden(_)
            | Contradiction::DeviceWithoutCode(_)
            | Contradiction::SizeExceedsWhole { .. } => Code::Contradiction,
        }
    }
}

impl Coded for LockError {
    fn code(&self) -> Code {
        self.cause.code()
    }
}

impl Coded for LineError {
    fn code(&self) -> Code {
        match self {
            LineError::Header(_)
            | LineError::Summary
            | LineError::NotUtf8(_)
            | LineError::UnknownEntry(_)
            | LineError::OutOfPlace { .. }
            | LineError::NoName(_)
            | LineError::Missing { .. }
            | LineError::InvalidField(_)
            | LineError::UnknownField(_)
            | LineError::DuplicateField(_)
            | LineError::InvalidString(_)
            | LineError::NotANumber { .. }
            | LineError::NotAHash { .. }
            | LineError::UnknownImage(_)
            | LineError::DuplicateImage(_) => Code::InvalidLock,
            LineError::OverBudget(cause) => cause.code(),
        }
    }
}

impl Coded for BudgetError {
    fn code(&self) -> Code {
        match self {
            BudgetError::UnknownArch(_) | BudgetError::NoSizes { .. } => Code::GrowthUnknown,
        }
    }
}
