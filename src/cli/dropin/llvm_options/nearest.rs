//! "Did you mean": the option with the smallest edit distance from an unknown one.

use super::arguments::text;
use super::{Shown, Tool, ValueType, dashed};

/// Order of LLVM 22's options in their hash map. Of several names at the same distance, the first is suggested; of
/// several missing options, the first is reported first. Source: the tools' suggestions for thousands of names at the
/// same distance from two of their options. The order of two names is arbitrary if no tool has both.
const ORDER: [&str; 29] = [
    "help",
    "archive",
    "list",
    "triple",
    "check-input-archive",
    "help-hidden",
    "output",
    "unbundle",
    "version",
    "help-list",
    "###",
    "compression-level",
    "o",
    "allow-missing-bundles",
    "image",
    "kind",
    "type",
    "help-list-hidden",
    "inputs",
    "verbose",
    "targets",
    "target",
    "print-options",
    "input",
    "outputs",
    "bundle-align",
    "hip-openmp-compatible",
    "compress",
    "print-all-options",
];

/// Position of an option in [`ORDER`]; unknown names come last.
pub fn place(name: &str) -> usize {
    ORDER.iter().position(|known| *known == name).unwrap_or(ORDER.len())
}

/// Suggestion for an argument without its dashes. A value in the argument is kept.
pub fn suggestion(tool: &Tool, argument: &[u8]) -> Option<String> {
    if argument.is_empty() {
        return None;
    }
    let mut options: Vec<_> = tool.all_options().filter(|option| option.shown != Shown::Never).collect();
    options.sort_by_key(|option| place(option.name));
    let (name, value) = match argument.iter().position(|&byte| byte == b'=') {
        Some(at) => (&argument[..at], &argument[at + 1..]),
        None => (argument, [].as_slice()),
    };
    let nearest = options.into_iter().min_by_key(|option| {
        let whole = matches!(option.value, ValueType::Immediately(_));
        distance(option.name.as_bytes(), if whole { argument } else { name })
    })?;
    Some(if value.is_empty() || matches!(nearest.value, ValueType::Immediately(_)) {
        dashed(nearest.name)
    } else {
        dashed(&format!("{}={}", nearest.name, text(value)))
    })
}

/// Levenshtein distance of two names.
fn distance(one: &[u8], other: &[u8]) -> usize {
    let mut row: Vec<usize> = (0..=other.len()).collect();
    for (above, byte) in one.iter().enumerate() {
        let mut diagonal = row[0];
        row[0] = above + 1;
        for (at, to) in other.iter().enumerate() {
            let substituted = diagonal + usize::from(byte != to);
            diagonal = row[at + 1];
            row[at + 1] = substituted.min(row[at] + 1).min(diagonal + 1);
        }
    }
    row[other.len()]
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_distance_counts_insertions_deletions_and_substitutions() {
        for (one, other, edits) in [("", "", 0), ("", "abc", 3), ("kitten", "sitting", 3), ("image", "imag", 1)] {
            assert_eq!(distance(one.as_bytes(), other.as_bytes()), edits, "{one} {other}");
            assert_eq!(distance(other.as_bytes(), one.as_bytes()), edits, "{other} {one}");
        }
    }

    #[test]
    fn every_name_occurs_once() {
        let mut names = ORDER.to_vec();
        names.sort_unstable();
        names.dedup();
        assert_eq!(names.len(), ORDER.len());
    }
}
