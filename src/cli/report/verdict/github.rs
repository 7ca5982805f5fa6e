//! A verdict as workflow commands of GitHub Actions: an annotation for each group of findings, then the summary.
//!
//! GitHub shows ten errors and ten warnings of a step, and all of them in its log ("Workflow commands for GitHub Actions").
//! An annotation names the file that was checked, without a line: device code has none.

use super::{group_findings, sentence_of, summary};
use crate::report::Screen;
use crate::report::text::printable;
use fatbin_ops::check::{Outcome, Verdict};

/// Writes the lines.
pub fn verdict_github(verdict: &Verdict, write: &mut dyn FnMut(&str)) {
    for group in group_findings(&verdict.findings) {
        let finding = group.finding;
        let command = if finding.outcome == Outcome::Warned { "warning" } else { "error" };
        let path = property(&finding.path);
        let rule = finding.rule.name();
        let undecided = if finding.outcome == Outcome::Undecided { " (undecided)" } else { "" };
        let message = data(&sentence_of(&group));
        write(&format!("::{command} file={path},title=fatbin {rule}{undecided}::{message}\n"));
    }
    write(&(summary(verdict, &Screen::default()) + "\n"));
}

/// Escapes a message. GitHub's toolkit escapes line feeds, which the message does not contain, and `%`.
fn data(text: &str) -> String {
    printable(text).replace('%', "%25")
}

/// Escapes the value of a property.
fn property(text: &str) -> String {
    data(text).replace(':', "%3A").replace(',', "%2C")
}
