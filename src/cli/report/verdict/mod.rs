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
pub use cyclonedx::verdict_cyclonedx;
pub use github::verdict_github;
pub use gitlab::verdict_gitlab;
pub use junit::verdict_junit;
pub use markdown::verdict_markdown;
pub use sarif::verdict_sarif;

use super::Screen;
use super::findings::{FindingGroup, group_findings};
use super::style::Meaning;
use super::text::{counted, heading, headline, paragraph, printable};
use crate::check::{Finding, Outcome, Verdict};

/// Formats a verdict as lines: one for each group of findings, and a summary.
pub fn verdict_text(verdict: &Verdict, screen: &Screen) -> String {
    let mut text = String::new();
    let groups = group_findings(&verdict.findings);
    let is_of_same_file = |one: &FindingGroup<'_>, next: &FindingGroup<'_>| one.finding.path == next.finding.path;
    for file in groups.chunk_by(is_of_same_file) {
        text += &findings_of_file(file, screen);
    }
    text + &summary(verdict, screen) + "\n"
}

/// Formats the findings of a file as lines. On terminals, several are below the path.
fn findings_of_file(groups: &[FindingGroup<'_>], screen: &Screen) -> String {
    let lines = groups.iter().map(|group| {
        let finding = group.finding;
        let outcome = match finding.outcome {
            Outcome::Violated | Outcome::Passed => "",
            Outcome::Warned => "warning: ",
            Outcome::Undecided => "undecided: ",
        };
        let rule = screen.paint(meaning(finding.outcome), finding.rule.name());
        (&finding.path, format!("{outcome}{rule}: {}", sentence_of(group)))
    });
    match groups {
        [first, _, ..] if screen.is_terminal() => {
            heading(&first.finding.path, screen) + &lines.map(|(_, line)| paragraph(&line, screen)).collect::<String>()
        }
        _ => lines.map(|(path, line)| headline(path, &line, screen)).collect(),
    }
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
    let counts = Outcome::ALL.iter().copied().map(|outcome| (outcome, verdict.count(outcome)));
    let counts = counts.filter(|&(outcome, count)| count > 0 || outcome == Outcome::Passed);
    let counts: Vec<String> =
        counts.map(|(outcome, count)| screen.paint(meaning(outcome), &format!("{count} {}", outcome.name()))).collect();
    format!("{}: {}", counted(verdict.evaluations.len(), "check"), counts.join(", "))
}
