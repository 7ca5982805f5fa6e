//! Schemas of all JSON documents, as JSON Schema, draft 2020-12. The policy schema uses draft 7, which editors support.
//!
//! The number in the name of a schema changes only when a field is removed or changes its meaning.

use crate::texts::text;

/// Commands that write JSON, other documents, and `policy`.
pub const SCHEMAS: &str = "scan inspect addr2line extract select select-set requires diff repaired size link verify \
    edit doctor split metadata proof check policy";

/// Returns the text of a schema.
pub fn schema(name: &str) -> &'static str {
    match name {
        // Policies are TOML, which a schema describes like JSON.
        "policy" => fatbin_ops::check::POLICY_SCHEMA,
        _ => text(&format!("schemas/fatbin.{name}-1.schema.json")),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use serde_json::Value;

    use super::*;
    use fatbin_core::format::{ContainerType, ImageKind};
    use fatbin_core::scan::inventory::NotOpened;
    use fatbin_ops::check::Rule;
    use fatbin_ops::check::lock::DifferenceCause;
    use fatbin_ops::link::doctor::ProblemKind;

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
        for name in SCHEMAS.split(' ') {
            collect_enums(&serde_json::from_str(schema(name)).unwrap(), &mut enums);
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
