//! All that is known of files: their inventories, and of each device image what is inside. Plain data, which is judged
//! (`check`), written down (`lock`), compared (`diff`) and drawn (`report`).
//!
//! Looking into images costs far more than listing them, so whoever asks says what for.

mod matrix;

pub use matrix::{KernelMatrix, MatrixCell, MatrixColumn, MatrixRow, UninspectedImages};

use crate::inspect::Inspection;
use crate::inventory::{File, Image};

/// What is to be known of each device image besides what the inventory says.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnalysisOptions {
    /// Kernels and debug information.
    pub inspection: bool,
    /// The hash of its code alone.
    pub code_hash: bool,
    /// Paths of the machine that it was built on.
    pub build_paths: bool,
}

impl AnalysisOptions {
    /// Whether an image has to be looked into at all.
    pub fn any(self) -> bool {
        self != AnalysisOptions::default()
    }
}

/// A file and what is inside its device images.
#[derive(Debug, Clone)]
pub struct AnalyzedFile {
    pub file: File,
    /// One for each device image, in the order of [`File::device_images`].
    pub analyses: Vec<ImageAnalysis>,
}

/// What is inside an image; absent is what was not asked for or could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageAnalysis {
    pub inspection: Option<Inspection>,
    /// SHA-256 of what runs: two builds of one source agree in it where they differ in debug information and paths only.
    pub code_hash: Option<[u8; 32]>,
    pub build_paths: Option<Vec<String>>,
}

impl AnalyzedFile {
    /// Each device image with what is inside it.
    pub fn images(&self) -> impl Iterator<Item = (&Image, &ImageAnalysis)> {
        self.file.device_images().zip(&self.analyses)
    }
}

/// An image that was looked into.
#[derive(Debug, Clone)]
pub struct InspectedImage<'a> {
    /// Its number among the device images of its file.
    pub number: usize,
    pub image: &'a Image,
    pub inspection: Inspection,
}

/// A file and its images that were looked into.
#[derive(Debug, Clone)]
pub struct InspectedFile<'a> {
    pub file: &'a File,
    pub images: Vec<InspectedImage<'a>>,
}
