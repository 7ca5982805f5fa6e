//! What came of a check, as plain data.

use super::rule::Rule;

/// How a rule came out; the worse, the greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Outcome {
    Passed,
    /// It is violated, and the policy says that this is only worth a warning.
    Warned,
    Violated,
    /// Whether it holds cannot be told: that is no pass.
    Undecided,
}

impl Outcome {
    pub const ALL: [Outcome; 4] = [Outcome::Passed, Outcome::Warned, Outcome::Violated, Outcome::Undecided];

    /// The name that users see.
    pub fn name(self) -> &'static str {
        match self {
            Outcome::Passed => "passed",
            Outcome::Warned => "warned",
            Outcome::Violated => "violated",
            Outcome::Undecided => "undecided",
        }
    }
}

/// Something that is wrong or cannot be told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    pub rule: Rule,
    /// Anything but passed.
    pub outcome: Outcome,
    /// The file, as inventories call it; of all files together, or of the policy itself, that of the policy.
    pub path: String,
    /// The image that it is about, where it is about one.
    pub image: Option<ImageLocation>,
    /// The name of the kernel that it is about, where it is about one.
    pub kernel: Option<String>,
    /// What is wrong: "no code for sm_89".
    pub message: String,
    /// What is there instead, where that can be said, as a clause: "there is sm_80, sm_90a".
    pub there: Option<String>,
}

/// Which image of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ImageLocation {
    /// Its number among the device images of its file.
    pub number: usize,
    /// Absent inside a compressed container.
    pub offset: Option<u64>,
    pub arch: Option<String>,
}

/// A rule and a file that it was applied to.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Evaluation {
    /// As in [`Finding::path`].
    pub path: String,
    pub rule: Rule,
    /// The worst of its findings there.
    pub outcome: Outcome,
}

/// All that came of a check.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Verdict {
    /// By file in their order, then by rule; what is about all files comes last.
    pub findings: Vec<Finding>,
    /// In the same order; every rule that was applied to a file stands here once.
    pub evaluations: Vec<Evaluation>,
}

impl Verdict {
    /// The worst outcome of all. Where nothing was judged, nothing has passed.
    pub fn outcome(&self) -> Outcome {
        self.evaluations.iter().map(|judged| judged.outcome).max().unwrap_or(Outcome::Undecided)
    }

    /// How many rules came out so, counted for each file that they were applied to.
    pub fn count(&self, outcome: Outcome) -> usize {
        self.evaluations.iter().filter(|judged| judged.outcome == outcome).count()
    }
}
