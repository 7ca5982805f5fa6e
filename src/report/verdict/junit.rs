//! A verdict as JUnit XML, which CI systems show as tests: a suite for each file, with a case for each rule. An undecided
//! rule is an error, which in JUnit means that the test itself failed to run.
//!
//! JUnit XML has no specification; this follows the schema of Jenkins' xUnit plugin.

use std::collections::HashMap;

use quick_xml::Writer;
use quick_xml::events::{BytesDecl, BytesEnd, BytesStart, BytesText, Event};

use super::sentence;
use crate::check::{Evaluation, Finding, Outcome, Rule, Verdict};
use crate::report::text::printable;

type Result = std::io::Result<()>;

/// Returns the document, with a final newline.
pub fn verdict_junit(verdict: &Verdict) -> String {
    let mut writer = Writer::new_with_indent(Vec::new(), b' ', 2);
    document(&mut writer, verdict).expect("writing to memory succeeds");
    String::from_utf8(writer.into_inner()).expect("the writer writes UTF-8") + "\n"
}

fn document(writer: &mut Writer<Vec<u8>>, verdict: &Verdict) -> Result {
    writer.write_event(Event::Decl(BytesDecl::new("1.0", Some("UTF-8"), None)))?;
    let all: Vec<&Evaluation> = verdict.evaluations.iter().collect();
    let mut findings: HashMap<(&str, Rule), Vec<&Finding>> = HashMap::new();
    for finding in &verdict.findings {
        findings.entry((&finding.path, finding.rule)).or_default().push(finding);
    }
    writer.write_event(Event::Start(with_counts("testsuites", "fatbin check", &all)))?;
    for suite in all.chunk_by(|a, b| a.path == b.path) {
        writer.write_event(Event::Start(with_counts("testsuite", &suite[0].path, suite)))?;
        for evaluation in suite {
            let own = findings.get(&(evaluation.path.as_str(), evaluation.rule));
            case(writer, evaluation, own.map_or(&[], Vec::as_slice))?;
        }
        writer.write_event(Event::End(BytesEnd::new("testsuite")))?;
    }
    writer.write_event(Event::End(BytesEnd::new("testsuites")))
}

fn with_counts(element: &'static str, name: &str, evaluations: &[&Evaluation]) -> BytesStart<'static> {
    let count = |outcome| evaluations.iter().filter(|it| it.outcome == outcome).count().to_string();
    let mut start = BytesStart::new(element);
    start.push_attribute(("name", xml_text(name).as_str()));
    start.push_attribute(("tests", evaluations.len().to_string().as_str()));
    start.push_attribute(("failures", count(Outcome::Violated).as_str()));
    start.push_attribute(("errors", count(Outcome::Undecided).as_str()));
    start
}

fn case(writer: &mut Writer<Vec<u8>>, evaluation: &Evaluation, findings: &[&Finding]) -> Result {
    let mut start = BytesStart::new("testcase");
    start.push_attribute(("name", evaluation.rule.name()));
    start.push_attribute(("classname", xml_text(&evaluation.path).as_str()));
    let sentences: Vec<String> = findings.iter().map(|finding| xml_text(&sentence(finding))).collect();
    let element = match evaluation.outcome {
        Outcome::Passed => return writer.write_event(Event::Empty(start)),
        Outcome::Warned => "system-out",
        Outcome::Violated => "failure",
        Outcome::Undecided => "error",
    };
    writer.write_event(Event::Start(start))?;
    let mut what = BytesStart::new(element);
    if element != "system-out" {
        what.push_attribute(("message", sentences.first().map_or("", String::as_str)));
        what.push_attribute(("type", evaluation.rule.name()));
    }
    writer.write_event(Event::Start(what))?;
    writer.write_event(Event::Text(BytesText::new(&sentences.join("\n"))))?;
    writer.write_event(Event::End(BytesEnd::new(element)))?;
    writer.write_event(Event::End(BytesEnd::new("testcase")))
}

/// Replaces characters that XML 1.0 cannot represent (section 2.2, production Char).
fn xml_text(text: &str) -> String {
    printable(text).replace(['\u{fffe}', '\u{ffff}'], "\u{fffd}")
}
