//! What a check said of the files, for the top of the page: findings, and what was judged.

use std::collections::BTreeSet;

use serde::Serialize;

use super::escape::visible;
use crate::check::{self, Rule};
use crate::report::findings::{Alike, alike};

#[derive(Serialize)]
pub struct Verdict {
    outcome: &'static str,
    findings: Vec<Finding>,
    /// What each rule demands that was applied.
    rules: Vec<(&'static str, &'static str)>,
    judged: Vec<Judged>,
}

#[derive(Serialize)]
struct Finding {
    outcome: &'static str,
    rule: &'static str,
    path: String,
    image: Option<String>,
    kernel: Option<String>,
    message: String,
    there: Option<String>,
}

#[derive(Serialize)]
struct Judged {
    outcome: &'static str,
    rule: &'static str,
    path: String,
}

impl Verdict {
    pub fn new(verdict: &check::Verdict) -> Self {
        let optional = |text: &Option<String>| text.as_deref().map(visible);
        let finding = |alike: &Alike<'_>| {
            let finding = alike.finding;
            Finding {
                outcome: finding.outcome.name(),
                rule: finding.rule.name(),
                path: visible(&finding.path),
                image: alike.place().map(|place| visible(&place)),
                kernel: optional(&finding.kernel),
                message: visible(&finding.message),
                there: optional(&finding.there),
            }
        };
        let judged = |judged: &check::Judged| Judged {
            outcome: judged.outcome.name(),
            rule: judged.rule.name(),
            path: visible(&judged.path),
        };
        let rules: BTreeSet<Rule> = verdict.judged.iter().map(|judged| judged.rule).collect();
        Verdict {
            outcome: verdict.outcome().name(),
            findings: alike(&verdict.findings).iter().map(finding).collect(),
            rules: rules.into_iter().map(|rule| (rule.name(), rule.demand())).collect(),
            judged: verdict.judged.iter().map(judged).collect(),
        }
    }
}
