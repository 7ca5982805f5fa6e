//! Distances between names, for suggestions.

/// Returns the number of insertions, deletions, substitutions and swaps of neighbors by which two texts differ; `None` if it
/// exceeds `limit`. The time is linear in the texts, and exponential in the limit.
pub fn edit_distance(one: &str, other: &str, limit: usize) -> Option<usize> {
    let [one, other] = [one, other].map(|text| text.chars().collect::<Vec<char>>());
    (0..=limit).find(|&edits| differ_by(&one, &other, edits))
}

/// Returns whether at most `edits` edits turn one text into the other. Equal characters at the start are not edited in any
/// shortest list of edits.
fn differ_by(one: &[char], other: &[char], edits: usize) -> bool {
    let equal = one.iter().zip(other).take_while(|(a, b)| a == b).count();
    match (&one[equal..], &other[equal..]) {
        ([], rest) | (rest, []) => rest.len() <= edits,
        _ if edits == 0 => false,
        (one @ [a, after_a @ ..], other @ [b, after_b @ ..]) => {
            let swapped = match (after_a, after_b) {
                ([next_a, after_a @ ..], [next_b, after_b @ ..]) if (a, next_a) == (next_b, b) => {
                    differ_by(after_a, after_b, edits - 1)
                }
                _ => false,
            };
            swapped
                || differ_by(after_a, after_b, edits - 1)
                || differ_by(after_a, other, edits - 1)
                || differ_by(one, after_b, edits - 1)
        }
    }
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
            // A swapped pair is not edited again: not two, but three edits.
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
    fn long_names_take_linear_time() {
        let name = "a".repeat(1 << 20);
        assert_eq!(edit_distance(&name, &(name.clone() + "b"), 2), Some(1));
        assert_eq!(edit_distance(&name, &(name.clone() + "bbb"), 2), None);
    }
}
