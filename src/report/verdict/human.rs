//! A verdict for people: a line for each finding, told once of all images, and one that sums up.

use super::{alike, sentence_of, summary};
use crate::check::{Outcome, Verdict};
use crate::report::text::printable;

/// Lines that each end in a newline.
pub fn verdict_text(verdict: &Verdict) -> String {
    let mut text = String::new();
    for alike in alike(&verdict.findings) {
        let finding = alike.finding;
        let outcome = match finding.outcome {
            Outcome::Violated | Outcome::Passed => "",
            Outcome::Warned => "warning: ",
            Outcome::Undecided => "undecided: ",
        };
        let (path, rule) = (printable(&finding.path), finding.rule.name());
        text += &format!("{path}: {outcome}{rule}: {}\n", sentence_of(&alike));
    }
    text + &summary(verdict) + "\n"
}
