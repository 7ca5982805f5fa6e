//! Results of a check, as plain data.

use super::rule::Rule;
use fatbin_core::base::code::Remedy;

/// Outcome of a rule. Worse outcomes are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    /// The requirement is met.
    Passed,
    /// The requirement is violated, and the policy only warns about this rule.
    Warned,
    /// The requirement is violated.
    Violated,
    /// The requirement cannot be decided. This does not pass.
    Undecided,
}

impl Outcome {
    /// All outcomes, in order.
    #[doc(hidden)]
    pub const ALL: &[Outcome] = &[Outcome::Passed, Outcome::Warned, Outcome::Violated, Outcome::Undecided];

    /// Returns the name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Warned => "warned",
            Outcome::Violated => "violated",
            Outcome::Undecided => "undecided",
        }
    }
}

/// A violation, or a requirement that cannot be decided.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Finding {
    /// The rule.
    pub rule: Rule,
    /// Any outcome but [`Outcome::Passed`].
    pub outcome: Outcome,
    /// Path of the file as in its inventory. For findings about all files or about the policy, the path of the policy.
    pub path: String,
    /// The image, for findings about one.
    pub image: Option<ImageLocation>,
    /// Name of the kernel, for findings about one.
    pub kernel: Option<String>,
    /// The problem: "no code for sm_89".
    pub message: String,
    /// Actual contents as a clause, where known: "available: sm_80, sm_90a".
    pub detail: Option<String>,
    /// Change in the request that solves the problem.
    #[doc(hidden)]
    pub remedy: Option<Remedy>,
}

/// Location of an image in a file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct ImageLocation {
    /// Index among the device images of the file.
    pub number: usize,
    /// Offset in the file, in bytes. `None` inside a compressed container.
    pub offset: Option<u64>,
    /// Architecture of the image.
    pub arch: Option<String>,
}

/// Outcome of a rule for one file.
#[derive(Debug, Clone, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Evaluation {
    /// Path as in [`Finding::path`].
    pub path: String,
    /// The rule.
    pub rule: Rule,
    /// Worst outcome of its findings.
    pub outcome: Outcome,
}

/// Result of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Verdict {
    /// Findings by file in order, then by rule. Findings about all files are last.
    pub findings: Vec<Finding>,
    /// Outcome of every rule for every file that it was evaluated on, in the same order.
    pub evaluations: Vec<Evaluation>,
    /// Names of libraries of others that rules about code have left out.
    #[doc(hidden)]
    pub not_judged: Vec<String>,
    /// Numbers of evaluations that are not listed, by outcome.
    #[doc(hidden)]
    pub unlisted: [usize; Outcome::ALL.len()],
}

impl Verdict {
    /// Returns the worst outcome. It is undecided if nothing was evaluated.
    pub fn outcome(&self) -> Outcome {
        let worst = Outcome::ALL.iter().rev().find(|outcome| self.count(**outcome) > 0);
        worst.copied().unwrap_or(Outcome::Undecided)
    }

    /// Returns the number of evaluations with this outcome.
    pub fn count(&self, outcome: Outcome) -> usize {
        let listed = self.evaluations.iter().filter(|evaluation| evaluation.outcome == outcome).count();
        let unlisted = self.unlisted.iter().zip(Outcome::ALL).find(|(_, it)| **it == outcome);
        unlisted.map_or(0, |(count, _)| *count) + listed
    }
}
