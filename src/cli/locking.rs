//! Locks of the inputs of a command: of files that are analyzed, or read from a lock file.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result};

use super::access;
use super::inputs::{InputArguments, found};
use super::{Status, status};
use crate::error::{Error, Result as FileResult};
use crate::io::Input;
use crate::lock::{self, Lock, LockedFile};
use crate::ops;
use crate::scan::{CacheBudget, Options, Outcome, ScannedFile};
use crate::survey::{AnalysisOptions, AnalyzedFile};

/// Returns the lock of all device code in the inputs, and the exit status. Reports errors.
pub fn lock_of(inputs: &InputArguments, options: Options) -> Result<(Lock, Status)> {
    let options = Options { hash: true, ..options };
    let scanner = access::scanner(options).with_cache(CacheBudget::default());
    let (mut files, mut status) = (Vec::new(), Status::No);
    inputs.scan_and(&scanner, &|_, outcome| look(outcome, options), &mut |looked: Looked| {
        status = status.and(looked.status);
        files.extend(looked.file);
        looked.errors.into_iter().for_each(|error| status = status.and(status::report(&error.into())));
    })?;
    Ok((Lock::new(files), status))
}

/// Result of one file.
struct Looked {
    file: Option<LockedFile>,
    errors: Vec<Error>,
    status: Status,
}

fn look(outcome: Outcome, options: Options) -> Looked {
    let failed = |error| Looked { file: None, errors: vec![error], status: Status::Trouble };
    match outcome {
        Outcome::Unreadable { error, .. } => failed(error),
        Outcome::Empty(file) => {
            let nothing = AnalyzedFile { file, analyses: Vec::new() };
            Looked { file: Some(lock::locked_file(&nothing)), errors: Vec::new(), status: Status::No }
        }
        Outcome::Scanned(scanned) => look_into(scanned, options).unwrap_or_else(failed),
    }
}

fn look_into(scanned: ScannedFile, options: Options) -> FileResult<Looked> {
    let status = found(scanned.file());
    let wanted = AnalysisOptions { inspection: true, code_hash: true, build_paths: false };
    let surveyed = ops::survey(scanned, options, wanted)?;
    let mut errors = Vec::new();
    for (number, (image, inside)) in surveyed.images().enumerate() {
        let problems = inside.inspection.iter().flat_map(|inspection| &inspection.problems);
        errors.extend(problems.map(|problem| ops::image_error(&surveyed.file.path, number, image, problem.clone())));
    }
    // Listed files without device code are recorded too, so that a review shows them.
    Ok(Looked { file: Some(lock::locked_file(&surveyed)), errors, status })
}

/// Returns one side of a comparison: the lock in the file `path`, or a lock of its device code. The paths of the latter are
/// relative to `path`, so that two directories can be compared.
pub fn side(path: &Path, options: Options) -> Result<(Lock, Status)> {
    if let Some(lock) = written_lock(path)? {
        return Ok((lock, Status::Yes));
    }
    let (mut lock, status) = lock_of(&InputArguments::single(path.to_owned()), options)?;
    let named = path.to_string_lossy().replace(std::path::MAIN_SEPARATOR, "/");
    for file in &mut lock.files {
        if let Some(below) = file.path.strip_prefix(&named).map(|rest| rest.trim_start_matches(['/', '!']))
            && !below.is_empty()
        {
            file.path = below.to_owned();
        }
    }
    Ok((lock, status))
}

fn written_lock(path: &Path) -> Result<Option<Lock>> {
    if path.is_dir() || path == Path::new("-") {
        return Ok(None);
    }
    let input = Input::open(PathBuf::from(path), access::get())?;
    let bytes = input.view().data();
    if !lock::is_lock(bytes) {
        return Ok(None);
    }
    lock::read(bytes).map(Some).with_context(|| path.display().to_string())
}
