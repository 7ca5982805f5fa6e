//! Surveys: the inventory of a file, and what is inside its device images. `check` judges them, and the program prints
//! them. Locks are recorded image by image instead.
//!
//! Looking into images costs far more than listing them, so callers state what they need. Images are read in parallel, and
//! each thread decompresses one at a time.

mod names;
mod package;

pub use names::{KernelNames, ShownNames};
pub use package::PackageSurvey;

use std::collections::BTreeMap;

use crate::analyze::host_runtime::HostRuntime;
use crate::analyze::requires::{ToolkitBytes, unread_toolkit};
use crate::analyze::size::PackedFile;
use fatbin_core::base::bytes::Limits;
use fatbin_core::base::codec;
use fatbin_core::base::error::{Error, Malformed, Result};
use fatbin_core::base::file_path::FilePath;
use fatbin_core::image::{self, Inspection, KernelContent, Stub};
use fatbin_core::scan::inspect::inspect_with;
use fatbin_core::scan::inventory::{CudaCode, File, Image, origin};
use fatbin_core::scan::{ImageRef, InputSlice, Outcome, Scan, ScannedFile};

/// What to read of each device image.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SurveyOptions {
    /// Kernels and debug information.
    pub inspection: bool,
    /// Kernels are read to find problems, and left out of the results.
    pub without_kernels: bool,
    /// The images that hold no kernel or only stubs. Inspections find them, too.
    pub empty_images: bool,
    /// With kernels, their demangled names.
    pub demangled: bool,
    /// With kernels, the number of bytes that belong to each alone.
    pub own_sizes: bool,
    /// Paths on the machine where it was built.
    pub build_paths: bool,
    /// Toolkit of compressed cubins. For other cubins, the inventory has it.
    pub toolkit: bool,
    /// Libraries of runtimes that the file needs.
    pub host: bool,
}

impl SurveyOptions {
    /// Returns whether anything is read.
    pub fn any(self) -> bool {
        self != SurveyOptions::default()
    }
}

/// A file, and what is inside its device images.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Survey {
    /// The inventory.
    pub file: File,
    /// One for each device image, in the order of [`File::device_images`].
    pub image_surveys: Vec<ImageSurvey>,
    /// Libraries of runtimes that the file needs, if they were requested.
    pub host: Option<HostRuntime>,
    /// Its place in a package; `None` for a file that is in none.
    pub packed: Option<PackedFile>,
    /// Limits on evaluating the file. Reading it used the same limits.
    pub limits: Limits,
}

/// What is inside an image. A property is absent if it was not requested or the image could not be read.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct ImageSurvey {
    /// Kernels and debug information.
    pub inspection: Option<Inspection>,
    /// What a complete inspection found in code that could hold kernels.
    pub content: KernelContent,
    /// Paths on the machine where it was built, or the reason why they cannot be read.
    pub build_paths: Option<Result<Vec<String>, Malformed>>,
    /// Properties of a compressed cubin that its container does not state, or the reason why they cannot be read.
    pub cuda: Option<Result<CudaCode, Malformed>>,
    /// Numbers of the names of the kernels that a [`PackageSurvey`] has taken.
    pub names: Box<[u32]>,
    /// Those of kernels without a body, in order.
    pub stubs: Box<[(u32, Stub)]>,
}

impl Survey {
    /// Surveys a file, and calls `visit` with the survey of each image before the later ones are read.
    pub fn of(scanned: ScannedFile, wanted: SurveyOptions, visit: &mut dyn FnMut(&mut ImageSurvey)) -> Result<Survey> {
        let mut host = None;
        let mut contents = BTreeMap::new();
        let image_surveys = if wanted.any() {
            let scan = scanned.open()?;
            host = wanted.host.then(|| HostRuntime::read(scan.source())).transpose()?;
            let image_surveys = map_all(&scan, |image| survey_image(image, wanted), visit);
            if wanted.empty_images && !wanted.inspection {
                contents = scan.contents();
            }
            scan.source().input().check_unchanged()?;
            image_surveys
        } else {
            vec![ImageSurvey::default(); scanned.file().device_images().count()]
        };
        let packed = PackedFile::new(&scanned);
        let limits = scanned.limits();
        let mut survey = Survey { file: scanned.into_file(), image_surveys, host, packed, limits };
        survey.set_contents(contents);
        Ok(survey)
    }

    /// Records in the inventory which images hold no kernel or only stubs: these, and those that an inspection has
    /// found.
    pub fn set_contents(&mut self, mut contents: BTreeMap<usize, KernelContent>) {
        let inspected = self.image_surveys.iter().enumerate();
        let inspected = inspected.filter(|(_, inside)| inside.content != KernelContent::Kernels);
        contents.extend(inspected.map(|(index, inside)| (index, inside.content)));
        if !contents.is_empty() {
            self.file.set_contents(&contents);
        }
    }

