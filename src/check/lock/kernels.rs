//! Differences between the kernels of a file for one target.

use std::borrow::Cow;
use std::collections::BTreeMap;

use super::size::growth;
use super::{LockedImage, LockedKernel};
use crate::image::stable_name;

/// A kernel that differs; one of several if kernels share a name.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KernelDifference<'a> {
    /// In the new lock only.
    Added(&'a LockedKernel),
    /// In the old lock only.
    Removed(&'a LockedKernel),
    /// In both: the old and the new kernel.
    Changed(&'a LockedKernel, &'a LockedKernel),
}

impl<'a> KernelDifference<'a> {
    /// Returns the old kernel, unless it was added.
    pub fn before(&self) -> Option<&'a LockedKernel> {
        match *self {
            KernelDifference::Added(_) => None,
            KernelDifference::Removed(old) | KernelDifference::Changed(old, _) => Some(old),
        }
    }

    /// Returns the new kernel, unless it was removed.
    pub fn after(&self) -> Option<&'a LockedKernel> {
        match *self {
            KernelDifference::Removed(_) => None,
            KernelDifference::Added(new) | KernelDifference::Changed(_, new) => Some(new),
        }
    }

    /// Returns the new kernel, or the old one if it was removed.
    pub fn kernel(&self) -> &'a LockedKernel {
        match *self {
            KernelDifference::Added(kernel)
            | KernelDifference::Removed(kernel)
            | KernelDifference::Changed(_, kernel) => kernel,
        }
    }

    /// Returns the growth of its code, in bytes.
    pub fn growth(&self) -> i64 {
        let size = |kernel: Option<&LockedKernel>| kernel.and_then(LockedKernel::code_size).unwrap_or(0);
        growth(size(self.before()), size(self.after()))
    }
}

/// Returns the kernels that differ between images for one target, the largest difference first. Generated parts of
/// names are not compared. Hashes of their code are if the code of the images differs: they include the names of
/// symbols, and the hash of an image's code does not.
pub fn differences<'a>(
    old: &[&'a LockedImage],
    new: &[&'a LockedImage],
    code_differs: bool,
) -> Vec<KernelDifference<'a>> {
    let mut names: BTreeMap<Cow<'_, str>, (Vec<&LockedKernel>, Vec<&LockedKernel>)> = BTreeMap::new();
    for kernel in old.iter().flat_map(|image| &image.kernels) {
        names.entry(stable_name(kernel.name.as_str())).or_default().0.push(kernel);
    }
    for kernel in new.iter().flat_map(|image| &image.kernels) {
        names.entry(stable_name(kernel.name.as_str())).or_default().1.push(kernel);
    }
    let mut found: Vec<_> = names.into_values().flat_map(|(old, new)| pair_kernels(old, new, code_differs)).collect();
    found.sort_by_key(|it| (std::cmp::Reverse(it.growth().unsigned_abs()), &it.kernel().name));
    found
}

/// Pairs kernels of one name. Equal kernels cancel out, and the others are paired in the order of their figures. Hashes
/// are not compared if one lock has none.
fn pair_kernels<'a>(
    mut old: Vec<&'a LockedKernel>,
    mut new: Vec<&'a LockedKernel>,
    code_differs: bool,
) -> Vec<KernelDifference<'a>> {
    let has_codes = old.iter().chain(&new).all(|kernel| kernel.code.is_some());
    let compares_code = code_differs && has_codes;
    let figures = |kernel: &&LockedKernel| (kernel.usage.clone(), if compares_code { kernel.code } else { None });
    old.sort_by_key(figures);
    new.sort_by_key(figures);
    let mut removed = Vec::new();
    let mut added = Vec::new();
    let mut old = old.into_iter().peekable();
    let mut new = new.into_iter().peekable();
    loop {
        match (old.peek().map(figures), new.peek().map(figures)) {
            (Some(left), Some(right)) if left == right => drop((old.next(), new.next())),
            (Some(left), Some(right)) if left > right => added.extend(new.next()),
            (Some(_), _) => removed.extend(old.next()),
            (None, Some(_)) => added.extend(new.next()),
            (None, None) => break,
        }
    }
    let paired = removed.len().min(added.len());
    let only_removed = removed.split_off(paired).into_iter().map(KernelDifference::Removed);
    let only_added = added.split_off(paired).into_iter().map(KernelDifference::Added);
    let changed = removed.into_iter().zip(added).map(|(old, new)| KernelDifference::Changed(old, new));
    changed.chain(only_removed).chain(only_added).collect()
}
