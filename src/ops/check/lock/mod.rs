//! Locks: records of the device code in a set of files, kept as plain data with the source of a project.
//!
//! `build` makes a lock from inspected images. `text` and `read` write and parse its text, which is meant for review.
//! `summary` writes a shorter text, and `form` chooses among them. `compare` lists the differences between two locks. An absent value is unknown or
//! was left out on purpose, and is not compared.

#![cfg_attr(not(test), deny(clippy::indexing_slicing, clippy::arithmetic_side_effects))]
#![expect(
    clippy::mutable_key_type,
    reason = "the order of a KernelName ignores the demangled name that it has computed"
)]

mod budget;
mod build;
mod causes;
mod change;
mod compare;
mod duplicates;
mod fields;
mod form;
mod kernel;
mod kernels;
mod line_error;
mod lost;
mod pairs;
pub mod paths;
mod read;
mod since;
mod size;
mod summary;
mod text;
mod units;

pub use budget::{Budget, BudgetError, BudgetResult, GrowthLimit, Measure, check_budgets};
pub use build::{ImageContents, locked_file, locked_image};
pub use causes::{DifferenceCause, LockedParts};
pub use change::Change;
pub use compare::{Comparison, FileDifference, TargetDifference, TargetTotals, Totals, compare};
pub use duplicates::{Duplicate, duplicates};
pub use form::LockForm;
pub use kernel::{FIGURES, KernelHash, KernelName, KernelPool, KernelUsage, LockedKernel};
pub use kernels::{KernelDifference, OtherVersions};
pub use line_error::{LineError, LockError};
pub use lost::Lost;
pub use pairs::{PairedFile, common_label, pair_files, without_versions};
pub use read::{is_lock, read, read_within};
pub use since::EarlierLocks;
pub use size::growth;

use std::cmp::Ordering;
use std::collections::HashMap;

use fatbin_core::target::subarch;

/// The device code of a set of files, in an order that does not depend on how it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    /// Files with device code, sorted.
    pub files: Vec<LockedFile>,
}

/// A file with device code.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedFile {
    /// Path as the user specified it, with `/` as separator; `ARCHIVE!MEMBER` for a member of an archive.
    pub path: String,
    /// Size of the file, in bytes.
    pub size: Option<u64>,
    /// Size of its containers with their headers, in bytes.
    pub stored: Option<u64>,
    /// Device images, sorted.
    pub images: Vec<LockedImage>,
    /// Hash of the order of the images in the file. Locks do not record it.
    pub order: Option<Hash>,
}

impl PairedFile for LockedFile {
    fn path(&self) -> &str {
        &self.path
    }
}

/// Target of an image and the format of its code. Images with equal targets are compared with one another.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedTarget {
    /// Architecture: `gfx90a:xnack+`, `sm_90`.
    pub arch: Option<String>,
    /// Offload kind: `hip`, `cuda`.
    pub kind: Option<String>,
    /// Format of the code, by its name in `fatbin scan`: `elf`, `ptx`.
    pub image: String,
    /// Target triple.
    pub triple: Option<String>,
}

impl LockedTarget {
    /// Returns the target in the spelling that all of its spellings have in common.
    fn canonical(&self) -> LockedTarget {
        let triple = self.triple.as_deref().map(|triple| subarch::legacy_triple(triple).into_owned());
        LockedTarget { triple, ..self.clone() }
    }
}

/// A device image. Images are sorted by their kernels before their sizes and hashes, so that each of many images for
/// one target keeps its place when its code changes.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LockedImage {
    /// Target and format.
    pub target: LockedTarget,
    /// Kernels, sorted by name.
    pub kernels: Vec<LockedKernel>,
    /// Types of the containers around it, the outermost first: `offload-binary>cuda-fatbin`.
    pub container_path: Option<String>,
    /// Compression of the image, or of a container around it.
    pub codec: Option<String>,
    /// Size in the file, in bytes.
    pub stored: Option<u64>,
    /// Size once decompressed, in bytes.
    pub size: Option<u64>,
    /// Amount of debug information, by the name of its [`DebugLevel`](fatbin_core::image::DebugLevel).
    pub debug: Option<String>,
    /// Hash of the decompressed image, which locks record on demand.
    pub sha256: Option<Hash>,
    /// Hash of its code alone.
    pub code: Option<Hash>,
    /// Hash of all other bytes. With `code`, it determines the image.
    pub rest: Option<Hash>,
    /// Parts that differ between builds of one source, if they were analyzed.
    pub parts: Option<LockedParts>,
}

impl PartialOrd for LockedImage {
    fn partial_cmp(&self, other: &Self) -> Option<Ordering> {
        Some(self.cmp(other))
    }
}

impl Ord for LockedImage {
    fn cmp(&self, other: &Self) -> Ordering {
        fn kernels(image: &LockedImage) -> impl Iterator<Item = (&KernelName, &KernelUsage)> {
            image.kernels.iter().map(|kernel| (&kernel.name, &*kernel.usage))
        }
        fn storage(image: &LockedImage) -> impl Ord {
            (image.container_path.as_deref(), image.codec.as_deref(), image.stored, image.size, image.debug.as_deref())
        }
        fn hashes(image: &LockedImage) -> impl Ord {
            (image.sha256, image.code, image.rest, image.parts.as_ref())
        }
        let targets = self.target.cmp(&other.target);
        let targets_and_kernels = targets.then_with(|| kernels(self).cmp(kernels(other)));
        let all_but_hashes = targets_and_kernels.then_with(|| storage(self).cmp(&storage(other)));
        all_but_hashes.then_with(|| hashes(self).cmp(&hashes(other))).then_with(|| self.kernels.cmp(&other.kernels))
    }
}

/// A SHA-256 hash.
pub type Hash = [u8; 32];

impl Lock {
    /// Creates a lock of these files. Sorts the files, their images and their kernels.
    pub fn new(mut files: Vec<LockedFile>) -> Lock {
        files.iter_mut().for_each(LockedFile::sort);
        files.sort();
        Lock { files }
    }

    /// Returns all images of all files.
    pub fn images(&self) -> impl Iterator<Item = &LockedImage> {
        self.files.iter().flat_map(|file| &file.images)
    }
}

impl LockedFile {
    /// Sorts the images and their kernels.
    fn sort(&mut self) {
        for image in &mut self.images {
            image.kernels.sort();
        }
        self.images.sort();
    }

    /// Removes values that may differ between two builds of one source: sizes of files, generated parts of names, and
    /// hashes and sizes of whole images. Images include debug information and paths.
    fn keep_code_only(&mut self) {
        let mut names: HashMap<KernelName, KernelName> = HashMap::new();
        (self.size, self.stored) = (None, None);
        for image in &mut self.images {
            (image.stored, image.size, image.sha256, image.rest) = (None, None, None, None);
            for kernel in &mut image.kernels {
                let name = names.entry(kernel.name.clone());
                kernel.name = name.or_insert_with(|| kernel.name.without_generated_parts()).clone();
            }
        }
        self.sort();
    }
}

#[cfg(test)]
mod tests;
