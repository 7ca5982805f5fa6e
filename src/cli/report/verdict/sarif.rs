//! A verdict as SARIF 2.1.0, for code scanning.
//!
//! Results are about binary files, so their location is the first line, as GitHub requires; the offset is a property. An
//! undecided rule is an error too, because code scanning does not show SARIF's kind "open".

use serde_json::{Value, json};

use super::fingerprint::fingerprint;
use super::sentence;
use crate::codes::rule_help;
use crate::report::json::{displayed, displayed_element};
use fatbin_core::base::json::JsonWriter;
use fatbin_ops::check::{Finding, Outcome, Rule, Verdict};

const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";

/// Writes the document.
pub fn verdict_sarif(verdict: &Verdict, write: &mut dyn FnMut(&str)) {
    let rules: Vec<Value> = Rule::ALL.iter().copied().map(rule).collect();
    let driver = json!({
        "name": "fatbin",
        "semanticVersion": env!("CARGO_PKG_VERSION"),
        "rules": rules,
    });
    let mut json = JsonWriter::plain(b'{', b'}');
    json.field("$schema", SCHEMA);
    json.objects("runs", [()], |json, ()| {
        json.field("columnKind", "unicodeCodePoints");
        json.begin_array("results");
        for finding in &verdict.findings {
            json.element(&displayed_element(result(finding), 4));
            write(&json.take());
        }
        json.end();
        json.field("tool", displayed(json!({ "driver": driver })));
    });
    json.field("version", "2.1.0");
    json.end();
    write(&json.take());
}

fn rule(rule: Rule) -> Value {
    let help = rule_help(rule);
    json!({
        "id": rule.name(),
        "shortDescription": { "text": rule.description() },
        "fullDescription": { "text": rule.description() },
        "help": { "text": help, "markdown": help },
        "defaultConfiguration": { "level": "error" },
    })
}

fn result(finding: &Finding) -> Value {
    let text = sentence(finding);
    let level = if finding.outcome == Outcome::Warned { "warning" } else { "error" };
    let mut properties = json!({ "outcome": finding.outcome.name() });
    if let Some(image) = &finding.image {
        properties["image"] = json!({ "index": image.number });
        if let Some(offset) = image.offset {
            properties["image"]["offset"] = json!(offset);
        }
        if let Some(arch) = &image.arch {
            properties["image"]["arch"] = json!(arch);
        }
    }
    let mut location = json!({
        "physicalLocation": {
            "artifactLocation": { "uri": uri(&finding.path) },
            "region": { "startLine": 1 },
        },
    });
    if let Some(kernel) = &finding.kernel {
        location["logicalLocations"] = json!([{ "name": kernel, "kind": "function" }]);
    }
    json!({
        "ruleId": finding.rule.name(),
        "ruleIndex": finding.rule as usize,
        "level": level,
        "message": { "text": format!("{}: {text}", finding.rule.name()) },
        "locations": [location],
        "partialFingerprints": { "finding/v1": fingerprint(finding) },
        "properties": properties,
    })
}

/// Formats a path as a relative reference (RFC 3986), with characters percent-encoded that a path segment cannot contain.
fn uri(path: &str) -> String {
    let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/_.~-!+=,@".contains(&byte);
    let encode = |byte: u8| if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    path.replace('\\', "/").bytes().map(encode).collect()
}
