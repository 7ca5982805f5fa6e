//! `lock`: scans and analyzes files, and records their device code.

use std::ops::ControlFlow;
use std::path::PathBuf;

use super::analyze::survey;
use super::image_bytes::image_error;
use crate::error::{Error, Result};
use crate::lock::{Lock, LockedFile, locked_file};
use crate::scan::{CacheBudget, Options, Outcome, ScannedFile, Scanner, expand_paths};
use crate::survey::{AnalysisOptions, AnalyzedFile};

/// Scans and analyzes files for a lock.
#[derive(Debug, Clone, Copy)]
pub struct LockBuilder {
    options: Options,
    finds_causes: bool,
}

/// A file of a lock, and its errors.
#[derive(Debug, Default)]
pub struct RecordedFile {
    /// The file; `None` if it cannot be read. A listed file without device code is recorded too, so that a review shows it.
    pub file: Option<LockedFile>,
    /// Kpack archives with device code of the file, which are files by themselves.
    pub kpack_archives: Vec<String>,
    /// Errors in its containers, and the reason why it was not opened.
    pub scan_errors: Vec<Error>,
    /// Errors in its images, or the error that prevents reading it.
    pub errors: Vec<Error>,
}

impl LockBuilder {
    /// Creates a builder. It always hashes images.
    pub fn new(options: Options) -> Self {
        LockBuilder { options: Options { hash: true, ..options }, finds_causes: false }
    }

    /// Sets whether the parts of images are hashed that are causes of differences between builds. Locks do not record them.
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
                let empty = AnalyzedFile { file, analyses: Vec::new() };
                RecordedFile { file: Some(locked_file(&empty)), ..RecordedFile::default() }
            }
            Outcome::Scanned(scanned) => self.record_scanned(scanned).unwrap_or_else(failed),
        }
    }

    fn record_scanned(&self, scanned: ScannedFile) -> Result<RecordedFile> {
        let wanted = AnalysisOptions {
            inspection: true,
            code_hash: true,
            parts: self.finds_causes,
            ..AnalysisOptions::default()
        };
        let analyzed = survey(scanned, wanted)?;
        let mut errors = Vec::new();
        for (number, (image, inside)) in analyzed.images().enumerate() {
            for problem in inside.inspection.iter().flat_map(|inspection| &inspection.problems) {
                errors.push(image_error(&analyzed.file.path, number, image, problem.clone()));
            }
        }
        let scan_errors = analyzed.file.reported_errors().collect();
        let archives = analyzed.file.kpack.iter().flat_map(|reference| &reference.archives);
        let kpack_archives = archives.map(|archive| archive.path.clone()).collect();
        Ok(RecordedFile { file: Some(locked_file(&analyzed)), kpack_archives, scan_errors, errors })
    }
}

/// Records the device code in files, directories and archives. The lock is incomplete if there are errors.
pub fn lock_paths(paths: &[PathBuf], options: Options) -> (Lock, Vec<Error>) {
    let builder = LockBuilder::new(options);
    let (inputs, failed) = expand_paths(paths);
    let mut recorded: Vec<RecordedFile> = failed.into_iter().map(|(_, outcome)| builder.record(outcome)).collect();
    let record = |_, outcome| builder.record(outcome);
    let scanner = Scanner::new(builder.options).with_cache(CacheBudget::default());
    let _ = scanner.scan_inputs(&inputs, &record, &|_| (), &mut |batch| {
        recorded.extend(batch);
        ControlFlow::Continue(())
    });
    let (mut files, mut errors) = (Vec::new(), Vec::new());
    for file in recorded {
        files.extend(file.file);
        errors.extend(file.scan_errors);
        errors.extend(file.errors);
    }
    (Lock::new(files), errors)
}
