//! Kinds of changes, and the comparison of values of several images.

use std::collections::BTreeMap;

use super::LockedImage;

/// Kinds of changes to images, the most significant first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    /// The target is new.
    Added,
    /// The target is gone.
    Removed,
    /// Code or resource usage of kernels.
    Code,
    /// Bytes other than code: debug information, paths, the compiler's version.
    Metadata,
    /// Compression or containers of unchanged images.
    Storage,
}

impl Change {
    /// Returns the name in JSON.
    pub fn name(self) -> &'static str {
        match self {
            Change::Added => "added",
            Change::Removed => "removed",
            Change::Code => "code",
            Change::Metadata => "metadata",
            Change::Storage => "storage",
        }
    }
}

/// Returns the number of images whose value has no counterpart on the other side, if the value of all images is known.
pub fn unmatched<'a, T: Ord>(
    old: &[&'a LockedImage],
    new: &[&'a LockedImage],
    value: impl Fn(&'a LockedImage) -> Option<T>,
) -> Option<usize> {
    let mut counts: BTreeMap<T, (usize, usize)> = BTreeMap::new();
    for image in old {
        let (count, _) = counts.entry(value(image)?).or_default();
        *count = count.saturating_add(1);
    }
    for image in new {
        let (_, count) = counts.entry(value(image)?).or_default();
        *count = count.saturating_add(1);
    }
    let removed = counts.values().map(|(old, new)| old.saturating_sub(*new)).sum::<usize>();
    Some(removed.max(counts.values().map(|(old, new)| new.saturating_sub(*old)).sum()))
}
