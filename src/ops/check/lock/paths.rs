//! `lock`: scans and analyzes files, and records their device code.

use std::sync::{Arc, Mutex, PoisonError};

use sha2::{Digest, Sha256};

use crate::analyze::survey::map_all;
use crate::check::lock::{ImageContents, KernelPool, LockedFile, LockedImage, locked_file, locked_image};
use fatbin_core::base::codec::Codec;
use fatbin_core::base::error::{Error, Malformed, Result};
use fatbin_core::image;
use fatbin_core::scan::inspect::{ImageErrors, inspect_with};
use fatbin_core::scan::{ImageRef, Options, Outcome, ScannedFile};

/// Scans and analyzes files for a lock.
///
/// The scan does not hash images: each image is decompressed once, for its hashes and for its kernels, and only its
/// lock entry is kept.
#[derive(Debug, Clone)]
pub struct LockBuilder {
    options: Options,
    finds_causes: bool,
    hashes_images: bool,
    /// Names and figures of the kernels of all files.
    pool: Arc<Mutex<KernelPool>>,
}

/// A file of a lock, and its errors.
#[derive(Debug, Default)]
pub struct RecordedFile {
    /// The file; `None` if it cannot be read. A listed file without device code is recorded too, so that a review shows
    /// it.
    pub file: Option<LockedFile>,
    /// Errors in its containers, and the reason why it was not opened.
    pub scan_errors: Vec<Error>,
    /// Errors in its images, or the error that prevents reading it.
    pub errors: Vec<Error>,
}

impl LockBuilder {
    /// Creates a builder. With the option `hash`, it records the SHA-256 of images.
    pub fn new(options: Options) -> Self {
        LockBuilder {
            options: options.with_hash(false),
            finds_causes: false,
            hashes_images: options.hash,
            pool: Arc::default(),
        }
    }

    /// Sets whether the parts of images are hashed that are causes of differences between builds. Locks do not record
    /// them.
    pub fn find_causes(self, finds_causes: bool) -> Self {
        LockBuilder { finds_causes, ..self }
    }

    /// Returns the options of the scan whose outcomes [`LockBuilder::record`] takes.
    pub fn scan_options(&self) -> Options {
        self.options
    }

    /// Analyzes and records the outcome of scanning a file.
    pub fn record(&self, outcome: Outcome) -> RecordedFile {
        let failed = |error| RecordedFile { errors: vec![error], ..RecordedFile::default() };
        match outcome {
            Outcome::Unreadable { error, .. } => failed(error),
            Outcome::Empty(file) => {
                RecordedFile { file: Some(locked_file(&file, Vec::new())), ..RecordedFile::default() }
            }
            Outcome::Scanned(scanned) => self.record_scanned(scanned).unwrap_or_else(failed),
        }
    }

    fn record_scanned(&self, scanned: ScannedFile) -> Result<RecordedFile> {
        let scan = scanned.open()?;
        let file = scan.file();
        let mut images = Vec::new();
        let mut errors = Vec::new();
        let image_errors = ImageErrors::new(file);
        let recorded = map_all(&scan, |image| self.record_image(image), &mut |_| ());
        for ((number, image), (locked, problems)) in file.device_images().enumerate().zip(recorded) {
            images.push(locked);
            errors.extend(image_errors.of(number, image, problems));
        }
        scan.source().input().check_unchanged()?;
        Ok(RecordedFile {
            scan_errors: file.reported_errors().collect(),
            errors,
            file: Some(locked_file(file, images)),
        })
    }

    /// Returns the lock entry of an image, and the problems in it.
    fn record_image(&self, image: &ImageRef<'_>) -> (LockedImage, Vec<Malformed>) {
        let mut inspection = inspect_with(image, |kind, view, _| image::inspect_mangled(kind, view));
        let kind = image.image_kind;
        let mut sha256 = None;
        let mut digests = None;
        let mut parts = None;
        let mut kernel_codes = Vec::new();
        match image.read() {
            Ok(bytes) => {
                digests = image::image_digests(kind, bytes.view()).ok();
                match image::kernel_codes(kind, bytes.view(), &inspection.kernels) {
                    Ok(codes) => kernel_codes = codes,
                    Err(problem) if inspection.problems.contains(&problem) => {}
                    Err(problem) => inspection.problems.push(problem),
                }
                if self.hashes_images || digests.is_none() {
                    sha256 = Some(Sha256::digest(&*bytes).into());
                }
                parts = if self.finds_causes { image::image_parts(kind, bytes.view()).ok() } else { None };
            }
            // The codec states that these bytes cannot be read.
            Err(_) if image.codec == Some(Codec::Opaque) => {}
            Err(problem) if inspection.problems.is_empty() => inspection.problems.push(problem),
            Err(_) => {}
        }
        let contents = ImageContents { inspection: &inspection, kernel_codes: &kernel_codes, sha256, digests, parts };
        let mut pool = self.pool.lock().unwrap_or_else(PoisonError::into_inner);
        pool.limit();
        let locked = locked_image(image, image.containers(), contents, &mut pool);
        (locked, inspection.problems)
    }
}
