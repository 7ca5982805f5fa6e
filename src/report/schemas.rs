//! Schemas of all JSON documents, as JSON Schema, draft 2020-12.
//!
//! The number in the name of a schema changes only when a field is removed or changes its meaning.

/// Schema of a document.
#[derive(Debug, Clone, Copy)]
pub struct Schema {
    /// Command that writes such documents, or name of the document.
    pub command: &'static str,
    /// Text of the schema.
    pub text: &'static str,
}

/// Schemas, one for each command that writes JSON, and that of policies.
pub const SCHEMAS: [Schema; 7] = [
    Schema { command: "scan", text: include_str!("schemas/fatbin.scan-1.schema.json") },
    Schema { command: "inspect", text: include_str!("schemas/fatbin.inspect-1.schema.json") },
    Schema { command: "extract", text: include_str!("schemas/fatbin.extract-1.schema.json") },
    Schema { command: "select", text: include_str!("schemas/fatbin.select-1.schema.json") },
    Schema { command: "diff", text: include_str!("schemas/fatbin.diff-1.schema.json") },
    Schema { command: "check", text: include_str!("schemas/fatbin.check-1.schema.json") },
    // Policies are TOML, which a schema describes like JSON.
    Schema { command: "policy", text: include_str!("../check/policy-1.schema.json") },
];