    /// Surveys the outcome of scanning a file. `wanted` returns what to read in a file with this path. A file that cannot
    /// be read has no images, and its error is returned.
    /// Calls `visit` with the survey of each image before the later ones are read.
    pub fn of_outcome(
        outcome: Outcome,
        wanted: &dyn Fn(&FilePath) -> SurveyOptions,
        visit: &mut dyn FnMut(&mut ImageSurvey),
    ) -> (Survey, Option<Error>) {
        match outcome {
            Outcome::Scanned(scanned) => {
                let path = scanned.file().path.clone();
                match Survey::of(scanned, wanted(&path), visit) {
                    Ok(survey) => (survey, None),
                    Err(error) => (Survey::without_images(File::unreadable(path, &error)), Some(error)),
                }
            }
            outcome => {
                let (file, error) = outcome.into_file();
                (Survey::without_images(file), error)
            }
        }
    }

    /// Creates the survey of a file without images, or of one that could not be read.
    pub fn without_images(file: File) -> Survey {
        Survey { file, image_surveys: Vec::new(), host: None, packed: None, limits: Limits::default() }
    }

    /// Returns each device image with its survey.
    pub fn images(&self) -> impl Iterator<Item = (&Image, &ImageSurvey)> {
        self.file.device_images().zip(&self.image_surveys)
    }

    /// Returns for each device image the properties that only its decompressed bytes state, if they were read.
    pub fn cuda_codes(&self) -> Vec<Option<CudaCode>> {
        self.image_surveys.iter().map(|inside| inside.cuda.as_ref()?.as_ref().ok().copied()).collect()
    }
}

/// Returns the results of work on all device images of a file, in order. Calls `visit` with each.
pub fn map_all<R: Send>(
    scan: &Scan<InputSlice>,
    work: impl Fn(&ImageRef<'_>) -> R + Sync,
    visit: &mut dyn FnMut(&mut R),
) -> Vec<R> {
    let images: Vec<_> = scan.file().nested_images().collect();
    let mut results = Vec::with_capacity(images.len());
    scan.map_images(&images, |_, image| work(image), &mut |_, mut result| {
        visit(&mut result);
        results.push(result);
    });
    results
}

/// Returns what an inspection found in code that could hold kernels.
pub fn content(image: &Image, inspection: &Inspection) -> KernelContent {
    if image.has_content() { inspection.content() } else { KernelContent::Kernels }
}

fn survey_image(image: &ImageRef<'_>, wanted: SurveyOptions) -> ImageSurvey {
    let mut inside = ImageSurvey::default();
    if wanted.inspection {
        let mut inspection = inspect_with(image, |kind, view, demangler| {
            let read = if wanted.own_sizes { image::inspect_with_own_sizes } else { image::inspect_mangled };
            let found = read(kind, view);
            if wanted.demangled { found.demangled(view, demangler) } else { found }
        });
        inside.content = content(image, &inspection);
        if wanted.without_kernels {
            inspection.kernels = Vec::new();
        }
        inside.inspection = Some(inspection);
    }
    if wanted.build_paths {
        let paths = image.read().and_then(|bytes| image::build_paths(image.image_kind, bytes.view()));
        inside.build_paths = Some(paths);
    }
    if wanted.toolkit {
        inside.cuda = read_toolkit(image);
    }
    inside
}

/// Reads what only the bytes of compressed cubins state: for each device image, its properties, or the reason why they
/// cannot be read.
pub fn cuda_codes(scanned: &ScannedFile) -> Result<Vec<Option<Result<CudaCode, Malformed>>>> {
    let scan = scanned.open()?;
    let codes = map_all(&scan, read_toolkit, &mut |_| ());
    scan.source().input().check_unchanged()?;
    Ok(codes)
}

/// Size of the header of an ELF file.
const ELF_HEADER: usize = 64;

/// Reads the toolkit of a compressed cubin, if its container does not determine it.
fn read_toolkit(image: &ImageRef<'_>) -> Option<Result<CudaCode, Malformed>> {
    Some(match (unread_toolkit(image)?, image.codec) {
        (ToolkitBytes::Header, Some(codec)) if !image.cuda.is_grouped => image.stored_bytes().and_then(|stored| {
            let full_size = image.full_size.unwrap_or_default();
            let start = codec::decompress_start(codec, stored.view(), full_size, ELF_HEADER)?;
            Ok(origin(image.image_kind, stored.view().derived(&start)).cuda)
        }),
        _ => image.read().map(|bytes| origin(image.image_kind, bytes.view()).cuda),
    })
}
