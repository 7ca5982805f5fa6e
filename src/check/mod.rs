//! Policies, the rules that evaluate files by them, and the verdict as plain data.
//!
//! [`Policy::parse`] reads a policy, [`Policy::analysis_options`] states what must be known about a file, and [`check`]
//! evaluates files that were analyzed so. Every rule is evaluated file by file: code that one library lacks is not replaced
//! by that of another.
//!
//! A verdict lists everything that was evaluated and not only violations, because a check that found nothing wrong must
//! differ from one that looked at nothing. A requirement that cannot be decided is a finding of its own kind: a library that
//! cannot be read has not passed.

mod coverage;
mod facts;
mod generate;
mod json;
mod policy;
mod proof_status;
mod rule;
mod rules;
mod target;
mod verdict;

pub use crate::base::pattern::PatternError;
pub use crate::base::spelling::Suggestions;
pub use crate::format::readers::Reader;
pub use generate::generate_policy;
pub use policy::{
    Contradiction, Exception, KernelArchs, KernelDevices, KernelLimit, KernelRequirement, Pattern, Policy, PolicyCause,
    PolicyError, Requirements, Size,
};
pub use proof_status::ProofStatus;
pub use rule::Rule;
pub use rules::{CheckedFile, check};
pub use target::{InvalidPolicyTarget, PolicyTarget};
pub use verdict::{Evaluation, Finding, ImageLocation, Outcome, Verdict};
