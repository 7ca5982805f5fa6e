//! Analyzed files: their inventories and the contents of each device image. Plain data; `check` evaluates it, and
//! `report` prints it. Locks are recorded image by image instead (`ops`).
//!
//! Analyzing images costs far more than listing them, so callers specify the analyses that they need.

pub mod files;

use crate::base::bytes::Limits;
use crate::base::error::Malformed;
use crate::image::Inspection;
use crate::scan::inventory::{CudaCode, File, Image};

/// Analyses to run on each device image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct AnalysisOptions {
    /// Kernels and debug information.
    pub inspection: bool,
    /// Kernels are read to find problems, and left out of the results.
    pub without_kernels: bool,
    /// With kernels, the number of bytes that belong to each alone.
    pub own_sizes: bool,
    /// Paths on the machine where it was built.
    pub build_paths: bool,
    /// Toolkit of compressed cubins. For other cubins, the inventory has it.
    pub toolkit: bool,
}

impl AnalysisOptions {
    /// Returns whether any analysis is enabled.
    pub fn any(self) -> bool {
        self != AnalysisOptions::default()
    }
}

/// A file and the analyses of its device images.
#[derive(Debug, Clone)]
pub struct AnalyzedFile {
    /// The inventory.
    pub file: File,
    /// One for each device image, in the order of [`File::device_images`].
    pub analyses: Vec<ImageAnalysis>,
    /// Limits on evaluating the file. Reading it used the same limits.
    pub limits: Limits,
}

/// Results of the analyses of one image. A result is absent if it was not requested or the image could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageAnalysis {
    /// Kernels and debug information.
    pub inspection: Option<Inspection>,
    /// Paths on the machine where it was built, or the reason why they cannot be read.
    pub build_paths: Option<Result<Vec<String>, Malformed>>,
    /// Properties of a compressed cubin that its container does not state, or the reason why they cannot be read.
    pub cuda: Option<Result<CudaCode, Malformed>>,
}

impl AnalyzedFile {
    /// Returns each device image with its analysis.
    pub fn images(&self) -> impl Iterator<Item = (&Image, &ImageAnalysis)> {
        self.file.device_images().zip(&self.analyses)
    }

    /// Returns for each device image the properties that only its decompressed bytes state, if they were read.
    pub fn cuda_codes(&self) -> Vec<Option<CudaCode>> {
        self.analyses.iter().map(|analysis| analysis.cuda.as_ref()?.as_ref().ok().copied()).collect()
    }
}

/// An inspected image.
#[derive(Debug, Clone)]
pub struct InspectedImage<'a> {
    /// Number among the device images of the file.
    pub number: usize,
    /// The image.
    pub image: &'a Image,
    /// Its contents.
    pub inspection: Inspection,
}

/// A file and its inspected images.
#[derive(Debug, Clone)]
pub struct InspectedFile<'a> {
    /// The file.
    pub file: &'a File,
    /// The inspected images, in order.
    pub images: Vec<InspectedImage<'a>>,
    /// Limits on evaluating the file. Reading it used the same limits.
    pub limits: Limits,
}
