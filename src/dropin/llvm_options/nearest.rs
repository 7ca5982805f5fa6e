//! "Did you mean": the option with the smallest edit distance from an unknown one. Of several at the same distance,
//! LLVM suggests the first in the order of a hash map.

use strsim::generic_levenshtein;

use super::arguments::{split_value, text};
use super::{Shown, Tool, ValueType, dashed};

/// Suggestion for an argument without its dashes. A value in the argument is kept.
pub fn suggestion(tool: &Tool, argument: &[u8]) -> Option<String> {
    if argument.is_empty() {
        return None;
    }
    let (name, value) = split_value(argument);
    let value = value.unwrap_or_default();
    let nearest = tool.all_options().filter(|option| option.shown != Shown::Never).min_by_key(|option| {
        let is_whole = matches!(option.value, ValueType::Immediately(_));
        let written = if is_whole { argument } else { name };
        generic_levenshtein(&option.name.as_bytes().to_vec(), &written.to_vec())
    })?;
    Some(if value.is_empty() || matches!(nearest.value, ValueType::Immediately(_)) {
        dashed(nearest.name)
    } else {
        dashed(&format!("{}={}", nearest.name, text(value)))
    })
}
