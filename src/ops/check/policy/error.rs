//! Errors in policies, with their place in the text.

use std::ops::Range;

use super::contradiction::Contradiction;
use super::wrong_type::WrongType;
use crate::check::asked::InvalidAsked;
use crate::check::target::{InvalidPolicyTarget, PolicyTarget};
use fatbin_core::base::code::{Code, Coded, ErrorClass};
use fatbin_core::base::pattern::PatternError;
use fatbin_core::base::spelling::Suggestions;

/// An error in a policy. Lines and columns count from 1, columns in characters.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[error("{path}:{line}:{column}: {cause}")]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct PolicyError {
    /// Name of the policy.
    pub path: String,
    /// Line of the error.
    pub line: usize,
    /// Column of the error.
    pub column: usize,
    /// Cause of the error.
    pub(crate) cause: PolicyCause,
}

#[doc(hidden)]
impl Coded for PolicyError {
    fn class(&self) -> ErrorClass {
        self.cause.class()
    }
}

/// Cause of a [`PolicyError`].
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum PolicyCause {
    /// The text is not TOML, or a value has the wrong type.
    #[error("{message}{suggestions}")]
    Toml {
        /// Message of the TOML reader.
        message: String,
        /// Similar names, if a name is unknown.
        suggestions: Suggestions,
    },
    /// A value of the wrong type.
    #[error("{0}")]
    WrongType(WrongType),
    /// A key that policies do not have.
    #[error("unknown key {key:?}{suggestions} (available: {})", available.join(", "))]
    UnknownKey {
        /// The key.
        key: String,
        /// Similar keys.
        suggestions: Suggestions,
        /// Keys that are allowed in its place.
        available: Vec<String>,
    },
    /// A rule that does not exist.
    #[error("unknown rule {name:?}{suggestions}")]
    UnknownRule {
        /// Name of the rule.
        name: String,
        /// Similar rules.
        suggestions: Suggestions,
    },
    /// A name that is not an architecture.
    #[error(transparent)]
    Target(#[from] InvalidPolicyTarget),
    /// A list of a build that has no meaning.
    #[error(transparent)]
    Asked(#[from] InvalidAsked),
    /// A release of CUDA without a list that depends on it.
    #[error("asked-cuda has no effect without asked")]
    UnusedRelease,
    /// An architecture that is listed twice.
    #[error("duplicate architecture {0}")]
    DuplicateArch(PolicyTarget),
    /// An architecture in a list of devices that no device has.
    #[error("{0} is not a device; name a device, for example \"sm_90\" or \"gfx90a\"")]
    NotADevice(PolicyTarget),
    /// A PTX fallback that is not an architecture of PTX.
    #[error("invalid PTX architecture {name:?}, expected for example \"compute_80\"{suggestions}")]
    InvalidPtx {
        /// The value.
        name: String,
        /// The PTX architecture of the same number.
        suggestions: Suggestions,
    },
    /// A size without a unit, or not a number.
    #[error("invalid size {0:?}, expected for example \"850 MB\" or \"1.5 GiB\"")]
    InvalidSize(String),
    /// A size limit of zero.
    #[error("invalid size limit: 0 bytes are less than any code")]
    ZeroSize,
    /// A glob pattern with an error.
    #[error("invalid pattern: {0}")]
    InvalidPattern(PatternError),
    /// A regular expression with an error.
    #[error("invalid regular expression: {0}")]
    InvalidRegex(PatternError),
    /// A release of a product that is not known.
    #[error("invalid release {0:?}, expected for example \"rocm-6.2\" or \"llvm-19\"")]
    InvalidRelease(String),
    /// A release without a HIP runtime.
    #[error("invalid release {0:?}, expected one with a HIP runtime, for example \"rocm-7.2\"")]
    NoHipRuntime(String),
    /// A text that is not an NVIDIA driver.
    #[error("invalid driver {0:?}, expected for example \"525\", \"550.54.14\" or \"cuda-12.4\"")]
    InvalidDriver(String),
    /// A word for the architectures of kernels other than `all`.
    #[error("invalid archs {0:?}, expected \"all\" or a list of architectures")]
    InvalidKernelArchs(String),
    /// A word for the devices of kernels other than `all`.
    #[error("invalid devices {0:?}, expected \"all\" or a list of devices")]
    InvalidKernelDevices(String),
    /// An entry for kernels that requires nothing.
    #[error("no requirement for these kernels; set devices, archs or one of the max- keys")]
    EmptyKernels,
    /// Two entries that no file can satisfy.
    #[error(transparent)]
    Contradiction(#[from] Contradiction),
}

impl Coded for PolicyCause {
    fn class(&self) -> ErrorClass {
        match self {
            PolicyCause::Toml { .. }
            | PolicyCause::WrongType(_)
            | PolicyCause::UnknownKey { .. }
            | PolicyCause::UnknownRule { .. } => Code::InvalidPolicy.into(),
            PolicyCause::Target(error) => error.class(),
            PolicyCause::Asked(error) => error.class(),
            PolicyCause::DuplicateArch(_)
            | PolicyCause::NotADevice(_)
            | PolicyCause::InvalidPtx { .. }
            | PolicyCause::InvalidKernelArchs(_)
            | PolicyCause::InvalidKernelDevices(_) => Code::InvalidPolicyTarget.into(),
            PolicyCause::InvalidSize(_)
            | PolicyCause::UnusedRelease
            | PolicyCause::ZeroSize
            | PolicyCause::InvalidRelease(_)
            | PolicyCause::NoHipRuntime(_)
            | PolicyCause::InvalidDriver(_)
            | PolicyCause::EmptyKernels => Code::InvalidPolicyValue.into(),
            PolicyCause::InvalidPattern(error) | PolicyCause::InvalidRegex(error) => error.class(),
            PolicyCause::Contradiction(error) => error.class(),
        }
    }
}

impl PolicyError {
    /// Returns the message without the place.
    pub fn message(&self) -> String {
        self.cause.to_string()
    }

    /// Creates an error for a span of bytes in the text.
    pub(crate) fn new(path: &str, text: &str, span: Range<usize>, cause: PolicyCause) -> Self {
        let (line, column) = line_and_column(text, span.start);
        PolicyError { path: path.to_owned(), line, column, cause }
    }

    /// Creates an error from one of the TOML reader.
    pub(crate) fn from_toml(path: &str, text: &str, error: &toml::de::Error) -> Self {
        let message = error.message().trim().replace('\n', ", ");
        let offset = error.span().unwrap_or(0..0).start;
        if let Some(wrong) = if message.starts_with("invalid type") { WrongType::at(text, offset) } else { None } {
            return PolicyError::new(path, text, offset..offset, PolicyCause::WrongType(wrong));
        }
        // serde reports unknown names in this form: unknown field `a`, expected one of `b`, `c`.
        let names: Vec<String> = message.split('`').skip(1).step_by(2).map(str::to_owned).collect();
        let cause = match names.split_first() {
            Some((written, known)) if message.starts_with("unknown ") => {
                let suggestions = Suggestions::new(written, known.iter().cloned());
                if message.starts_with("unknown field") {
                    PolicyCause::UnknownKey { key: written.clone(), suggestions, available: known.to_vec() }
                } else {
                    PolicyCause::Toml { message, suggestions }
                }
            }
            _ => PolicyCause::Toml { message, suggestions: Suggestions::default() },
        };
        PolicyError::new(path, text, error.span().unwrap_or(0..0), cause)
    }
}

/// Returns the line and column of an offset, counted from 1.
pub fn line_and_column(text: &str, offset: usize) -> (usize, usize) {
    let before = text.get(..offset).unwrap_or(text);
    let line_start = before.rfind('\n').map_or(0, |newline| newline + 1);
    (before.matches('\n').count() + 1, before[line_start..].chars().count() + 1)
}
