//! Schemas of all JSON documents, as JSON Schema, draft 2020-12. The policy schema uses draft 7, which editors support.
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

/// A schema for each command that writes JSON, and the policy schema.
pub const SCHEMAS: [Schema; 19] = [
    Schema { command: "scan", text: include_str!("schemas/fatbin.scan-1.schema.json") },
    Schema { command: "inspect", text: include_str!("schemas/fatbin.inspect-1.schema.json") },
    Schema { command: "addr2line", text: include_str!("schemas/fatbin.addr2line-1.schema.json") },
    Schema { command: "extract", text: include_str!("schemas/fatbin.extract-1.schema.json") },
    Schema { command: "select", text: include_str!("schemas/fatbin.select-1.schema.json") },
    Schema { command: "select-set", text: include_str!("schemas/fatbin.select-set-1.schema.json") },
    Schema { command: "requires", text: include_str!("schemas/fatbin.requires-1.schema.json") },
    Schema { command: "diff", text: include_str!("schemas/fatbin.diff-1.schema.json") },
    Schema { command: "repaired", text: include_str!("schemas/fatbin.repaired-1.schema.json") },
    Schema { command: "size", text: include_str!("schemas/fatbin.size-1.schema.json") },
    Schema { command: "link", text: include_str!("schemas/fatbin.link-1.schema.json") },
    Schema { command: "verify", text: include_str!("schemas/fatbin.verify-1.schema.json") },
    Schema { command: "edit", text: include_str!("schemas/fatbin.edit-1.schema.json") },
    Schema { command: "doctor", text: include_str!("schemas/fatbin.doctor-1.schema.json") },
    Schema { command: "split", text: include_str!("schemas/fatbin.split-1.schema.json") },
    Schema { command: "metadata", text: include_str!("schemas/fatbin.metadata-1.schema.json") },
    Schema { command: "proof", text: include_str!("schemas/fatbin.proof-1.schema.json") },
    Schema { command: "check", text: include_str!("schemas/fatbin.check-1.schema.json") },
    // Policies are TOML, which a schema describes like JSON.
    Schema { command: "policy", text: include_str!("../../check/policy-1.schema.json") },
];

/// Returns the schema of policies.
pub fn policy_schema() -> &'static str {
    SCHEMAS.iter().find(|schema| schema.command == "policy").map_or("", |schema| schema.text)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use crate::check::Rule;
    use crate::check::lock::DifferenceCause;
    use crate::format::{ContainerType, ImageKind};
    use crate::link::doctor::ProblemKind;
    use crate::scan::inventory::NotOpened;

    /// Adds all lists of permitted values in a schema.
    fn collect_enums(schema: &Value, enums: &mut Vec<BTreeSet<String>>) {
        match schema {
            Value::Object(members) => {
                for (name, member) in members {
                    if let ("enum", Value::Array(values)) = (name.as_str(), member) {
                        enums.push(values.iter().filter_map(Value::as_str).map(str::to_owned).collect());
                    }
                    collect_enums(member, enums);
                }
            }
            Value::Array(items) => {
                for item in items {
                    collect_enums(item, enums);
                }
            }
            _ => {}
        }
    }

    /// Checks that each list in the schemas that contains all of `typical` has exactly the names in `expected`.
    fn check_enums(typical: [&str; 2], expected: &[&str], count: usize) {
        let mut enums = Vec::new();
        for schema in SCHEMAS {
            collect_enums(&serde_json::from_str(schema.text).unwrap(), &mut enums);
        }
        enums.retain(|names| typical.iter().all(|name| names.contains(*name)));
        assert_eq!(enums.len(), count, "{typical:?}");
        let expected: BTreeSet<String> = expected.iter().map(|&name| name.to_owned()).collect();
        for names in enums {
            assert_eq!(names, expected);
        }
    }

    #[test]
    fn list_every_container_type() {
        check_enums(["cuda-fatbin", "sycl-image"], &ContainerType::ALL.map(ContainerType::name), 2);
    }

    #[test]
    fn list_every_reason_for_not_opening_a_file() {
        check_enums(
            ["7z", "nested-too-deep"],
            &NotOpened::ALL.iter().map(|reason| reason.name()).collect::<Vec<_>>(),
            1,
        );
    }

    #[test]
    fn list_every_image_kind() {
        check_enums(["nvvm", "unknown"], &ImageKind::ALL.map(ImageKind::name), 4);
    }

    #[test]
    fn list_every_kind_of_problem() {
        check_enums(["relocation-overflow", "unregistered"], &ProblemKind::ALL.map(ProblemKind::name), 1);
    }

    #[test]
    fn list_every_cause_of_a_difference() {
        check_enums(["build-ids", "order"], &DifferenceCause::ALL.map(DifferenceCause::name), 1);
    }

    #[test]
    fn list_every_rule() {
        let names: Vec<&str> = Rule::ALL.iter().map(|rule| rule.name()).collect();
        check_enums(["readable", "duplicate-images"], &names, 1);
    }
}
