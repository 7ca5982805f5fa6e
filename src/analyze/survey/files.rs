//! The analysis of a file: its inventory, and what is inside its device images.
//!
//! Images are analyzed in parallel. Each thread decompresses one image at a time.

use crate::analyze::requires::{ToolkitBytes, unread_toolkit};
use crate::analyze::survey::{AnalysisOptions, AnalyzedFile, ImageAnalysis};
use crate::base::bytes::Limits;
use crate::base::codec;
use crate::base::error::{Error, Malformed, Result};
use crate::image;
use crate::scan::inspect::inspect_with;
use crate::scan::inventory::{CudaCode, File, origin};
use crate::scan::{ImageRef, InputSlice, Outcome, Scan, ScannedFile};

/// Analyzes the device images of a file.
pub fn survey(scanned: ScannedFile, wanted: AnalysisOptions) -> Result<AnalyzedFile> {
    let analyses = if wanted.any() {
        let scan = scanned.open()?;
        let analyses = map_all(&scan, |image| analyze_image(image, wanted));
        scan.source().input().check_unchanged()?;
        analyses
    } else {
        vec![ImageAnalysis::default(); scanned.file().device_images().count()]
    };
    let limits = scanned.limits();
    Ok(AnalyzedFile { file: scanned.into_file(), analyses, limits })
}

/// Analyzes the outcome of scanning a file. `wanted` returns what to analyze in a file with this path. A file that
/// cannot be read has no images, and its error is returned.
pub fn analyze_outcome(outcome: Outcome, wanted: &dyn Fn(&str) -> AnalysisOptions) -> (AnalyzedFile, Option<Error>) {
    let without_images = |file| AnalyzedFile { file, analyses: Vec::new(), limits: Limits::default() };
    match outcome {
        Outcome::Scanned(scanned) => {
            let path = scanned.file().path.clone();
            match survey(scanned, wanted(&path)) {
                Ok(analyzed) => (analyzed, None),
                Err(error) => (without_images(File::unreadable(path, &error)), Some(error)),
            }
        }
        outcome => {
            let (file, error) = outcome.into_file();
            (without_images(file), error)
        }
    }
}

/// Returns the results of work on all device images of a file, in order.
pub fn map_all<R: Send>(scan: &Scan<InputSlice>, work: impl Fn(&ImageRef<'_>) -> R + Sync) -> Vec<R> {
    let images: Vec<_> = scan.file().nested_images().collect();
    let mut results = Vec::with_capacity(images.len());
    scan.map_images(&images, |_, image| work(image), &mut |_, result| results.push(result));
    results
}

fn analyze_image(image: &ImageRef<'_>, wanted: AnalysisOptions) -> ImageAnalysis {
    let mut inside = ImageAnalysis::default();
    if wanted.inspection {
        let read = match (wanted.without_kernels, wanted.own_sizes) {
            (true, _) => image::inspect_mangled,
            (false, true) => image::inspect_with_own_sizes,
            (false, false) => image::inspect,
        };
        let mut inspection = inspect_with(image, read);
        if wanted.without_kernels {
            inspection.kernels = Vec::new();
        }
        inside.inspection = Some(inspection);
    }
    if wanted.build_paths {
        let paths = image.bytes().and_then(|bytes| image::build_paths(image.image().image_kind, bytes.view()));
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
    let codes = map_all(&scan, read_toolkit);
    scan.source().input().check_unchanged()?;
    Ok(codes)
}

/// Size of the header of an ELF file.
const ELF_HEADER: usize = 64;

/// Reads the toolkit of a compressed cubin, if its container does not determine it.
fn read_toolkit(image: &ImageRef<'_>) -> Option<Result<CudaCode, Malformed>> {
    let record = image.image();
    Some(match (unread_toolkit(record)?, record.codec) {
        (ToolkitBytes::Header, Some(codec)) if !record.cuda.is_grouped => image.stored_bytes().and_then(|stored| {
            let full_size = record.full_size.unwrap_or_default();
            let start = codec::decompress_start(codec, stored.view(), full_size, ELF_HEADER)?;
            Ok(origin(record.image_kind, stored.view().derived(&start)).cuda)
        }),
        _ => image.bytes().map(|bytes| origin(record.image_kind, bytes.view()).cuda),
    })
}
