//! Checks: the verdict of a policy on files.

use std::ffi::{CString, c_char};
use std::mem::MaybeUninit;

use fatbin_rs::check::{self, Policy, check_paths};

use crate::error::{Failure, Status, free, guard};
use crate::pointers;
use crate::strings::c_string;

/// Outcome of a check.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(C)]
pub enum Outcome {
    /// All requirements are met.
    Passed = 0,
    /// A requirement is violated, of which the policy only warns.
    Warned = 1,
    /// A requirement is violated.
    Violated = 2,
    /// A requirement cannot be decided, which does not pass.
    Undecided = 3,
}

/// The verdict of a policy on files.
#[derive(Debug)]
pub struct Verdict {
    outcome: Outcome,
    json: CString,
}

/// Checks files, directories and archives against a policy, the text of a file for "fatbin check --policy". `paths` are
/// `path_count` strings. A file that cannot be read is a finding. Returns NULL only if the policy or an argument is invalid. Free
/// the result with fatbin_verdict_free.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn fatbin_check(
    policy: *const c_char,
    paths: *const *const c_char,
    path_count: usize,
    error: Option<&mut MaybeUninit<*mut Failure>>,
) -> Option<Box<Verdict>> {
    guard(error, None, || {
        // SAFETY: a string, as the header requires.
        let policy = unsafe { pointers::text(policy, "policy") }?;
        // SAFETY: as many strings, as the header requires.
        let paths = unsafe { pointers::paths(paths, path_count, "paths") }?;
        let policy = Policy::parse("policy", policy).map_err(|error| Failure::new(Status::Policy, error))?;
        let verdict = check_paths(&policy, paths);
        let outcome = match verdict.outcome() {
            check::Outcome::Passed => Outcome::Passed,
            check::Outcome::Warned => Outcome::Warned,
            check::Outcome::Violated => Outcome::Violated,
            // The caller must not pass what this library does not know.
            _ => Outcome::Undecided,
        };
        Ok(Some(Box::new(Verdict { outcome, json: c_string(&verdict.to_json()) })))
    })
}

/// Returns the worst outcome of all rules.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_verdict_outcome(verdict: Option<&Verdict>) -> Outcome {
    verdict.map_or(Outcome::Undecided, |verdict| verdict.outcome)
}

/// Returns the verdict as a JSON document in the schema fatbin.check/1, which "fatbin schema check" prints. It is valid until
/// the verdict is freed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_verdict_json(verdict: Option<&Verdict>) -> *const c_char {
    verdict.map_or(c"".as_ptr(), |verdict| verdict.json.as_ptr())
}

/// Frees a verdict. NULL is allowed.
#[unsafe(no_mangle)]
pub extern "C" fn fatbin_verdict_free(verdict: Option<Box<Verdict>>) {
    free(verdict);
}
