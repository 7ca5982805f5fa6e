//! Findings of one rule in one file, before the policy's warnings are applied.

use std::collections::BTreeSet;

use crate::check::facts::ImageFacts;
use crate::check::target::PolicyTarget;
use crate::check::verdict::{ImageLocation, Outcome};
use fatbin_core::base::code::{Coded, Remedy};

/// A finding of a rule.
pub struct RuleFinding {
    pub outcome: Outcome,
    pub image: Option<ImageLocation>,
    pub kernel: Option<String>,
    pub message: String,
    pub detail: Option<String>,
    pub remedy: Option<Remedy>,
    /// Target that the file has no code for.
    pub target: Option<PolicyTarget>,
}

/// All findings of a rule in one file.
#[derive(Default)]
pub struct RuleFindings {
    found: Vec<RuleFinding>,
    /// Number of findings beyond [`MAX_FINDINGS`].
    omitted: usize,
    /// Worst outcome of the omitted findings.
    worst_omitted: Option<Outcome>,
    pub matched_lines: BTreeSet<usize>,
}

/// Limit of findings for one rule and file. A library has tens of thousands of kernels, and a report that lists them
/// all is not read.
const MAX_FINDINGS: usize = 100;

impl RuleFinding {
    /// Sets the image of the finding.
    pub fn image(mut self, image: &ImageFacts<'_>) -> Self {
        self.image = Some(image.location());
        self
    }

    /// Sets the kernel of the finding.
    pub fn kernel(mut self, name: &str) -> Self {
        self.kernel = Some(name.to_owned());
        self
    }

    /// Sets the target that the file has no code for.
    pub fn target(mut self, target: &PolicyTarget) -> Self {
        self.target = Some(target.clone());
        self
    }

    /// Adds a clause about the actual contents.
    pub fn detail(mut self, detail: impl Into<String>) -> Self {
        self.detail = Some(detail.into());
        self
    }

    /// Adds the change in the request that solves the problem, if there is one.
    pub fn remedy(mut self, remedy: Option<Remedy>) -> Self {
        self.remedy = remedy;
        self
    }
}

/// Creates a finding for a requirement that is not met.
pub fn violated(message: impl Into<String>) -> RuleFinding {
    RuleFinding {
        outcome: Outcome::Violated,
        image: None,
        kernel: None,
        message: message.into(),
        detail: None,
        remedy: None,
        target: None,
    }
}

/// Creates a finding for an error that leaves a requirement undecided.
pub fn undecided_by(error: &impl Coded) -> RuleFinding {
    undecided(error.to_string()).remedy(error.class().remedy)
}

/// Creates a finding for a requirement that cannot be decided.
pub fn undecided(message: impl Into<String>) -> RuleFinding {
    RuleFinding { outcome: Outcome::Undecided, ..violated(message) }
}

impl RuleFindings {
    pub fn add(&mut self, finding: RuleFinding) {
        if self.found.len() < MAX_FINDINGS {
            self.found.push(finding);
        } else {
            self.omitted += 1;
            self.worst_omitted = self.worst_omitted.max(Some(finding.outcome));
        }
    }

    /// Records that the requirement on this line of the policy applied to a kernel.
    pub fn add_matched_line(&mut self, line: usize) {
        self.matched_lines.insert(line);
    }

    /// Returns all findings; if some were omitted, the last states their number and has the worst of their outcomes.
    pub fn into_vec(mut self) -> Vec<RuleFinding> {
        if let Some(outcome) = self.worst_omitted {
            self.found
                .push(RuleFinding { outcome, ..violated(format!("{} more findings of this rule", self.omitted)) });
        }
        self.found
    }
}
