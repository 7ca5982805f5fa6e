//! Input files on the command line, for all commands that scan.

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use anyhow::{Result, anyhow};
use clap::Args;

use super::problems::Problems;
use super::progress::Progress;
use super::status::Status;
use crate::error::Error;
use crate::inventory::File;
use crate::io::{Access, Input, STANDARD_INPUT};
use crate::scan::{InputPath, Outcome, Scanner, expand_paths};

#[derive(Default, Args)]
pub struct InputArguments {
    /// Files, directories (searched recursively) or archives (every member); `-` reads standard input
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    files: Vec<PathBuf>,

    /// Read more paths from this file, one per line; `-` reads standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,

    /// Kpack archive to read instead of those that split host files refer to, as ROCM_KPACK_PATH; repeatable
    #[arg(long, value_name = "FILE")]
    kpack_path: Vec<PathBuf>,

    /// Kpack archive to read before the others, as ROCM_KPACK_PATH_PREFIX; repeatable
    #[arg(long, value_name = "FILE")]
    kpack_path_prefix: Vec<PathBuf>,
}

/// Returns the path in a line of a list, in any encoding.
fn line_to_path(line: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(line).into();
    #[cfg(not(unix))]
    return String::from_utf8_lossy(line).into_owned().into();
}

impl InputArguments {
    /// Scans all inputs and calls `take` with each outcome, in order. Errors in a file are reported just before.
    pub fn scan(&self, scanner: &Scanner, problems: &Problems, take: &mut dyn FnMut(Outcome)) -> Result<()> {
        self.scan_and(scanner, problems, &|_, outcome| outcome, take)
    }

    /// Like [`InputArguments::scan`], with `work` on the index of the input and its outcome, which runs in parallel for
    /// several files.
    pub fn scan_and<R: Send>(
        &self,
        scanner: &Scanner,
        problems: &Problems,
        work: &(dyn Fn(usize, Outcome) -> R + Sync),
        take: &mut dyn FnMut(R),
    ) -> Result<()> {
        let (paths, list_error) = self.paths();
        if let Some((path, error)) = list_error {
            take(work(paths.len(), Outcome::Unreadable { path, error }));
        }
        let (inputs, failed) = expand_paths(&paths);
        for (index, outcome) in failed {
            take(work(index, outcome));
        }
        let total = inputs.iter().map(InputPath::size).sum();
        let progress = Mutex::new(Progress::of_files(total, inputs.len()));
        let locked = || progress.lock().unwrap_or_else(PoisonError::into_inner);
        let work = |index, outcome: Outcome| (outcome.path().to_owned(), scan_errors(&outcome), work(index, outcome));
        let scanner = scanner.clone().with_kpack_paths(self.kpack_path.clone(), self.kpack_path_prefix.clone());
        scanner.scan_inputs(&inputs, &work, &|input| locked().file_done(input.size()), &mut |batch| {
            locked().suspend(|| {
                for (path, errors, result) in batch {
                    problems.start_file(&path);
                    for error in errors {
                        problems.report(error);
                    }
                    take(result);
                }
            });
        });
        drop(progress);
        problems.flush();
        Ok(())
    }

    /// Creates the arguments for a single path.
    pub fn single(path: PathBuf) -> InputArguments {
        InputArguments { files: vec![path], ..InputArguments::default() }
    }

    /// Replaces a list of paths by the paths in it, so that it is read once.
    pub fn with_listed(self) -> Result<InputArguments> {
        let (files, failed) = self.paths();
        match failed {
            Some((_, error)) => Err(error.into()),
            None => Ok(InputArguments { files, files_from: None, ..self }),
        }
    }

    /// Returns the names of the inputs in messages, in order, without those of a list; see [`InputArguments::with_listed`].
    pub fn names(&self) -> Vec<String> {
        let name = |path: &PathBuf| match path.to_str() {
            Some("-") => STANDARD_INPUT.to_owned(),
            _ => path.to_string_lossy().into_owned(),
        };
        self.files.iter().map(name).collect()
    }

    /// Returns all paths in order, and the error of a list that cannot be read.
    fn paths(&self) -> (Vec<PathBuf>, Option<(String, Error)>) {
        let mut paths = self.files.clone();
        let Some(list) = &self.files_from else { return (paths, None) };
        match Input::open(list, Access::read()) {
            Ok(input) => {
                let lines = input.view().data().split(|&byte| byte == b'\n');
                let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
                paths.extend(lines.filter(|line| !line.is_empty()).map(line_to_path));
                (paths, None)
            }
            Err(error) => (paths, Some((list.to_string_lossy().into_owned(), error))),
        }
    }
}

/// Returns the errors of a file that was scanned.
fn scan_errors(outcome: &Outcome) -> Vec<Error> {
    let Outcome::Scanned(scanned) = outcome else { return Vec::new() };
    scanned.file().reported_errors().collect()
}

/// Remedy where only the scan reads kpack archives.
pub const SPECIFY_ARCHIVE: &str = "specify the archive, too";

/// Warns about files whose device code is in kpack archives that are not among the inputs: only the scan reads those.
pub fn warn_of_archives<'a>(files: impl Iterator<Item = &'a File>, problems: &Problems) {
    let archives = |file: &'a File| {
        let archives = file.kpack.iter().flat_map(|reference| &reference.archives);
        archives.map(|archive| archive.path.clone()).collect()
    };
    let files: Vec<(&str, Vec<String>)> = files.map(|file| (file.path.as_str(), archives(file))).collect();
    for warning in unread_archives(&files, SPECIFY_ARCHIVE) {
        problems.warn(warning);
    }
}

/// Returns an error for each kpack archive of a file that is not itself one of the files. Each file has its path and those of
/// its archives.
pub fn unread_archives(files: &[(&str, Vec<String>)], remedy: &str) -> Vec<anyhow::Error> {
    let on_disk = |path: &str| std::fs::canonicalize(path).ok();
    let mut scanned: Option<BTreeSet<PathBuf>> = None;
    let mut errors = Vec::new();
    for (file, archives) in files {
        for archive in archives {
            let scanned = scanned.get_or_insert_with(|| files.iter().filter_map(|(path, _)| on_disk(path)).collect());
            if on_disk(archive).is_none_or(|path| !scanned.contains(&path)) {
                errors.push(anyhow!("{file}: its device code in {archive} is not read; {remedy}"));
            }
        }
    }
    errors
}

/// Returns the exit status for a file whose images are read.
pub fn found_images(file: &File) -> Status {
    match found(file) {
        Status::Yes if file.device_images().next().is_none() => Status::No,
        status => status,
    }
}

/// Returns the exit status for a scanned file.
pub fn found(file: &File) -> Status {
    if !file.errors.is_empty() {
        Status::Trouble
    } else if file.has_device_code() {
        Status::Yes
    } else if file.not_opened.is_some() {
        Status::Unknown
    } else {
        Status::No
    }
}
