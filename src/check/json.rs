//! A verdict as JSON, in the schema `fatbin.check/1`. Fields are never removed from a schema.

use std::collections::BTreeMap;

use serde::Serialize;

use super::verdict::{Evaluation, Finding, ImageLocation, Outcome, Verdict};
use crate::base::escape::escape_json;

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

impl Verdict {
    /// Returns the verdict as a JSON document in the schema `fatbin.check/1`, with a final newline. Characters that a
    /// terminal would obey, or not display, are escaped in JSON's own syntax.
    pub fn to_json(&self) -> String {
        let document = JsonDocument {
            schema: SCHEMA,
            outcome: self.outcome().name(),
            counts: Outcome::ALL.iter().map(|&outcome| (outcome.name(), self.count(outcome))).collect(),
            findings: self.findings.iter().map(JsonFinding::new).collect(),
            judged: self.evaluations.iter().map(JsonEvaluation::new).collect(),
        };
        let text = serde_json::to_string_pretty(&document).expect("strings and numbers serialize");
        escape_json(&text).into_owned() + "\n"
    }
}

impl<'a> JsonFinding<'a> {
    fn new(finding: &'a Finding) -> Self {
        let image = |image: &'a ImageLocation| JsonImage {
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
    fn new(evaluation: &'a Evaluation) -> Self {
        JsonEvaluation { path: &evaluation.path, rule: evaluation.rule.name(), outcome: evaluation.outcome.name() }
    }
}
