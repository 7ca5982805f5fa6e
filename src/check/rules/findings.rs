//! What a rule finds in one file, before it is known what that means.

use std::collections::BTreeSet;

use crate::check::facts::ImageFacts;
use crate::check::verdict::{ImageLocation, Outcome};

/// Something that a rule found.
pub struct RuleFinding {
    pub outcome: Outcome,
    pub image: Option<ImageLocation>,
    pub kernel: Option<String>,
    pub message: String,
    pub there: Option<String>,
}

/// All that a rule found in one file.
#[derive(Default)]
pub struct Findings {
    found: Vec<RuleFinding>,
    /// How many there are above the bound, and the worst of their outcomes.
    omitted: usize,
    worst_omitted: Option<Outcome>,
    matched: BTreeSet<usize>,
}

/// Nobody reads more of one rule in one file, and a library has kernels by the ten thousand.
const MAX_FINDINGS: usize = 100;

impl RuleFinding {
    /// About an image.
    pub fn image(mut self, image: &ImageFacts<'_>) -> Self {
        self.image = Some(image.place());
        self
    }

    /// About a kernel.
    pub fn kernel(mut self, name: &str) -> Self {
        self.kernel = Some(name.to_owned());
        self
    }

    /// With what is there instead.
    pub fn there(mut self, there: impl Into<String>) -> Self {
        self.there = Some(there.into());
        self
    }
}

/// A demand is not met.
pub fn violated(message: impl Into<String>) -> RuleFinding {
    RuleFinding { outcome: Outcome::Violated, image: None, kernel: None, message: message.into(), there: None }
}

/// It cannot be told whether a demand is met.
pub fn undecided(message: impl Into<String>) -> RuleFinding {
    RuleFinding { outcome: Outcome::Undecided, ..violated(message) }
}

impl Findings {
    pub fn add(&mut self, found: RuleFinding) {
        if self.found.len() < MAX_FINDINGS {
            self.found.push(found);
        } else {
            self.omitted += 1;
            self.worst_omitted = self.worst_omitted.max(Some(found.outcome));
        }
    }

    /// Notes that the demand in this line of the policy was about something.
    pub fn matched(&mut self, line: usize) {
        self.matched.insert(line);
    }

    pub fn matched_lines(&self) -> BTreeSet<usize> {
        self.matched.clone()
    }

    /// All, the last of which tells how many were left out.
    pub fn into_vec(mut self) -> Vec<RuleFinding> {
        if let Some(outcome) = self.worst_omitted {
            self.found.push(RuleFinding { outcome, ..violated(format!("the same of {} more", self.omitted)) });
        }
        self.found
    }
}
