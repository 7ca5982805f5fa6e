//! A verdict as Markdown: a table for the summary of a CI job.

use super::{group_findings, sentence_of, summary};
use crate::check::{Outcome, Verdict};
use crate::report::text::printable;

/// Limit of rows. GitHub does not show summaries of more than one megabyte.
const MOST_ROWS: usize = 500;

/// Returns the text, with a final newline.
pub fn verdict_markdown(verdict: &Verdict) -> String {
    let heading = match verdict.outcome() {
        Outcome::Passed => "Device code meets the policy",
        Outcome::Warned => "Device code meets the policy, with warnings",
        Outcome::Violated => "Device code violates the policy",
        Outcome::Undecided if verdict.count(Outcome::Violated) > 0 => {
            "Device code violates the policy, and not all of it could be evaluated"
        }
        Outcome::Undecided => "Device code could not be evaluated completely",
    };
    let mut text = format!("## {heading}\n\n{}\n", summary(verdict));
    if verdict.findings.is_empty() {
        return text;
    }
    text += "\n| file | rule | outcome | finding |\n|---|---|---|---|\n";
    let findings = group_findings(&verdict.findings);
    for group in findings.iter().take(MOST_ROWS) {
        let finding = group.finding;
        let (path, rule, outcome) = (escape(&finding.path), finding.rule.name(), finding.outcome.name());
        text += &format!("| {path} | {rule} | {outcome} | {} |\n", escape(&sentence_of(group)));
    }
    let more = findings.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        text += &format!("\nand {more} more\n");
    }
    text
}

/// Escapes Markdown. Every ASCII punctuation character may be escaped (CommonMark, section Backslash escapes); characters
/// that begin HTML or end a cell become entities.
fn escape(text: &str) -> String {
    let mut escaped = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '|' => escaped += "&#124;",
            '\\' | '(' | ')' | '`' | '*' | '_' | '[' | ']' | '~' | '!' | '#' | '$' => escaped.extend(['\\', c]),
            // GitHub turns user names and addresses into links.
            '@' => escaped += "&#64;",
            ':' => escaped += "&#58;",
            _ => escaped.push(c),
        }
    }
    escaped
}
