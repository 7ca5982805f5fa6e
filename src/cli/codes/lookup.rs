//! Looks up the code of an error of unknown type.

use std::error::Error as StdError;

use super::{Code, Coded};
use crate::analyze::verify::VerifyError;
use crate::base::error::{Cause, Error, Malformed};
use crate::base::pattern::PatternError;
use crate::check::lock;
use crate::check::lock::{BudgetError, LockError};
use crate::check::{Contradiction, InvalidPolicyTarget, PolicyCause, PolicyError};
use crate::edit::split::{SplitError, SplitProblem};
use crate::edit::{EditError, ProofError};
use crate::embed::bundle::BundleError;
use crate::embed::bundle::file::BundleFileError;
use crate::embed::files::EmbedError;
use crate::embed::wrap::{ImageError, WrapError};
use crate::format::ccob::CompressError;
use crate::format::cuda_fatbin::WriteError;
use crate::host::HostError;
use crate::link::LinkError;
use crate::link::doctor;
use crate::link::doctor::{DoctorError, DriverError};
use crate::scan::extract::{ExtractError, TemplateError};
use crate::scan::filter::FilterError;
use crate::target::{InvalidBundleEntryId, InvalidDevice, InvalidTargetId, UnsupportedStyle};

/// Tries each type in turn.
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
