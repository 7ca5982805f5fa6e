//! A verdict as JSON, in the schema `fatbin.check/1`. Fields are never removed from a schema.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::check::{self, Outcome, Verdict};
use crate::report::json::to_pretty_json;

const SCHEMA: &str = "fatbin.check/1";

#[derive(Serialize)]
struct JsonDocument<'a> {
    schema: &'static str,
    outcome: &'static str,
    counts: BTreeMap<&'static str, usize>,
    findings: Vec<JsonFinding<'a>>,
    judged: Vec<JsonEvaluation<'a>>,
}

#[derive(Serialize)]
struct JsonFinding<'a> {
    rule: &'static str,
    outcome: &'static str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    image: Option<JsonImage<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    kernel: Option<&'a str>,
    message: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    there: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonImage<'a> {
    index: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
}

#[derive(Serialize)]
struct JsonEvaluation<'a> {
    path: &'a str,
    rule: &'static str,
    outcome: &'static str,
}

/// Returns the document, with a final newline.
pub fn verdict_json(verdict: &Verdict) -> String {
    let document = JsonDocument {
        schema: SCHEMA,
        outcome: verdict.outcome().name(),
        counts: Outcome::ALL.map(|outcome| (outcome.name(), verdict.count(outcome))).into(),
        findings: verdict.findings.iter().map(JsonFinding::new).collect(),
        judged: verdict.evaluations.iter().map(JsonEvaluation::new).collect(),
    };
    to_pretty_json(&document)
}

impl<'a> JsonFinding<'a> {
    fn new(finding: &'a check::Finding) -> Self {
        let image = |image: &'a check::ImageLocation| JsonImage {
            index: image.number,
            offset: image.offset,
            arch: image.arch.as_deref(),
        };
        JsonFinding {
            rule: finding.rule.name(),
            outcome: finding.outcome.name(),
            path: &finding.path,
            image: finding.image.as_ref().map(image),
            kernel: finding.kernel.as_deref(),
            message: &finding.message,
            there: finding.detail.as_deref(),
        }
    }
}

impl<'a> JsonEvaluation<'a> {
    fn new(evaluation: &'a check::Evaluation) -> Self {
        JsonEvaluation { path: &evaluation.path, rule: evaluation.rule.name(), outcome: evaluation.outcome.name() }
    }
}
