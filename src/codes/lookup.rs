//! The code of an error whose type is not known.

use std::error::Error as StdError;

use super::{Code, Coded};
use crate::check::{Contradiction, InvalidPolicyTarget, PolicyCause, PolicyError};
use crate::doctor::{self, DoctorError, DriverError};
use crate::edit::split::{SplitError, SplitProblem};
use crate::edit::{EditError, ProofError};
use crate::embed::EmbedError;
use crate::error::{Cause, Error, Malformed};
use crate::format::bundle_file::BundleFileError;
use crate::format::ccob::CompressError;
use crate::format::cuda_fatbin::WriteError;
use crate::host::HostError;
use crate::link::LinkError;
use crate::lock::{self, BudgetError, LockError};
use crate::ops::extract::{ExtractError, TemplateError};
use crate::ops::filter::FilterError;
use crate::ops::{BundleError, VerifyError};
use crate::pattern::PatternError;
use crate::target::{InvalidBundleEntryId, InvalidDevice, InvalidTargetId, UnsupportedStyle};
use crate::wrap::{ImageError, WrapError};

/// Tries one type after the other.
macro_rules! code_of_types {
    ($error:expr, $($type:ty,)+) => {
        None$(.or_else(|| $error.downcast_ref::<$type>().map(Coded::code)))+
    };
}

/// Returns the code of an error of this crate.
pub fn code_of(error: &(dyn StdError + 'static)) -> Option<Code> {
    code_of_types!(
        error,
        BudgetError,
        BundleError,
        BundleFileError,
        Cause,
        CompressError,
        Contradiction,
        DoctorError,
        DriverError,
        EditError,
        EmbedError,
        Error,
        ExtractError,
        FilterError,
        HostError,
        ImageError,
        InvalidBundleEntryId,
        InvalidDevice,
        InvalidPolicyTarget,
        InvalidTargetId,
        LinkError,
        LockError,
        Malformed,
        PatternError,
        PolicyCause,
        PolicyError,
        ProofError,
        SplitError,
        SplitProblem,
        TemplateError,
        UnsupportedStyle,
        VerifyError,
        WrapError,
        WriteError,
        doctor::LineError,
        lock::LineError,
        std::io::Error,
    )
}
