//! Locks of the inputs of a command, from analyzed files or from a lock file.

use std::path::{Path, PathBuf};

use super::Status;
use super::failure::{Context, Result};
use super::inputs::{InputArguments, KpackArchives};
use super::limit::LimitArguments;
use super::problems::Problems;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::{Access, Input};
use fatbin_core::scan::{CacheBudget, Options, Scanner};
use fatbin_ops::check::lock::paths::{LockBuilder, RecordedFile};
use fatbin_ops::check::lock::{self, Lock, LockedFile};

/// Returns the lock of all device code in the inputs, and the exit status. Reports errors. With `remedy`, also reports
/// files whose device code is in kpack archives that are not among the inputs.
pub fn lock_of(
    inputs: &InputArguments,
    limits: &LimitArguments,
    problems: &Problems,
    remedy: &str,
    builder: &LockBuilder,
) -> Result<(Lock, Status)> {
    let mut files = Vec::new();
    let scanner = limits.scanner(problems.session(), builder.scan_options());
    let status = each_file(inputs, scanner, problems, remedy, builder, &|file, _| file, &mut |file| {
        files.push(file);
        Ok(())
    })?;
    Ok((Lock::new(files), status))
}

/// Calls `take` with what `keep` returns for each file, which runs in parallel. Returns the exit status.
pub fn each_file<T: Send>(
    inputs: &InputArguments,
    scanner: Scanner,
    problems: &Problems,
    remedy: &str,
    builder: &LockBuilder,
    keep: &(impl Fn(LockedFile, &KpackArchives) -> T + Sync),
    take: &mut dyn FnMut(T) -> Result<()>,
) -> Result<Status> {
    let mut taken = Ok(());
    let mut archives = KpackArchives::default();
    let mut status = Status::No;
    let scanner = scanner.with_cache(CacheBudget::default());
    let record = |_, outcome| {
        let archives = KpackArchives::of(&outcome);
        let mut recorded = builder.record(outcome);
        let of_file = status_of(&recorded);
        let file = recorded.file.take().map(|file| keep(file, &archives));
        (recorded, archives, of_file, file)
    };
    inputs.scan_and(&scanner, problems, &record, &mut |(recorded, named, of_file, file)| {
        status = status.and(of_file);
        archives.merge(named);
        if let (Some(file), true) = (file, taken.is_ok()) {
            taken = take(file);
        }
        for error in recorded.errors {
            status = status.and(problems.report(error));
        }
    })?;
    for error in archives.unread(remedy) {
        status = status.and(problems.report(error));
    }
    taken.map(|()| status)
}

/// Exit status for a file. Errors in its images are not counted.
fn status_of(recorded: &RecordedFile) -> Status {
    if !recorded.scan_errors.is_empty() {
        Status::Trouble
    } else if recorded.file.as_ref().is_some_and(|file| !file.images.is_empty()) {
        Status::Yes
    } else {
        Status::No
    }
}

/// Returns one side of a comparison: the lock in the file `path`, or a new lock of its device code. Paths in a new lock
/// are relative to `path`, so that two directories can be compared.
pub fn side(path: &Path, limits: &LimitArguments, problems: &Problems) -> Result<(Lock, Status)> {
    if let Some(lock) = read_lock(path, limits)? {
        return Ok((lock, Status::Yes));
    }
    let input = InputArguments::single(path.to_owned());
    let builder = LockBuilder::new(Options::default()).find_causes(true);
    let (mut lock, status) = lock_of(&input, limits, problems, "compare directories with both, or locks", &builder)?;
    for file in &mut lock.files {
        file.path = below(&file.path, path);
    }
    Ok((lock, status))
}

/// Returns the path of a file relative to the directory or archive that it was found in. A file that is an input itself
/// keeps its path.
pub fn below(file: &str, input: &Path) -> String {
    let input = FilePath::new(input).replace(std::path::MAIN_SEPARATOR, "/");
    let rest = file.strip_prefix(&input).map(|rest| rest.trim_start_matches(['/', '!']));
    rest.filter(|rest| !rest.is_empty()).unwrap_or(file).to_owned()
}

/// Reads the file at this path if it is a lock.
pub fn read_lock(path: &Path, limits: &LimitArguments) -> Result<Option<Lock>> {
    if path.is_dir() {
        return Ok(None);
    }
    let input = Input::open(PathBuf::from(path), Access::read())?;
    if !lock::is_lock(input.view().data()) {
        return Ok(None);
    }
    let lock = lock::read_within(input.view().data(), limits.limits());
    Ok(Some(lock.with_context(|| path.display().to_string())?))
}
