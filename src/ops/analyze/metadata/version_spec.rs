//! Conditions on compute capabilities in the syntax of conda's `MatchSpec`.

use std::fmt;
use std::ops::Range;

use super::device_code::{DeviceCode, MAX_NUMBER};
use fatbin_core::target::nvptx::Capability;

/// A condition on a compute capability, in conda's syntax: alternatives of conditions that must all hold.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct VersionSpec {
    alternatives: Vec<Vec<Condition>>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Condition {
    relation: Relation,
    /// Compute capability times ten.
    number: u32,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    AtLeast,
    Above,
    Below,
    AtMost,
    Equal,
    NotEqual,
    /// The same major version.
    Major,
}

/// Spellings of relations. Longer ones precede their beginnings.
const RELATIONS: [(&str, Relation); 7] = [
    (">=", Relation::AtLeast),
    ("<=", Relation::AtMost),
    ("==", Relation::Equal),
    ("!=", Relation::NotEqual),
    (">", Relation::Above),
    ("<", Relation::Below),
    ("=", Relation::Equal),
];

impl Condition {
    fn parse(text: &str) -> Option<Condition> {
        let (relation, version) = RELATIONS
            .iter()
            .find_map(|(sign, relation)| Some((*relation, text.strip_prefix(sign)?)))
            .unwrap_or((Relation::Equal, text));
        let (major, minor) = version.trim().split_once('.').unwrap_or((version.trim(), ""));
        let is_fuzzy = minor == "*" || minor.is_empty() && text.starts_with('=') && !text.starts_with("==");
        let minor = if minor.is_empty() || minor == "*" { 0 } else { parse_digits(minor).filter(|it| *it < 10)? };
        let number = parse_digits(major)?.checked_mul(10)?.checked_add(minor)?;
        match (is_fuzzy, relation) {
            (false, _) => Some(Condition { relation, number }),
            (true, Relation::Equal) => Some(Condition { relation: Relation::Major, number }),
            (true, _) => None,
        }
    }

    fn accepts(self, number: u32) -> bool {
        match self.relation {
            Relation::AtLeast => number >= self.number,
            Relation::Above => number > self.number,
            Relation::Below => number < self.number,
            Relation::AtMost => number <= self.number,
            Relation::Equal => number == self.number,
            Relation::NotEqual => number != self.number,
            Relation::Major => number / 10 == self.number / 10,
        }
    }
}

fn parse_digits(text: &str) -> Option<u32> {
    if text.bytes().all(|byte| byte.is_ascii_digit()) { text.parse().ok() } else { None }
}

impl VersionSpec {
    /// Parses a condition. Returns `None` for syntax that is useless for compute capabilities.
    pub fn parse(text: &str) -> Option<VersionSpec> {
        let all = |text: &str| text.split(',').map(|text| Condition::parse(text.trim())).collect::<Option<Vec<_>>>();
        Some(VersionSpec { alternatives: text.split('|').map(all).collect::<Option<_>>()? })
    }

    /// Returns the condition that holds for exactly the NVIDIA devices that the code runs on.
    pub fn of(code: &DeviceCode) -> VersionSpec {
        let mut alternatives: Vec<Vec<Condition>> = Vec::new();
        let mut previous: Option<Range<u32>> = None;
        for range in ranges(code) {
            let gap = previous.as_ref().map(|it| it.end).filter(|end| end.checked_add(1) == Some(range.start));
            match (gap, alternatives.last_mut()) {
                // Embedded parts are single gaps.
                (Some(number), Some(last)) => {
                    last.retain(|condition| condition.relation != Relation::Below);
                    for condition in last.iter_mut().filter(|condition| condition.relation == Relation::Equal) {
                        condition.relation = Relation::AtLeast;
                    }
                    last.push(Condition { relation: Relation::NotEqual, number });
                    last.extend(upper_limit(&range));
                }
                _ => alternatives.push(conditions(&range)),
            }
            previous = Some(range);
        }
        VersionSpec { alternatives }
    }

    /// Returns whether a compute capability, times ten, meets the condition.
    pub fn accepts(&self, number: u32) -> bool {
        self.alternatives.iter().any(|all| all.iter().all(|condition| condition.accepts(number)))
    }
}

