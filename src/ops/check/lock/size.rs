//! Arithmetic on sizes that may be unknown.

use fatbin_core::base::bytes::total;

/// Returns the growth from `old` to `new`, in bytes; negative if it shrank.
pub fn growth(old: u64, new: u64) -> i64 {
    let difference = i128::from(new).saturating_sub(old.into());
    difference.clamp(i64::MIN.into(), i64::MAX.into()) as i64
}

/// Returns whether two known sizes differ.
pub fn differ(old: Option<u64>, new: Option<u64>) -> bool {
    old.zip(new).is_some_and(|(old, new)| old != new)
}

/// Returns the sum, if every part is known.
pub fn sum(parts: impl Iterator<Item = Option<u64>>) -> Option<u64> {
    parts.into_iter().try_fold(0, |sum, part| Some(total([sum, part?])))
}
