//! A verdict as JUnit XML, which CI systems show as tests: a suite for each file, with a case for each rule. An
//! undecided rule is an error, which in JUnit means that the test itself failed to run.
//!
//! JUnit XML has no specification; this follows the schema of Jenkins' xUnit plugin.

use std::collections::HashMap;

use super::sentence;
use crate::report::text::printable;
use fatbin_ops::check::{Evaluation, Finding, Outcome, Rule, Verdict};

/// Writes the document.
pub fn verdict_junit(verdict: &Verdict, write: &mut dyn FnMut(&str)) {
    let mut findings: HashMap<(&str, Rule), Vec<&Finding>> = HashMap::new();
    for finding in &verdict.findings {
        findings.entry((&finding.path, finding.rule)).or_default().push(finding);
    }
    write("<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n");
    write(&format!("<testsuites{}>\n", with_counts("fatbin check", &verdict.evaluations)));
    for suite in verdict.evaluations.chunk_by(|a, b| a.path == b.path) {
        write(&format!("  <testsuite{}>\n", with_counts(&suite[0].path, suite)));
        for evaluation in suite {
            let own = findings.get(&(evaluation.path.as_str(), evaluation.rule));
            write(&case(evaluation, own.map_or(&[], Vec::as_slice)));
        }
        write("  </testsuite>\n");
    }
    write("</testsuites>\n");
}

/// Attributes of a suite.
fn with_counts(name: &str, evaluations: &[Evaluation]) -> String {
    let count = |outcome| evaluations.iter().filter(|it| it.outcome == outcome).count().to_string();
    attributes(&[
        ("name", name),
        ("tests", &evaluations.len().to_string()),
        ("failures", &count(Outcome::Violated)),
        ("errors", &count(Outcome::Undecided)),
    ])
}

/// Lines of a case.
fn case(evaluation: &Evaluation, findings: &[&Finding]) -> String {
    let rule = evaluation.rule.name();
    let start = format!("    <testcase{}", attributes(&[("name", rule), ("classname", &evaluation.path)]));
    let sentences: Vec<String> = findings.iter().map(|finding| sentence(finding)).collect();
    let element = match evaluation.outcome {
        Outcome::Passed => return start + "/>\n",
        Outcome::Warned => "system-out",
        Outcome::Violated => "failure",
        Outcome::Undecided => "error",
    };
    let first = sentences.first().map_or("", String::as_str);
    let summary =
        if element == "system-out" { String::new() } else { attributes(&[("message", first), ("type", rule)]) };
    let lines: Vec<String> = sentences.iter().map(|sentence| xml_text(sentence)).collect();
    format!("{start}>\n      <{element}{summary}>{}</{element}>\n    </testcase>\n", lines.join("\n"))
}

fn attributes(attributes: &[(&str, &str)]) -> String {
    attributes.iter().map(|(name, value)| format!(" {name}=\"{}\"", xml_text(value))).collect()
}

/// Escapes text for elements and attributes. Characters that XML 1.0 cannot represent (section 2.2, production Char)
/// are replaced.
fn xml_text(text: &str) -> String {
    let mut escaped = String::new();
    for c in printable(text).chars() {
        match c {
            '&' => escaped += "&amp;",
            '<' => escaped += "&lt;",
            '>' => escaped += "&gt;",
            '"' => escaped += "&quot;",
            '\'' => escaped += "&apos;",
            '\u{fffe}' | '\u{ffff}' => escaped.push('\u{fffd}'),
            _ => escaped.push(c),
        }
    }
    escaped
}