/// Returns the ranges of compute capabilities that the code runs on, in order. The last range ends at [`u32::MAX`] if
/// the code runs on all later devices.
fn ranges(code: &DeviceCode) -> Vec<Range<u32>> {
    let mut ranges: Vec<Range<u32>> = Vec::new();
    for (number, after) in (0..=MAX_NUMBER).zip(1..) {
        if !code.has_cubin_for(number) && !code.has_ptx_for(number) {
            continue;
        }
        match ranges.last_mut().filter(|range| range.end == number) {
            Some(range) => range.end = after,
            None => ranges.push(number..after),
        }
    }
    if let Some(last) = ranges.last_mut()
        && code.is_forward_compatible()
    {
        last.end = u32::MAX;
    }
    ranges
}

fn conditions(range: &Range<u32>) -> Vec<Condition> {
    let start = Condition { relation: Relation::AtLeast, number: range.start };
    if range.start.checked_add(1) == Some(range.end) {
        return vec![Condition { relation: Relation::Equal, ..start }];
    }
    std::iter::once(start).chain(upper_limit(range)).collect()
}

fn upper_limit(range: &Range<u32>) -> Option<Condition> {
    (range.end != u32::MAX).then_some(Condition { relation: Relation::Below, number: range.end })
}

impl fmt::Display for VersionSpec {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (index, all) in self.alternatives.iter().enumerate() {
            for (index_in_all, condition) in all.iter().enumerate() {
                let separator = match (index, index_in_all) {
                    (0, 0) => "",
                    (_, 0) => "|",
                    _ => ",",
                };
                write!(f, "{separator}{condition}")?;
            }
        }
        Ok(())
    }
}

impl fmt::Display for Condition {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.relation == Relation::Major {
            return write!(f, "={}", self.number / 10);
        }
        let sign = RELATIONS.iter().find(|(_, relation)| *relation == self.relation).map_or("", |(sign, _)| sign);
        write!(f, "{sign}{}", Capability(self.number))
    }
}

#[cfg(test)]
mod tests {
    use super::super::device_code::tests::code;
    use super::*;

    #[test]
    fn ranges_are_those_of_the_devices_that_run_the_code() {
        let cases = [
            ("sm_90", ">=9.0,<10.0"),
            ("sm_75 sm_90", ">=7.5,<8.0|>=9.0,<10.0"),
            ("sm_90 sm_100", ">=9.0,!=10.1,<11.0"),
            ("sm_80", ">=8.0,!=8.7,<9.0"),
            ("sm_86", ">=8.6,!=8.7,<9.0"),
            ("sm_80 sm_87 sm_90", ">=8.0,<10.0"),
            ("sm_80 compute_80", ">=8.0"),
            ("sm_75 compute_90", ">=7.5,<8.0|>=9.0"),
            ("sm_90a", "==9.0"),
            ("sm_100f", "==10.0|==10.3|==10.7"),
            ("sm_101", "==10.1|==11.0"),
            ("sm_101a", "==10.1|==11.0"),
            ("sm_103f", "==10.3|==10.7"),
            ("sm_110", "==11.0"),
            ("compute_90a", "==9.0"),
        ];
        for (names, expected) in cases {
            let code = code(names);
            let spec = VersionSpec::of(&code);
            assert_eq!(spec.to_string(), expected, "{names}");
            let parsed = VersionSpec::parse(expected).unwrap();
            for number in 50..150 {
                let runs = code.has_cubin_for(number) || code.has_ptx_for(number);
                assert_eq!(parsed.accepts(number), runs, "{names}: {number}");
            }
        }
    }

    #[test]
    fn reads_the_syntax_of_conda() {
        let cases = [
            (">=8", 80, true),
            ("8.*", 89, true),
            ("=8", 89, true),
            ("=8.6", 89, false),
            ("8", 80, true),
            ("==9.0", 90, true),
            ("<9|>10.0", 100, false),
            (" >=8.0 , !=8.7 ", 87, false),
        ];
        for (text, number, expected) in cases {
            assert_eq!(VersionSpec::parse(text).unwrap().accepts(number), expected, "{text}");
        }
        for text in ["", "~=8.0", ">=8.*", "8.0.1", "sm_80", ">=", "8.10", "8.6*", "99999999999"] {
            assert_eq!(VersionSpec::parse(text), None, "{text}");
        }
    }
}
