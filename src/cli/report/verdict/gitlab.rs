//! A verdict as a Code Quality report of GitLab, which shows new findings in a merge request.
//!
//! The format is a list of the issues of Code Climate's specification, with the fields that GitLab's documentation requires
//! ("Code Quality report format"). Fingerprints must be unique, so findings that are alike have numbers in theirs.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::fingerprint::fingerprint;
use super::{FindingGroup, group_findings, sentence_of};
use crate::check::{Outcome, Verdict};
use crate::cli::report::json::to_displayed_json;

/// Returns the document, with a final newline.
pub fn verdict_gitlab(verdict: &Verdict) -> String {
    let mut known = HashMap::new();
    let issues: Vec<Value> = group_findings(&verdict.findings).iter().map(|group| issue(group, &mut known)).collect();
    to_displayed_json(issues.into())
}

fn issue(group: &FindingGroup<'_>, known: &mut HashMap<String, usize>) -> Value {
    let finding = group.finding;
    let severity = match finding.outcome {
        Outcome::Warned => "minor",
        Outcome::Violated => "major",
        Outcome::Undecided => "critical",
        Outcome::Passed => "info",
    };
    let first = fingerprint(finding);
    let number = known.entry(first.clone()).or_default();
    *number += 1;
    let unique = if *number == 1 { first } else { format!("{first}-{number}") };
    json!({
        "type": "issue",
        "description": sentence_of(group),
        "check_name": finding.rule.name(),
        "fingerprint": unique,
        "severity": severity,
        "location": { "path": finding.path, "lines": { "begin": 1 } },
    })
}
