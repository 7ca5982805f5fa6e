//! Verdict of a check for the top of the page: findings, and evaluated rules.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use crate::report::findings::{FindingGroup, group_findings};
use crate::report::text::printable;
use fatbin_core::base::escape::escape;
use fatbin_ops::check::{self, Rule};

/// Verdict in the document of the page.
#[derive(Serialize)]
pub struct VerdictData<'a> {
    outcome: &'static str,
    findings: Vec<FindingData>,
    /// Names and descriptions of the evaluated rules.
    rules: Vec<(&'static str, &'static str)>,
    evaluations: Vec<EvaluationData<'a>>,
}

#[derive(Serialize)]
struct FindingData {
    outcome: &'static str,
    rule: &'static str,
    path: String,
    image: Option<String>,
    kernel: Option<String>,
    message: String,
    detail: Option<String>,
}

#[derive(Serialize)]
struct EvaluationData<'a> {
    outcome: &'static str,
    rule: &'static str,
    path: Cow<'a, str>,
}

impl<'a> VerdictData<'a> {
    pub fn new(verdict: &'a check::Verdict) -> Self {
        let optional = |text: &Option<String>| text.as_deref().map(printable);
        let finding = |group: &FindingGroup<'_>| {
            let finding = group.finding;
            FindingData {
                outcome: finding.outcome.name(),
                rule: finding.rule.name(),
                path: printable(&finding.path),
                image: group.place().map(|place| printable(&place)),
                kernel: optional(&finding.kernel),
                message: printable(&finding.message),
                detail: optional(&finding.detail),
            }
        };
        let evaluation = |evaluation: &'a check::Evaluation| EvaluationData {
            outcome: evaluation.outcome.name(),
            rule: evaluation.rule.name(),
            path: escape(&evaluation.path),
        };
        let rules: BTreeSet<Rule> = verdict.evaluations.iter().map(|evaluation| evaluation.rule).collect();
        VerdictData {
            outcome: verdict.outcome().name(),
            findings: group_findings(&verdict.findings).iter().map(finding).collect(),
            rules: rules.into_iter().map(|rule| (rule.name(), rule.description())).collect(),
            evaluations: verdict.evaluations.iter().map(evaluation).collect(),
        }
    }
}
