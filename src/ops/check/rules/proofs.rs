//! Proofs of changes. Files are hashed by the caller, because a proof is about the file on disk and not about its
//! inventory.

use super::findings::{RuleFindings, undecided, violated};
use crate::check::facts::FileFacts;
use crate::check::policy::Requirements;
use crate::check::proof_status::ProofStatus;
use fatbin_core::base::code::Remedy;

/// Requires that the file is the result of a proven change.
pub fn proven(facts: &FileFacts<'_>, _: &Requirements, findings: &mut RuleFindings) {
    match facts.proof {
        ProofStatus::Proven => {}
        ProofStatus::Missing => {
            findings.add(violated("not the result of a proven change").remedy(Some(Remedy::SpecifyProof)));
        }
        ProofStatus::Differs { proof } => {
            findings.add(violated(format!("differs from the result of its proof {proof}")));
        }
        ProofStatus::Unknown { reason } => {
            findings.add(undecided(format!("cannot be compared with proofs: {reason}")));
        }
    }
}
