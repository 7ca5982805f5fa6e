//! A verdict as Markdown, for the summary of a CI job or a comment on a change: outcome, findings, and sizes by arch.

use super::code_sizes::CodeSizes;
use super::markdown_escape::escape;
use super::{FindingGroup, group_findings, sentence_of, summary};
use crate::report::Screen;
use fatbin_core::base::escape::shorten;
use fatbin_ops::check::{Outcome, Verdict};

/// Limit of the text in bytes. GitHub refuses comments of more than 65,536 characters; what is left is for the text that a
/// workflow adds.
const MAX_SIZE: usize = 60_000;

/// Limit of a cell in characters, so that one finding does not take the place of all others.
const MAX_CELL: usize = 1000;

/// Returns the text, with a final newline. `before` has the sizes of another build.
pub fn verdict_markdown(verdict: &Verdict, sizes: &CodeSizes, before: Option<&CodeSizes>) -> String {
    let heading = match verdict.outcome() {
        Outcome::Passed => "Device code meets the policy",
        Outcome::Warned => "Device code meets the policy, with warnings",
        Outcome::Violated => "Device code violates the policy",
        Outcome::Undecided if verdict.count(Outcome::Violated) > 0 => {
            "Device code violates the policy, and not all of it could be evaluated"
        }
        Outcome::Undecided => "Device code could not be evaluated completely",
    };
    let first = format!("## {heading}\n\n{}\n", summary(verdict, &Screen::default()));
    let sizes = sizes.to_markdown(before);
    let findings = findings(verdict, MAX_SIZE.saturating_sub(first.len() + sizes.len()));
    first + &findings + &sizes
}

/// Formats the table of findings, of at most `size` bytes; nothing if there are none.
fn findings(verdict: &Verdict, size: usize) -> String {
    let findings = group_findings(&verdict.findings);
    if findings.is_empty() {
        return String::new();
    }
    let mut text = "\n| file | rule | outcome | finding |\n|---|---|---|---|\n".to_owned();
    let mut rows: Vec<(bool, String)> = findings.iter().map(row).collect();
    if text.len() + rows.iter().map(|(_, row)| row.len()).sum::<usize>() <= size {
        text.extend(rows.into_iter().map(|(_, row)| row));
        return text;
    }
    // Warnings do not take the place of violations.
    rows.sort_by_cached_key(|(is_warning, _)| *is_warning);
    let note = |shown: usize| format!("\n{shown} of {} findings are shown.\n", findings.len());
    let size = size.saturating_sub(note(findings.len()).len());
    for (shown, (_, row)) in rows.iter().enumerate() {
        if text.len() + row.len() > size {
            return text + &note(shown);
        }
        text += row;
    }
    text
}

/// Formats a row of the table, and returns whether it is a warning.
fn row(group: &FindingGroup<'_>) -> (bool, String) {
    let finding = group.finding;
    let path = cell(&finding.path);
    let rule = finding.rule.name();
    let outcome = finding.outcome.name();
    let row = format!("| {path} | {rule} | {outcome} | {} |\n", cell(&sentence_of(group)));
    (finding.outcome == Outcome::Warned, row)
}

/// Formats text as a cell of a table.
fn cell(text: &str) -> String {
    escape(&shorten(text, MAX_CELL))
}
