//! Differences between two locks, by file, target and kernel.
//!
//! Images have no names. A library may have fifty images for one processor, and a linker may reorder them, so all
//! images of a file for one target are compared together: their number, their bytes, and their kernels by name. The
//! code of an image changed if its code hash did; the code hash is equal for builds that differ only in debug
//! information and paths.

use std::collections::{BTreeMap, BTreeSet};

use super::causes::{DifferenceCause, causes};
use super::change::{Change, unmatched};
use super::duplicates::{Duplicate, duplicates};
use super::kernels::{KernelDifference, OtherVersions, differences};
use super::pairs::pair_files;
use super::size::{differ, growth, sum};
use super::{Lock, LockedFile, LockedImage, LockedTarget};
use fatbin_core::base::bytes::total;
use fatbin_core::target::natural_order;

/// All differences between two locks, with the totals of both.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison<'a> {
    /// Totals of the old lock.
    pub old: Totals,
    /// Totals of the new lock.
    pub new: Totals,
    /// Files that differ, the largest difference first.
    pub files: Vec<FileDifference<'a>>,
    /// Architectures with code in the new lock only.
    pub added_archs: Vec<&'a str>,
    /// Architectures with code in the old lock only.
    pub removed_archs: Vec<&'a str>,
    /// Paths of files with the same code in another order.
    pub reordered: Vec<&'a str>,
    /// Code that the new lock has more copies of than the old one.
    pub duplicates: Vec<Duplicate<'a>>,
}

/// Sums over all files. A sum is absent if it is unknown for one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    /// Number of files.
    pub files: usize,
    /// Number of images.
    pub images: usize,
    /// Number of kernels.
    pub kernels: usize,
    /// Size of all images once decompressed, in bytes.
    pub size: Option<u64>,
    /// Size of all containers in the files, in bytes.
    pub stored: Option<u64>,
}

/// A file that differs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDifference<'a> {
    /// The file in the old lock; `None` if it was added.
    pub old: Option<&'a LockedFile>,
    /// The file in the new lock; `None` if it was removed.
    pub new: Option<&'a LockedFile>,
    /// Targets that differ, the largest difference first.
    pub targets: Vec<TargetDifference<'a>>,
}

/// The images of a file for one target, where they differ.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetDifference<'a> {
    /// The target.
    pub target: &'a LockedTarget,
    /// Most significant change.
    pub change: Change,
    /// Totals of the old images.
    pub old: TargetTotals,
    /// Totals of the new images.
    pub new: TargetTotals,
    /// Known causes of a change that does not affect code.
    pub causes: BTreeSet<DifferenceCause>,
    /// Number of images that differ.
    pub images_changed: usize,
    /// Kernels that differ, the largest difference first.
    pub kernels: Vec<KernelDifference<'a>>,
    /// Kernels that were paired although their names contain other versions of libraries.
    pub other_versions: OtherVersions,
}

/// Totals of the images for one target.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetTotals {
    /// Number of images.
    pub images: usize,
    /// Number of kernels.
    pub kernels: usize,
    /// Size once decompressed, in bytes.
    pub size: Option<u64>,
    /// Size in the file, in bytes.
    pub stored: Option<u64>,
    /// Compression formats in use.
    pub codecs: BTreeSet<String>,
    /// Levels of debug information in use.
    pub debug: BTreeSet<String>,
}

/// Compares two locks. With `code_only`, ignores changes of debug information and storage.
pub fn compare<'a>(old: &'a Lock, new: &'a Lock, code_only: bool) -> Comparison<'a> {
    let pairs = pair_files(old.files.iter().collect(), new.files.iter().collect());
    let reordered = pairs.iter().filter_map(|(old, new)| reordered(old.as_ref()?, new.as_ref()?)).collect();
    let differences = pairs.into_iter();
    let mut files: Vec<_> = differences.filter_map(|(old, new)| file_difference(old, new, code_only)).collect();
    files.sort_by_key(|file| (std::cmp::Reverse(file.growth().unsigned_abs()), file.path()));
    let archs = |lock: &'a Lock| -> BTreeSet<&'a str> {
        lock.images().filter_map(|image| image.target.arch.as_deref()).collect()
    };
    let old_archs = archs(old);
    let new_archs = archs(new);
    Comparison {
        old: Totals::of(old),
        new: Totals::of(new),
        files,
        added_archs: by_number(new_archs.difference(&old_archs)),
        removed_archs: by_number(old_archs.difference(&new_archs)),
        reordered,
        duplicates: duplicates(old, new),
    }
}

/// Sorts names of architectures by their numbers.
fn by_number<'a, 'b>(archs: impl Iterator<Item = &'b &'a str>) -> Vec<&'a str>
where
    'a: 'b,
{
    let mut archs: Vec<&str> = archs.copied().collect();
    archs.sort_by_cached_key(|arch| natural_order(arch));
    archs
}

/// Returns the path of the new file if its images have the same code as the images of the old file, but in another
/// order.
fn reordered<'a>(old: &LockedFile, new: &'a LockedFile) -> Option<&'a str> {
    let codes = |file: &LockedFile| {
        let mut codes: Vec<_> = file.images.iter().map(|image| image.code).collect();
        codes.sort_unstable();
        codes
    };
    let has_other_order = old.order.zip(new.order).is_some_and(|(old, new)| old != new);
    (has_other_order && codes(old) == codes(new)).then_some(&new.path)
}

