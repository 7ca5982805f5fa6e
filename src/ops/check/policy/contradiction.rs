//! Requirements that no file can satisfy together. They are reported before any file is read, because otherwise the
//! next build would fail for a reason that is not in its code.

use std::ops::Range;

use toml::Spanned;

use super::Size;
use crate::check::asked::Asked;
use crate::check::coverage::{allows, may_run_on};
use crate::check::target::PolicyTarget;
use fatbin_core::base::code::{Code, Coded, ErrorClass};

/// Two entries of a policy that no file can satisfy together.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum Contradiction {
    /// An architecture in `require` and in `forbid`.
    #[error("{0} is required and forbidden")]
    RequiredAndForbidden(PolicyTarget),
    /// An architecture in `require` that `only` lacks.
    #[error("{0} is required and not in only")]
    RequiredAndNotAllowed(PolicyTarget),
    /// An architecture in `only` and in `forbid`.
    #[error("{0} is in only and forbidden")]
    AllowedAndForbidden(PolicyTarget),
    /// A device that no architecture in `only` runs on.
    #[error("no architecture in only runs on {0}")]
    DeviceWithoutCode(PolicyTarget),
    /// A limit for a part above the limit for the whole.
    #[error("{size} exceeds {whole}, {limit}")]
    SizeExceedsWhole {
        /// Limit for the part.
        size: Size,
        /// Key of the limit for the whole.
        whole: &'static str,
        /// Limit for the whole.
        limit: Size,
    },
}

impl Coded for Contradiction {
    fn class(&self) -> ErrorClass {
        match self {
            Contradiction::RequiredAndForbidden(_)
            | Contradiction::RequiredAndNotAllowed(_)
            | Contradiction::AllowedAndForbidden(_)
            | Contradiction::DeviceWithoutCode(_)
            | Contradiction::SizeExceedsWhole { .. } => Code::Contradiction.into(),
        }
    }
}

/// A contradiction and its place in the policy.
pub type Located = (Range<usize>, Contradiction);

/// Lists of architectures for one set of files.
#[derive(Debug, Default)]
pub struct SpannedArchs {
    pub devices: Option<Vec<Spanned<PolicyTarget>>>,
    pub require: Option<Vec<Spanned<PolicyTarget>>>,
    pub asked: Option<Spanned<Asked>>,
    pub forbid: Option<Vec<Spanned<PolicyTarget>>>,
    pub only: Option<Vec<Spanned<PolicyTarget>>>,
    /// PTX replaces missing machine code.
    pub has_ptx_fallback: bool,
}

impl SpannedArchs {
    /// Checks the lists against each other.
    pub fn check(&self) -> Result<(), Located> {
        let forbid = self.forbid.as_deref().unwrap_or_default();
        let only = self.only.as_deref();
        let required = self.require.iter().flatten().map(|require| (require.span(), require.get_ref()));
        let asked =
            self.asked.iter().flat_map(|list| list.get_ref().targets().map(|(_, target)| (list.span(), target)));
        for (span, target) in required.chain(asked) {
            if forbid.iter().any(|forbidden| allows(forbidden.get_ref(), target)) {
                return Err((span, Contradiction::RequiredAndForbidden(target.clone())));
            }
            if only.is_some_and(|only| !only.iter().any(|allowed| allows(allowed.get_ref(), target))) {
                return Err((span, Contradiction::RequiredAndNotAllowed(target.clone())));
            }
        }
        for allowed in only.unwrap_or_default() {
            let target = allowed.get_ref();
            if forbid.iter().any(|forbidden| forbidden.get_ref() == target) {
                return Err((allowed.span(), Contradiction::AllowedAndForbidden(target.clone())));
            }
        }
        for spanned in self.devices.iter().flatten() {
            let device = spanned.get_ref();
            let runs = |code: &Spanned<PolicyTarget>| may_run_on(code.get_ref(), device, self.has_ptx_fallback);
            if only.is_some_and(|only| !only.iter().any(runs)) {
                return Err((spanned.span(), Contradiction::DeviceWithoutCode(device.clone())));
            }
        }
        Ok(())
    }
}

/// Size limits of a whole policy.
#[derive(Debug, Default)]
pub struct SpannedSizes {
    pub total: Option<Spanned<Size>>,
    pub package: Option<Spanned<Size>>,
    pub file: Option<Spanned<Size>>,
    pub archs: Option<Vec<(PolicyTarget, Spanned<Size>)>>,
}

impl SpannedSizes {
    /// Checks that the limit for a part does not exceed that for the whole.
    pub fn check(&self) -> Result<(), Located> {
        if let Some(file) = &self.file {
            check_part(file, self.total.as_ref(), "total")?;
        }
        for (_, size) in self.archs.iter().flatten() {
            check_part(size, self.file.as_ref(), "file")?;
            check_part(size, self.total.as_ref(), "total")?;
        }
        Ok(())
    }
}

fn check_part(part: &Spanned<Size>, whole: Option<&Spanned<Size>>, name: &'static str) -> Result<(), Located> {
    let size = *part.get_ref();
    match whole.map(|limit| *limit.get_ref()) {
        Some(limit) if size > limit => Err((part.span(), Contradiction::SizeExceedsWhole { size, whole: name, limit })),
        _ => Ok(()),
    }
}
