//! A lock: what device code there is in a set of files, as plain data that is kept beside the source of a project.
//!
//! `text` has the form that people review, `build` makes it of files, `compare` tells what became of an old one.
//! A value that is absent is not known, or was left out on purpose, and is then not compared.

mod budget;
mod build;
mod compare;
mod kernels;
mod pairs;
mod read;
mod size;
mod text;

pub use budget::{Budget, BudgetError, BudgetResult, GrowthLimit, Measure, check_budgets};
pub use build::locked_file;
pub use compare::{Change, Comparison, FileDifference, TargetDifference, TargetTotals, Totals, compare};
pub use kernels::KernelDifference;
pub use read::{LineError, LockError, is_lock, read};
pub use size::growth;
pub use text::write;

use crate::inspect::Figure;

/// What is known of the device code in some files, in an order that does not depend on how it was found.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Lock {
    pub files: Vec<LockedFile>,
}

/// A file with device code.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedFile {
    /// As the user gave it, with `/` between its parts; of a member of an archive `ARCHIVE!MEMBER`.
    pub path: String,
    pub size: Option<u64>,
    /// What its containers take of it, with their headers.
    pub stored: Option<u64>,
    pub images: Vec<LockedImage>,
}

/// What an image is for, and the form of its code. Images that agree in it are compared with one another.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedTarget {
    pub arch: Option<String>,
    pub kind: Option<String>,
    /// The name that `fatbin scan` has for the form: `elf`, `ptx`.
    pub image: String,
    pub triple: Option<String>,
}

/// A device image. Its kernels stand in front of its sizes for the order of images: of many for one target, each keeps its
/// place when its code changes.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedImage {
    pub target: LockedTarget,
    /// By name.
    pub kernels: Vec<LockedKernel>,
    /// The containers around it from the outermost on: `offload-binary>cuda-fatbin`.
    pub container_path: Option<String>,
    /// How it, or the container around it, is compressed.
    pub codec: Option<String>,
    pub stored: Option<u64>,
    /// Once decompressed.
    pub size: Option<u64>,
    /// How much debug information there is.
    pub debug: Option<String>,
    pub sha256: Option<Hash>,
    /// The hash of its code alone.
    pub code: Option<Hash>,
}

/// A SHA-256.
pub type Hash = [u8; 32];

/// A kernel and what it takes of the device.
#[derive(Debug, Clone, Default, PartialEq, Eq, PartialOrd, Ord)]
pub struct LockedKernel {
    /// As the runtime looks it up.
    pub name: String,
    /// In the order of [`FIGURES`].
    pub figures: [Option<u64>; FIGURES.len()],
    /// More scratch may be needed than is stated.
    pub scratch_is_minimum: bool,
    /// As its author wrote the name, where that is something else.
    pub demangled: Option<String>,
}

/// The figures that a change of is worth a look: what a launch may fail by, or become slow by. Their order is that of the
/// fields of a kernel's line.
pub const FIGURES: [Figure; 9] = [
    Figure::CodeSize,
    Figure::Registers,
    Figure::Vgprs,
    Figure::Agprs,
    Figure::Sgprs,
    Figure::VgprSpills,
    Figure::SgprSpills,
    Figure::Scratch,
    Figure::Shared,
];

impl Lock {
    /// Of these files, in whatever order they and what is in them come.
    pub fn new(mut files: Vec<LockedFile>) -> Lock {
        for file in &mut files {
            for image in &mut file.images {
                image.kernels.sort();
            }
            file.images.sort();
        }
        files.sort();
        Lock { files }
    }

    /// All images of all files.
    pub fn images(&self) -> impl Iterator<Item = &LockedImage> {
        self.files.iter().flat_map(|file| &file.images)
    }

    /// Leaves out what may differ between two builds of one source: hashes and sizes of whole images, which hold debug
    /// information and paths, and those of files.
    pub fn keep_code_only(&mut self) {
        for file in &mut self.files {
            (file.size, file.stored) = (None, None);
            for image in &mut file.images {
                (image.stored, image.size, image.sha256) = (None, None, None);
            }
        }
    }
}

impl LockedKernel {
    /// The size of its machine code.
    pub fn code_size(&self) -> Option<u64> {
        self.figures[0]
    }

    /// Returns the figures that are known.
    pub fn known(&self) -> impl Iterator<Item = (Figure, u64)> {
        FIGURES.into_iter().zip(self.figures).filter_map(|(figure, value)| Some((figure, value?)))
    }

    /// The name for people.
    pub fn readable_name(&self) -> &str {
        self.demangled.as_deref().unwrap_or(&self.name)
    }
}

#[cfg(test)]
mod tests;