fn file_difference<'a>(
    old: Option<&'a LockedFile>,
    new: Option<&'a LockedFile>,
    code_only: bool,
) -> Option<FileDifference<'a>> {
    type Images<'a> = Vec<&'a LockedImage>;
    let mut targets: BTreeMap<LockedTarget, (Images<'_>, Images<'_>)> = BTreeMap::new();
    for image in old.iter().flat_map(|file| &file.images) {
        targets.entry(image.target.canonical()).or_default().0.push(image);
    }
    for image in new.iter().flat_map(|file| &file.images) {
        targets.entry(image.target.canonical()).or_default().1.push(image);
    }
    let mut targets: Vec<_> = targets
        .into_values()
        .filter_map(|(old, new)| target_difference(&new.first().or(old.first())?.target, &old, &new))
        .filter(|it| !code_only || !matches!(it.change, Change::Metadata | Change::Storage))
        .collect();
    targets.sort_by_cached_key(|it| std::cmp::Reverse(it.growth().unsigned_abs()));
    let storage_differs = match (old, new) {
        (Some(old), Some(new)) => !code_only && differ(old.stored, new.stored),
        _ => true,
    };
    (storage_differs || !targets.is_empty()).then_some(FileDifference { old, new, targets })
}

fn target_difference<'a>(
    target: &'a LockedTarget,
    old: &[&'a LockedImage],
    new: &[&'a LockedImage],
) -> Option<TargetDifference<'a>> {
    let whole = unmatched(old, new, |image| image.sha256)
        .or_else(|| unmatched(old, new, |image| image.code.zip(image.rest)))
        .or_else(|| unmatched(old, new, |image| image.size));
    // Without a code hash, any change of the bytes counts as a change of the code.
    let code = unmatched(old, new, |image| image.code).or(whole).unwrap_or(0);
    let (kernels, other_versions) = differences(old, new, code > 0);
    let stored = unmatched(old, new, |image| image.stored).unwrap_or(0);
    let codecs = unmatched(old, new, |image| Some(&image.codec)).unwrap_or(0);
    let (change, images_changed) = match (old, new) {
        ([], _) => (Change::Added, new.len()),
        (_, []) => (Change::Removed, old.len()),
        _ if code > 0 => (Change::Code, code),
        _ if !kernels.is_empty() => (Change::Code, 0),
        _ if whole.is_some_and(|count| count > 0) => (Change::Metadata, whole.unwrap_or(0)),
        _ if stored > 0 || codecs > 0 => (Change::Storage, stored.max(codecs)),
        _ => return None,
    };
    Some(TargetDifference {
        target,
        change,
        old: TargetTotals::of(old),
        new: TargetTotals::of(new),
        causes: causes(change, old, new),
        images_changed,
        kernels,
        other_versions,
    })
}

impl Totals {
    fn of(lock: &Lock) -> Totals {
        Totals {
            files: lock.files.len(),
            images: lock.images().count(),
            kernels: lock.images().map(|image| image.kernels.len()).sum(),
            size: sum(lock.images().map(|image| image.size)),
            stored: sum(lock.files.iter().map(|file| file.stored)),
        }
    }
}

impl TargetTotals {
    fn of(images: &[&LockedImage]) -> TargetTotals {
        TargetTotals {
            images: images.len(),
            kernels: images.iter().map(|image| image.kernels.len()).sum(),
            size: sum(images.iter().map(|image| image.size)),
            stored: sum(images.iter().map(|image| image.stored)),
            codecs: images.iter().filter_map(|image| image.codec.clone()).collect(),
            debug: images.iter().filter_map(|image| image.debug.clone()).collect(),
        }
    }
}

impl Comparison<'_> {
    /// Returns the kernels of all files that were paired although their names contain other versions of libraries.
    pub fn other_versions(&self) -> OtherVersions {
        let mut all = OtherVersions::default();
        self.files.iter().flat_map(|file| &file.targets).for_each(|target| all.merge(&target.other_versions));
        all
    }

    /// Returns the causes of all differences if the code is the same on both sides; `None` if it differs. If a file
    /// differs but none of its images does, the cause is its containers.
    pub fn causes_with_same_code(&self) -> Option<BTreeSet<DifferenceCause>> {
        let mut causes = BTreeSet::new();
        for file in &self.files {
            file.old.and(file.new)?;
            for target in &file.targets {
                if !matches!(target.change, Change::Metadata | Change::Storage) {
                    return None;
                }
                causes.extend(&target.causes);
            }
            if file.targets.is_empty() {
                causes.insert(DifferenceCause::Containers);
            }
        }
        if !self.reordered.is_empty() {
            causes.insert(DifferenceCause::Order);
        }
        Some(causes)
    }
}

impl<'a> FileDifference<'a> {
    /// Returns the path in the new lock, or in the old one if the file was removed.
    pub fn path(&self) -> &'a str {
        self.new.or(self.old).map_or("", |file| &file.path)
    }

    /// Returns the path in the old lock, where it differs.
    pub fn old_path(&self) -> Option<&'a str> {
        let old = self.old?.path.as_str();
        (old != self.path()).then_some(old)
    }

    /// Returns the growth of its images once decompressed, in bytes.
    pub fn growth(&self) -> i64 {
        let size = |file: Option<&LockedFile>| {
            let sizes = file.iter().flat_map(|file| &file.images).map(|image| image.size.unwrap_or(0));
            total(sizes)
        };
        growth(size(self.old), size(self.new))
    }
}

impl TargetDifference<'_> {
    /// Returns the growth of its images once decompressed, in bytes.
    pub fn growth(&self) -> i64 {
        growth(self.old.size.unwrap_or(0), self.new.size.unwrap_or(0))
    }
}
