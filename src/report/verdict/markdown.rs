//! A verdict as Markdown: a table for the summary page of a CI job.

use super::{group_findings, sentence_of, summary};
use crate::check::{Outcome, Verdict};
use crate::report::text::printable;

/// GitHub shows one megabyte of a job's summary and nothing of a larger one.
const MOST_ROWS: usize = 500;

/// The text, with a final newline.
pub fn verdict_markdown(verdict: &Verdict) -> String {
    let heading = match verdict.outcome() {
        Outcome::Passed => "Device code is as demanded",
        Outcome::Warned => "Device code is as demanded, with warnings",
        Outcome::Violated => "Device code is not as demanded",
        Outcome::Undecided if verdict.count(Outcome::Violated) > 0 => {
            "Device code is not as demanded, and not all of it could be judged"
        }
        Outcome::Undecided => "Whether device code is as demanded cannot be told",
    };
    let mut text = format!("## {heading}\n\n{}\n", summary(verdict));
    if verdict.findings.is_empty() {
        return text;
    }
    text += "\n| file | rule | outcome | what |\n|---|---|---|---|\n";
    let findings = group_findings(&verdict.findings);
    for group in findings.iter().take(MOST_ROWS) {
        let finding = group.finding;
        let (path, rule, outcome) = (escaped(&finding.path), finding.rule.name(), finding.outcome.name());
        text += &format!("| {path} | {rule} | {outcome} | {} |\n", escaped(&sentence_of(group)));
    }
    let more = findings.len().saturating_sub(MOST_ROWS);
    if more > 0 {
        text += &format!("\nand {more} more\n");
    }
    text
}

/// Text that means nothing in Markdown: every ASCII punctuation character may be escaped (CommonMark, section Backslash
/// escapes), and what begins HTML or ends a cell becomes an entity.
fn escaped(text: &str) -> String {
    let mut escaped = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '|' => escaped += "&#124;",
            '\\' | '(' | ')' | '`' | '*' | '_' | '[' | ']' | '~' | '!' | '#' | '$' => escaped.extend(['\\', c]),
            // GitHub makes links to people and of addresses.
            '@' => escaped += "&#64;",
            ':' => escaped += "&#58;",
            _ => escaped.push(c),
        }
    }
    escaped
}
