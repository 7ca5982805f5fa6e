//! A verdict as JSON, in the schema `fatbin.check/1`. Fields are never removed from a schema.

use std::collections::BTreeMap;

use super::verdict::{Finding, Outcome, Verdict};
use fatbin_core::base::json::JsonWriter;

const SCHEMA: &str = "fatbin.check/1";

impl Verdict {
    /// Returns the verdict as a JSON document in the schema `fatbin.check/1`, with a final newline. Characters that a
    /// terminal would obey, or not display, are escaped in JSON's own syntax.
    pub fn to_json(&self) -> String {
        let mut text = String::new();
        self.write_json(&mut |part| text += part);
        text
    }

    /// Writes the document in parts. It names every file of a package several times.
    #[doc(hidden)]
    pub fn write_json(&self, write: &mut dyn FnMut(&str)) {
        let mut json = JsonWriter::new(SCHEMA);
        json.field("outcome", self.outcome().name());
        let counts = Outcome::ALL.iter().map(|&outcome| (outcome.name(), self.count(outcome)));
        json.field("counts", counts.collect::<BTreeMap<_, _>>());
        json.objects("findings", &self.findings, |json, it| {
            finding(json, it);
            write(&json.take());
        });
        json.objects("judged", &self.evaluations, |json, evaluation| {
            json.field("path", &evaluation.path);
            json.field("rule", evaluation.rule.name());
            json.field("outcome", evaluation.outcome.name());
            write(&json.take());
        });
        json.optional("not_judged", Some(&self.not_judged).filter(|names| !names.is_empty()));
        json.end();
        write(&json.take());
    }
}

fn finding(json: &mut JsonWriter, finding: &Finding) {
    json.field("rule", finding.rule.name());
    json.field("outcome", finding.outcome.name());
    json.field("path", &finding.path);
    if let Some(image) = &finding.image {
        json.object("image", |json| {
            json.field("index", image.number);
            json.optional("offset", image.offset);
            json.optional("arch", image.arch.as_ref());
        });
    }
    json.optional("kernel", finding.kernel.as_ref());
    json.field("message", &finding.message);
    json.optional("there", finding.detail.as_ref());
}
