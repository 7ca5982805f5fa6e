//! Policies, the rules that evaluate files by them, and the verdict as plain data.
//!
//! [`Policy::parse`] reads a policy, and [`check_paths`] evaluates files by it. Every rule is evaluated file by file:
//! code that one library lacks is not replaced by code of another.
//!
//! A verdict lists everything that was evaluated and not only violations, because a check that found nothing wrong must
//! differ from a check of nothing. A requirement that cannot be decided is a separate kind of finding: a library that
//! cannot be read has not passed.

pub mod asked;
mod coverage;
mod facts;
mod generate;
mod json;
pub mod lock;
pub mod paths;
mod policy;
pub mod proof_status;
pub mod ptx_assembler;
mod rule;
pub mod rules;
mod target;
mod verdict;

/// The schema of policies.
pub const POLICY_SCHEMA: &str = include_str!("policy-1.schema.json");

pub use generate::generate_policy;
pub use paths::check_paths;
pub use policy::{Policy, PolicyError};
pub use proof_status::ProofStatus;
pub use rule::Rule;
pub use rules::{Check, CheckedFile, StoredPackage};
pub use verdict::{Evaluation, Finding, ImageLocation, Outcome, Verdict};
