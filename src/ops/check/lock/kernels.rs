//! Differences between the kernels of a file for one target.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};

use super::size::growth;
use super::{LockedImage, LockedKernel};
use fatbin_core::image::{stable_name, versions};

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

/// Kernels that have other versions of libraries in their names, on both sides: one kernel for each pair.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct OtherVersions {
    /// Number of kernels.
    pub kernels: usize,
    /// Namespaces with versions in the old names.
    pub old: BTreeSet<String>,
    /// Namespaces with versions in the new names.
    pub new: BTreeSet<String>,
}

impl OtherVersions {
    fn add(&mut self, old: &[&LockedKernel], new: &[&LockedKernel]) {
        let versions = |kernels: &[&LockedKernel]| -> BTreeSet<String> {
            kernels.iter().filter_map(|kernel| kernel.name.demangled()).flat_map(versions).collect()
        };
        let count = old.len().min(new.len());
        if count > 0 {
            self.kernels = self.kernels.saturating_add(count);
            self.old.extend(versions(old));
            self.new.extend(versions(new));
        }
    }

    /// Adds the kernels of another target or file.
    pub fn merge(&mut self, other: &OtherVersions) {
        self.kernels = self.kernels.saturating_add(other.kernels);
        self.old.extend(other.old.iter().cloned());
        self.new.extend(other.new.iter().cloned());
    }
}

/// Kernels of one name on both sides.
type Sides<'a> = (Vec<&'a LockedKernel>, Vec<&'a LockedKernel>);

/// Returns the kernels that differ between images for one target, the largest difference first. Generated parts of
/// names are not compared. Kernels of one side only are compared again without the versions of libraries in their
/// names. Hashes of their code are compared if the code of the images differs: they include the names of symbols, and
/// the hash of an image's code does not.
pub fn differences<'a>(
    old: &[&'a LockedImage],
    new: &[&'a LockedImage],
    code_differs: bool,
) -> (Vec<KernelDifference<'a>>, OtherVersions) {
    let mut names: BTreeMap<Cow<'_, str>, Sides<'_>> = BTreeMap::new();
    for kernel in old.iter().flat_map(|image| &image.kernels) {
        names.entry(stable_name(kernel.name.as_str())).or_default().0.push(kernel);
    }
    for kernel in new.iter().flat_map(|image| &image.kernels) {
        names.entry(stable_name(kernel.name.as_str())).or_default().1.push(kernel);
    }
    let has_both_sides = !old.is_empty() && !new.is_empty();
    let mut found: Vec<KernelDifference<'_>> = Vec::new();
    let mut across_versions: BTreeMap<String, Sides<'_>> = BTreeMap::new();
    for (old, new) in names.into_values() {
        let is_one_sided = has_both_sides && (old.is_empty() || new.is_empty());
        let first = if is_one_sided { old.first().or(new.first()) } else { None };
        match first.and_then(|kernel| kernel.name.across_versions()) {
            Some(name) => {
                let sides = across_versions.entry(name).or_default();
                sides.0.extend(old);
                sides.1.extend(new);
            }
            None => found.extend(pair_kernels(old, new, code_differs)),
        }
    }
    let mut versions = OtherVersions::default();
    for (old, new) in across_versions.into_values() {
        versions.add(&old, &new);
        found.extend(pair_kernels(old, new, code_differs));
    }
    found.sort_by_key(|it| (std::cmp::Reverse(it.growth().unsigned_abs()), &it.kernel().name));
    (found, versions)
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
