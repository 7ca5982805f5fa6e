//! What a newer build no longer has: the gate of a release.
//!
//! Growth, changed code, other names and compression lose nothing. A file that is called otherwise is not lost if a new
//! file has all that it had, and a kernel is not lost if it moved to a new file.

use std::borrow::Cow;
use std::collections::BTreeSet;

use super::change::Change;
use super::compare::{Comparison, FileDifference, TargetDifference};
use super::kernels::KernelDifference;
use super::{LockedFile, LockedKernel, LockedTarget};
use fatbin_core::image::stable_name;

/// Something that only the old build has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Lost<'a> {
    /// A file with device code.
    File(&'a LockedFile),
    /// All images of a file for a target: an architecture, or its PTX.
    Target {
        /// Path in the new build.
        path: &'a str,
        /// The target.
        target: &'a LockedTarget,
        /// Number of kernels that the images had.
        kernels: usize,
    },
    /// Kernels of a file for a target that has others.
    Kernels {
        /// Path in the new build.
        path: &'a str,
        /// The target.
        target: &'a LockedTarget,
        /// The kernels, by name.
        kernels: Vec<&'a LockedKernel>,
    },
}

/// A kernel for a target, or images for a target without a name.
type Held<'a> = (LockedTarget, Option<Cow<'a, str>>);

impl<'a> Comparison<'a> {
    /// Returns what the new build lacks: files, then targets, then kernels, in the order of the differences.
    pub fn lost(&self) -> Vec<Lost<'a>> {
        let added: Vec<BTreeSet<Held<'_>>> =
            self.files.iter().filter(|file| file.old.is_none()).filter_map(|file| file.new.map(held)).collect();
        let is_gone = |what: &Held<'_>| !added.iter().any(|file| file.contains(what));
        let mut lost = Vec::new();
        for file in &self.files {
            match (file.old, file.new) {
                (Some(old), None) => {
                    let own = held(old);
                    lost.extend((!added.iter().any(|file| own.is_subset(file))).then_some(Lost::File(old)));
                }
                (Some(_), Some(_)) => lost.extend(file.targets.iter().filter_map(|it| of_target(file, it, &is_gone))),
                _ => {}
            }
        }
        lost.sort_by_key(Lost::rank);
        lost
    }
}

fn of_target<'a>(
    file: &FileDifference<'a>,
    difference: &TargetDifference<'a>,
    is_gone: &dyn Fn(&Held<'_>) -> bool,
) -> Option<Lost<'a>> {
    let (path, target) = (file.path(), difference.target);
    let is_lost = |name: Option<&'a str>| is_gone(&(target.canonical(), name.map(stable_name)));
    let removed = difference.kernels.iter().filter_map(|kernel| match kernel {
        KernelDifference::Removed(kernel) => Some(*kernel),
        KernelDifference::Added(_) | KernelDifference::Changed(..) => None,
    });
    let kernels: Vec<&LockedKernel> = removed.filter(|kernel| is_lost(Some(kernel.name.as_str()))).collect();
    match difference.change {
        Change::Removed if !kernels.is_empty() || difference.old.kernels == 0 && is_lost(None) => {
            Some(Lost::Target { path, target, kernels: difference.old.kernels })
        }
        Change::Code if !kernels.is_empty() => Some(Lost::Kernels { path, target, kernels }),
        Change::Added | Change::Removed | Change::Code | Change::Metadata | Change::Storage => None,
    }
}

/// Targets of a file, and their kernels without generated parts of the names.
fn held(file: &LockedFile) -> BTreeSet<Held<'_>> {
    let mut held = BTreeSet::new();
    for image in &file.images {
        let target = image.target.canonical();
        held.extend(image.kernels.iter().map(|it| (target.clone(), Some(stable_name(it.name.as_str())))));
        held.insert((target, None));
    }
    held
}

impl<'a> Lost<'a> {
    fn rank(&self) -> usize {
        match self {
            Lost::File(_) => 0,
            Lost::Target { .. } => 1,
            Lost::Kernels { .. } => 2,
        }
    }

    /// Returns the path: in the old build for a lost file, else in the new one.
    pub fn path(&self) -> &'a str {
        match self {
            Lost::File(file) => &file.path,
            Lost::Target { path, .. } | Lost::Kernels { path, .. } => path,
        }
    }

    /// Returns the number of kernels.
    pub fn kernels(&self) -> usize {
        match self {
            Lost::File(file) => file.images.iter().map(|image| image.kernels.len()).sum(),
            Lost::Target { kernels, .. } => *kernels,
            Lost::Kernels { kernels, .. } => kernels.len(),
        }
    }
}
