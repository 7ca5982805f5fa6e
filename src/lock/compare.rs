//! What became of an old build: by file, by target, by kernel.
//!
//! Images have no names. A library may hold fifty for one processor, and a linker may put them in another order, so what is
//! compared is all the images for one target of a file together: how many there are, their bytes, and their kernels by
//! name. Whether the code of one changed is told by the hash of its code, which builds agree in that differ in debug
//! information and paths only.

use std::collections::{BTreeMap, BTreeSet};

use super::kernels::{KernelDifference, differences};
use super::pairs::pair_files;
use super::size::{differ, growth, sum};
use super::{Lock, LockedFile, LockedImage, LockedTarget};

/// All that differs, with what it was and what it is together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Comparison<'a> {
    pub old: Totals,
    pub new: Totals,
    /// Those that differ, the largest difference first.
    pub files: Vec<FileDifference<'a>>,
    /// Processors that there is code for now and was not, and the other way around.
    pub added_archs: Vec<&'a str>,
    pub removed_archs: Vec<&'a str>,
}

/// Sums over files. What is absent is not known of one of them.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Totals {
    pub files: usize,
    pub images: usize,
    pub kernels: usize,
    /// Of all images once decompressed.
    pub size: Option<u64>,
    /// What containers take of the files.
    pub stored: Option<u64>,
}

/// A file that is not what it was.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileDifference<'a> {
    pub old: Option<&'a LockedFile>,
    pub new: Option<&'a LockedFile>,
    /// Those that differ, the largest difference first.
    pub targets: Vec<TargetDifference<'a>>,
}

/// The images for one target in a file, which are not what they were.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct TargetDifference<'a> {
    pub target: &'a LockedTarget,
    pub change: Change,
    pub old: TargetTotals,
    pub new: TargetTotals,
    /// How many images differ, where not all are added or removed.
    pub images_changed: usize,
    /// Those that differ, the largest difference first.
    pub kernels: Vec<KernelDifference<'a>>,
}

/// What the images for a target are together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct TargetTotals {
    pub images: usize,
    pub kernels: usize,
    pub size: Option<u64>,
    pub stored: Option<u64>,
    /// How they are compressed.
    pub codecs: BTreeSet<String>,
    /// How much debug information there is in them.
    pub debug: BTreeSet<String>,
}

/// What happened to images, the most first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Change {
    Added,
    Removed,
    /// Code, or what kernels take of the device.
    Code,
    /// Other bytes around the same code: debug information, paths, the compiler's version.
    Metadata,
    /// The same images, stored in another way.
    Storage,
}

impl Change {
    /// The name in JSON.
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

/// What differs in `new`; where `code_only`, debug information and the way of storing do not count.
pub fn compare<'a>(old: &'a Lock, new: &'a Lock, code_only: bool) -> Comparison<'a> {
    let differences = pair_files(&old.files, &new.files).into_iter();
    let mut files: Vec<_> = differences.filter_map(|(old, new)| file_difference(old, new, code_only)).collect();
    files.sort_by_key(|file| (std::cmp::Reverse(file.growth().unsigned_abs()), file.path()));
    let archs = |lock: &'a Lock| -> BTreeSet<&'a str> {
        lock.images().filter_map(|image| image.target.arch.as_deref()).collect()
    };
    let (old_archs, new_archs) = (archs(old), archs(new));
    Comparison {
        old: Totals::of(old),
        new: Totals::of(new),
        files,
        added_archs: new_archs.difference(&old_archs).copied().collect(),
        removed_archs: old_archs.difference(&new_archs).copied().collect(),
    }
}

fn file_difference<'a>(
    old: Option<&'a LockedFile>,
    new: Option<&'a LockedFile>,
    code_only: bool,
) -> Option<FileDifference<'a>> {
    type Images<'a> = Vec<&'a LockedImage>;
    let mut targets: BTreeMap<&LockedTarget, (Images<'_>, Images<'_>)> = BTreeMap::new();
    for image in old.iter().flat_map(|file| &file.images) {
        targets.entry(&image.target).or_default().0.push(image);
    }
    for image in new.iter().flat_map(|file| &file.images) {
        targets.entry(&image.target).or_default().1.push(image);
    }
    let mut targets: Vec<_> = targets
        .into_iter()
        .filter_map(|(target, (old, new))| target_difference(target, &old, &new))
        .filter(|it| !code_only || !matches!(it.change, Change::Metadata | Change::Storage))
        .collect();
    targets.sort_by_key(|it| std::cmp::Reverse(it.growth().unsigned_abs()));
    let stored_otherwise = match (old, new) {
        (Some(old), Some(new)) => !code_only && differ(old.stored, new.stored),
        _ => true,
    };
    (stored_otherwise || !targets.is_empty()).then_some(FileDifference { old, new, targets })
}

fn target_difference<'a>(
    target: &'a LockedTarget,
    old: &[&'a LockedImage],
    new: &[&'a LockedImage],
) -> Option<TargetDifference<'a>> {
    let kernels = differences(old, new);
    let whole = unmatched(old, new, |image| image.sha256).or_else(|| unmatched(old, new, |image| image.size));
    // Without a hash of the code nobody knows what other bytes mean, and then they count as code.
    let code = unmatched(old, new, |image| image.code).or(whole).unwrap_or(0);
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
        images_changed,
        kernels,
    })
}

/// How many images have a value that none on the other side has, where it is known of all of them.
fn unmatched<'a, T: Ord>(
    old: &[&'a LockedImage],
    new: &[&'a LockedImage],
    value: impl Fn(&'a LockedImage) -> Option<T>,
) -> Option<usize> {
    let mut counts: BTreeMap<T, (usize, usize)> = BTreeMap::new();
    for image in old {
        counts.entry(value(image)?).or_default().0 += 1;
    }
    for image in new {
        counts.entry(value(image)?).or_default().1 += 1;
    }
    let gone = counts.values().map(|(old, new)| old.saturating_sub(*new)).sum::<usize>();
    Some(gone.max(counts.values().map(|(old, new)| new.saturating_sub(*old)).sum()))
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

impl<'a> FileDifference<'a> {
    /// As the new build calls it, if it is there.
    pub fn path(&self) -> &'a str {
        self.new.or(self.old).map_or("", |file| &file.path)
    }

    /// As the old build calls it, where that is something else.
    pub fn old_path(&self) -> Option<&'a str> {
        let old = self.old?.path.as_str();
        (old != self.path()).then_some(old)
    }

    /// By how many bytes its images grew, once decompressed.
    pub fn growth(&self) -> i64 {
        let size = |file: Option<&LockedFile>| {
            let sizes = file.iter().flat_map(|file| &file.images).map(|image| image.size.unwrap_or(0));
            sizes.fold(0, u64::saturating_add)
        };
        growth(size(self.old), size(self.new))
    }
}

impl TargetDifference<'_> {
    /// By how many bytes its images grew, once decompressed.
    pub fn growth(&self) -> i64 {
        growth(self.old.size.unwrap_or(0), self.new.size.unwrap_or(0))
    }
}
