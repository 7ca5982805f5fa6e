//! Verdicts as text and in the formats of other programs. Names come from files, and are escaped.

mod code_sizes;
mod cyclonedx;
mod fingerprint;
mod github;
mod gitlab;
mod junit;
mod markdown;
mod markdown_escape;
mod sarif;

pub use code_sizes::CodeSizes;
pub use cyclonedx::{Components, verdict_cyclonedx};
pub use github::verdict_github;
pub use gitlab::verdict_gitlab;
pub use junit::verdict_junit;
pub use markdown::verdict_markdown;
pub use sarif::verdict_sarif;

use std::cmp::Reverse;
use std::collections::HashMap;

use super::Screen;
use super::findings::{FindingGroup, group_findings};
use super::not_judged::names_not_judged;
use super::style::Meaning;
use super::text::{counted, heading, headline, paragraph, printable};
use fatbin_ops::check::{Finding, Outcome, Verdict};

/// Maximum number of lines about findings, unless all are requested: about one screen.
const MAX_LINES: usize = 20;

/// Formats a verdict as lines: one for each group of findings, and a summary. More findings than fit on a screen are
/// grouped across files, unless `all` is set.
pub fn verdict_text(verdict: &Verdict, all: bool, screen: &Screen) -> String {
    let groups = group_findings(&verdict.findings);
    let text = if all || groups.len() <= MAX_LINES {
        let lines = groups.iter().map(|group| (group.finding.path.clone(), statement(group, screen)));
        by_path(&lines.collect::<Vec<_>>(), screen)
    } else {
        grouped_by_file(groups, screen)
    };
    let not_judged = names_not_judged(verdict.not_judged.iter().map(String::as_str), screen);
    text + &not_judged + &summary(verdict, screen) + "\n"
}

/// Formats findings as lines. On terminals, several about the same path are below it.
fn by_path(findings: &[(String, String)], screen: &Screen) -> String {
    let of_path = |findings: &[(String, String)]| match findings {
        [(path, _), _, ..] if screen.is_terminal() => {
            let lines = findings.iter().map(|(_, statement)| paragraph(statement, screen));
            heading(path, screen) + &lines.collect::<String>()
        }
        _ => findings.iter().map(|(path, statement)| headline(path, statement, screen)).collect(),
    };
    findings.chunk_by(|(one, _), (next, _)| one == next).map(of_path).collect()
}

/// Formats groups that have the same message for several files as one line, the most frequent first.
fn grouped_by_file(groups: Vec<FindingGroup<'_>>, screen: &Screen) -> String {
    let mut messages: Vec<Vec<FindingGroup<'_>>> = Vec::new();
    let mut known = HashMap::new();
    for group in groups {
        let Finding { rule, outcome, kernel, message, .. } = group.finding;
        let index = *known.entry((rule, outcome, kernel, message)).or_insert(messages.len());
        match messages.get_mut(index) {
            Some(same) => same.push(group),
            None => messages.push(vec![group]),
        }
    }
    messages.sort_by_cached_key(|groups| Reverse(groups.len()));
    let lines = messages.iter().take(MAX_LINES).filter_map(|groups| {
        let first = groups.first()?;
        let others = match groups.len().saturating_sub(1) {
            0 => String::new(),
            others => format!(" and {others} more"),
        };
        Some((format!("{}{others}", first.finding.path), statement(first, screen)))
    });
    let text = by_path(&lines.collect::<Vec<_>>(), screen);
    let rest: usize = messages.iter().skip(MAX_LINES).map(Vec::len).sum();
    let rest = if rest == 0 { String::new() } else { format!("{} more; ", counted(rest, "finding")) };
    format!("{text}{rest}use -v to list all findings by file\n")
}

/// Formats a finding without its path.
fn statement(group: &FindingGroup<'_>, screen: &Screen) -> String {
    let outcome = match group.finding.outcome {
        Outcome::Violated | Outcome::Passed => "",
        Outcome::Warned => "warning: ",
        Outcome::Undecided => "undecided: ",
    };
    let rule = screen.paint(meaning(group.finding.outcome), group.finding.rule.name());
    format!("{outcome}{rule}: {}", sentence_of(group))
}

fn meaning(outcome: Outcome) -> Meaning {
    match outcome {
        Outcome::Violated => Meaning::Bad,
        Outcome::Passed => Meaning::Good,
        Outcome::Warned | Outcome::Undecided => Meaning::Unsure,
    }
}

/// Formats a finding as a sentence, without its file and its rule.
fn sentence(finding: &Finding) -> String {
    sentence_of(&FindingGroup { finding, images: finding.image.iter().collect() })
}

/// Formats the finding of one or several images as a sentence.
fn sentence_of(group: &FindingGroup<'_>) -> String {
    let finding = group.finding;
    let image = group.place().map(|place| format!("{place}: "));
    let kernel = finding.kernel.as_ref().map(|kernel| format!("kernel {kernel}: "));
    let detail = finding.detail.as_ref().map(|detail| format!("; {detail}"));
    let parts = [image, kernel, Some(finding.message.clone()), detail];
    printable(&parts.into_iter().flatten().collect::<String>())
}

/// Formats the number of evaluations by outcome.
fn summary(verdict: &Verdict, screen: &Screen) -> String {
    let counts: Vec<(Outcome, usize)> = Outcome::ALL.iter().map(|&outcome| (outcome, verdict.count(outcome))).collect();
    let all = counts.iter().map(|(_, count)| count).sum();
    let shown = counts.into_iter().filter(|&(outcome, count)| count > 0 || outcome == Outcome::Passed);
    let shown: Vec<String> =
        shown.map(|(outcome, count)| screen.paint(meaning(outcome), &format!("{count} {}", outcome.name()))).collect();
    format!("{}: {}", counted(all, "check"), shown.join(", "))
}
