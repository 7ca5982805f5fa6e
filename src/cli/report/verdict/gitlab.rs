//! A verdict as a Code Quality report of GitLab, which shows new findings in a merge request.
//!
//! The format is a list of the issues of Code Climate's specification, with the fields that GitLab's documentation requires
//! ("Code Quality report format"). Fingerprints must be unique, so findings that are alike have numbers in theirs.

use std::collections::HashMap;

use serde_json::{Value, json};

use super::fingerprint::fingerprint;
use super::{FindingGroup, group_findings, sentence_of};
use crate::report::json::displayed_element;
use fatbin_core::base::json::JsonWriter;
use fatbin_ops::check::{Outcome, Verdict};

/// Writes the document.
pub fn verdict_gitlab(verdict: &Verdict, write: &mut dyn FnMut(&str)) {
    let mut known = HashMap::new();
    let mut json = JsonWriter::plain(b'[', b']');
    for group in &group_findings(&verdict.findings) {
        json.element(&displayed_element(issue(group, &mut known), 1));
        write(&json.take());
    }
    json.end();
    write(&json.take());
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
