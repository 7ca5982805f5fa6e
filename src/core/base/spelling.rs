//! Distances between names, and suggestions of existing names for an unknown one.

use std::fmt;

/// Length of the longest names that are compared. The time is the product of the lengths.
const MAX_LENGTH: usize = 1000;

/// Returns the number of insertions, deletions, substitutions and swaps of neighbors between two names; `None` if it
/// exceeds `limit`.
pub fn edit_distance(one: &str, other: &str, limit: usize) -> Option<usize> {
    let [length, other_length] = [one, other].map(|name| name.chars().count());
    if length.abs_diff(other_length) > limit || length > MAX_LENGTH {
        return None;
    }
    Some(strsim::osa_distance(one, other)).filter(|&edits| edits <= limit)
}

/// Existing names that differ from an unknown one by one or two characters. Formatted as a question; empty without
/// names.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Suggestions(pub Vec<String>);

impl fmt::Display for Suggestions {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.0.is_empty() { Ok(()) } else { write!(f, "; did you mean {}?", self.0.join(" or ")) }
    }
}

impl Suggestions {
    /// Returns up to three names at the least edit distance: at most one edit, or two for names of more than five
    /// characters. Names that differ only in case are nearest.
    pub fn new(written: &str, names: impl IntoIterator<Item = impl Into<String>>) -> Suggestions {
        let distance =
            |name: &str| if name.eq_ignore_ascii_case(written) { Some(0) } else { edit_distance(name, written, 2) };
        let all: Vec<String> = names.into_iter().map(Into::into).collect();
        let is_number = !written.is_empty() && written.bytes().all(|byte| byte.is_ascii_digit());
        if let Some(named) = if is_number { with_number(written, &all) } else { None } {
            return named;
        }
        let mut names: Vec<(usize, String)> =
            all.into_iter().filter_map(|name| Some((distance(&name)?, name))).collect();
        names.sort();
        names.dedup();
        let within = |most: usize| -> Vec<String> {
            names.iter().filter(|(distance, _)| *distance <= most).map(|(_, name)| name.clone()).take(3).collect()
        };
        let is_long = written.len() > 5;
        let nearest = [0, 1, 2].into_iter().map(within).find(|names| !names.is_empty()).unwrap_or_default();
        let is_near = names.first().is_some_and(|(distance, _)| *distance < 2 || is_long);
        Suggestions(if is_near { nearest } else { Vec::new() })
    }
}

/// Joins names. Four names or more with consecutive numbers are a range: `llvm10 to llvm24`.
pub fn enumerated(names: &[impl AsRef<str>]) -> String {
    let follows = |one: &str, next: &str| match (numbered(one), numbered(next)) {
        (Some((word, number)), Some((same, after))) => word == same && number.checked_add(1) == Some(after),
        _ => false,
    };
    let runs = names.chunk_by(|one, next| follows(one.as_ref(), next.as_ref()));
    let texts = runs.map(|run| match run {
        [first, _, _, .., last] => format!("{} to {}", first.as_ref(), last.as_ref()),
        _ => run.iter().map(AsRef::as_ref).collect::<Vec<&str>>().join(", "),
    });
    texts.collect::<Vec<String>>().join(", ")
}

/// Returns whether a name has the word of at least four names, and a number that is less or greater than each of theirs,
/// and is not the beginning of any.
pub fn is_beyond(written: &str, names: &[impl AsRef<str>]) -> bool {
    let Some((word, number)) = numbered(written) else { return false };
    let numbers = || names.iter().filter_map(|name| numbered(name.as_ref())).filter(|(own, _)| *own == word);
    let is_beginning = names.iter().any(|name| name.as_ref().starts_with(written));
    numbers().count() > 3
        && !is_beginning
        && (numbers().all(|(_, known)| known < number) || numbers().all(|(_, known)| known > number))
}

/// Splits a name into a word and the number at its end.
fn numbered(name: &str) -> Option<(&str, u64)> {
    let word = name.trim_end_matches(|digit: char| digit.is_ascii_digit());
    Some((word, name.strip_prefix(word)?.parse().ok()?))
}

/// Returns the names that consist of a word and this number: `sm_90` for 90, `llvm22` for 22.
fn with_number(number: &str, names: &[String]) -> Option<Suggestions> {
    let is_word = |start: &str| start.bytes().all(|byte| byte.is_ascii_alphabetic() || byte == b'_');
    let has_number = |name: &&String| name.strip_suffix(number).is_some_and(is_word);
    let named: Vec<String> = names.iter().filter(has_number).take(3).cloned().collect();
    if named.is_empty() { None } else { Some(Suggestions(named)) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_edits_up_to_the_limit() {
        let cases = [
            ("", "", Some(0)),
            ("gfx906", "gfx906", Some(0)),
            ("gfx906", "gfx9O6", Some(1)),
            ("gfx906", "gfx90", Some(1)),
            ("gfx906", "gxf906", Some(1)),
            ("xgfx906", "gfx906", Some(1)),
            ("gfx906", "gxf90", Some(2)),
            ("ab", "", Some(2)),
            ("键核", "核键", Some(1)),
            // A swapped pair is not edited again: this takes three edits, not two.
            ("ca", "abc", None),
            ("gfx906", "sm_90", None),
            ("", "abc", None),
        ];
        for (one, other, distance) in cases {
            assert_eq!(edit_distance(one, other, 2), distance, "{one} {other}");
            assert_eq!(edit_distance(other, one, 2), distance, "{other} {one}");
            assert_eq!(edit_distance(one, other, 1), distance.filter(|&edits| edits <= 1), "{one} {other}");
        }
    }

    #[test]
    fn suggests_the_nearest_names() {
        let names = ["sm_80", "sm_89", "sm_90", "gfx90a", "required-archs", "OpenMP"];
        let cases = [
            ("sm_9O", "; did you mean sm_90?"),
            ("sm_09", "; did you mean sm_89 or sm_90?"),
            ("GFX90A", "; did you mean gfx90a?"),
            ("require-arch", "; did you mean required-archs?"),
            ("openmp", "; did you mean OpenMP?"),
            ("90", "; did you mean sm_90?"),
            ("9", ""),
            ("sm", ""),
            ("nothing", ""),
        ];
        for (written, suggestions) in cases {
            assert_eq!(Suggestions::new(written, names).to_string(), suggestions, "{written}");
        }
    }

    #[test]
    fn consecutive_names_are_a_range() {
        let cases = [
            (&["auto", "llvm10", "llvm11", "llvm12", "llvm13", "main"][..], "auto, llvm10 to llvm13, main"),
            (&["v1", "v2", "v3"], "v1, v2, v3"),
            (&["a1", "a2", "a4", "a5"], "a1, a2, a4, a5"),
            (&[], ""),
        ];
        for (names, text) in cases {
            assert_eq!(enumerated(names), text);
        }
        let names = ["llvm10", "llvm11", "llvm12", "llvm13", "main"];
        let beyond = ["llvm9", "llvm99", "llvm1", "llvm12", "llvm1x", "gcc9"].map(|written| is_beyond(written, &names));
        assert_eq!(beyond, [true, true, false, false, false, false]);
    }

    #[test]
    fn long_names_are_not_compared() {
        for (length, distance) in [(MAX_LENGTH, Some(1)), (1 << 20, None)] {
            let name = "a".repeat(length);
            assert_eq!(edit_distance(&name, &(name.clone() + "b"), 2), distance);
            assert_eq!(edit_distance(&name, &(name.clone() + "bbb"), 2), None);
        }
    }
}
