//! Values of a policy that have the wrong type: the key, and an example of its value from the schema.

use std::fmt;

use serde_json::Value;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Schema of policies.
const SCHEMA: &str = include_str!("../policy-1.schema.json");

/// A value with another type than its key requires.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WrongType {
    /// The key, with the tables around it.
    pub key: String,
    /// Type of the value.
    pub found: &'static str,
    /// The key with a valid value.
    pub example: String,
}

impl fmt::Display for WrongType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: invalid type {}; for example: {}", self.key, self.found, self.example)
    }
}

impl WrongType {
    /// Describes the value at an offset of the text; `None` if the text is not TOML, or the key is not known.
    pub fn at(text: &str, offset: usize) -> Option<WrongType> {
        let table = DeTable::parse(text).ok()?;
        let mut keys = Vec::new();
        let found = find_in_table(table.get_ref(), offset, &mut keys)?;
        let schema: Value = serde_json::from_str(SCHEMA).ok()?;
        let example = example(&schema, &keys)?;
        Some(WrongType { key: keys.join("."), found, example })
    }
}

/// Returns the type of the innermost value at an offset, and appends its keys.
fn find_in_table(table: &DeTable<'_>, offset: usize, keys: &mut Vec<String>) -> Option<&'static str> {
    for (key, value) in table {
        keys.push(key.get_ref().to_string());
        if let Some(found) = find(value, offset, keys) {
            return Some(found);
        }
        keys.pop();
    }
    None
}

fn find(value: &Spanned<DeValue<'_>>, offset: usize, keys: &mut Vec<String>) -> Option<&'static str> {
    let inner = match value.get_ref() {
        DeValue::Table(table) => find_in_table(table, offset, keys),
        DeValue::Array(items) => items.iter().find_map(|item| find(item, offset, keys)),
        _ => None,
    };
    if inner.is_some() {
        return inner;
    }
    let is_here = value.span().contains(&offset);
    is_here.then(|| value.get_ref().type_str())
}

/// Returns a line with an example of a key's value.
fn example(schema: &Value, keys: &[String]) -> Option<String> {
    let mut part = schema;
    let mut written = Vec::new();
    for key in keys {
        // The tables of an array have no place in a line: the example is the whole array.
        if part["type"] == "array" {
            break;
        }
        part = resolve(schema, part["properties"].get(key).unwrap_or(&part["additionalProperties"]));
        written.push(quoted(key));
    }
    Some(format!("{} = {}", written.join("."), example_value(schema, part)?))
}

fn resolve<'a>(schema: &'a Value, part: &'a Value) -> &'a Value {
    let target = part["$ref"].as_str().and_then(|target| schema.pointer(target.trim_start_matches('#')));
    target.unwrap_or(part)
}

fn example_value(schema: &Value, part: &Value) -> Option<String> {
    let part = resolve(schema, part);
    if let Some(example) = part["examples"].get(0).or_else(|| part["enum"].get(0)) {
        return Some(inline(example));
    }
    let is_list = |value: &Value| resolve(schema, value)["examples"][0].is_array();
    let properties = part["properties"].as_object();
    // The keys with lists are those that policies begin with.
    let property =
        properties.and_then(|all| all.iter().find(|(_, value)| is_list(value)).or_else(|| all.iter().next()));
    if let Some((key, value)) = property {
        return Some(format!("{{ {} = {} }}", quoted(key), example_value(schema, value)?));
    }
    let alternatives = ["allOf", "anyOf"].into_iter().filter_map(|name| part[name].as_array()).flatten();
    let nested = alternatives.chain(part.get("items")).find_map(|part| example_value(schema, part))?;
    Some(if part["type"] == "array" { format!("[{nested}]") } else { nested })
}

/// Formats a value as TOML in one line.
fn inline(value: &Value) -> String {
    match value {
        Value::Object(members) => {
            let members = members.iter().map(|(key, value)| format!("{} = {}", quoted(key), inline(value)));
            format!("{{ {} }}", members.collect::<Vec<_>>().join(", "))
        }
        Value::Array(items) => format!("[{}]", items.iter().map(inline).collect::<Vec<_>>().join(", ")),
        _ => value.to_string(),
    }
}

fn quoted(key: &str) -> String {
    let is_bare = !key.is_empty() && key.chars().all(|letter| letter.is_ascii_alphanumeric() || "-_".contains(letter));
    if is_bare { key.to_owned() } else { format!("{key:?}") }
}

#[cfg(test)]
mod tests {
    use crate::check::Policy;

    #[test]
    fn a_wrong_type_is_answered_with_the_key_and_an_example() {
        let cases = [
            (
                "archs = 3",
                "p:1:9: archs: invalid type integer; for example: archs = { devices = [\"gfx90a\", \"gfx942\", \"sm_90\"] }",
            ),
            (
                "\n[archs]\nrequire = \"sm_90\"",
                "p:3:11: archs.require: invalid type string; for example: archs.require = [\"gfx90a:xnack+\", \"sm_90a\"]",
            ),
            (
                "archs.require = [90]",
                "p:1:18: archs.require: invalid type integer; for example: archs.require = [\"gfx90a:xnack+\", \"sm_90a\"]",
            ),
            ("sizes.total = 850", "p:1:15: sizes.total: invalid type integer; for example: sizes.total = \"850 MB\""),
            (
                "images.intact = \"yes\"",
                "p:1:17: images.intact: invalid type string; for example: images.intact = true",
            ),
        ];
        for (text, message) in cases {
            assert_eq!(Policy::parse("p", text).unwrap_err().to_string(), message, "{text}");
        }
        for text in
            ["kernels = 3", "kernels = [3]", "[[kernels]]\nmatch = 3", "files = 3", "[files.x]\narchs = 3", "skip = 3"]
        {
            let error = Policy::parse("p", text).unwrap_err().to_string();
            let (_, example) = error.split_once("; for example: ").unwrap_or_else(|| panic!("{text}: {error}"));
            // `files.x` is not the example's pattern.
            assert!(Policy::parse("p", example).is_ok(), "{text}: {error}");
        }
    }
}
