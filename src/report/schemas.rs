//! The schemas of all JSON that is printed or written, in the language of JSON Schema, draft 2020-12.
//!
//! A number in a schema's name changes when something in it is taken away or comes to mean something else, and for nothing
//! less.

/// A document's schema.
pub struct Schema {
    /// The command that makes such documents, or what they are.
    pub command: &'static str,
    pub text: &'static str,
}

/// One for each command that makes JSON.
pub const SCHEMAS: [Schema; 7] = [
    Schema { command: "scan", text: include_str!("schemas/fatbin.scan-1.schema.json") },
    Schema { command: "inspect", text: include_str!("schemas/fatbin.inspect-1.schema.json") },
    Schema { command: "extract", text: include_str!("schemas/fatbin.extract-1.schema.json") },
    Schema { command: "select", text: include_str!("schemas/fatbin.select-1.schema.json") },
    Schema { command: "diff", text: include_str!("schemas/fatbin.diff-1.schema.json") },
    Schema { command: "check", text: include_str!("schemas/fatbin.check-1.schema.json") },
    // What check reads: the policy, which is TOML, and to a schema the same as JSON.
    Schema { command: "policy", text: include_str!("../check/policy-1.schema.json") },
];
