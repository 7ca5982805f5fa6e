//! Input files on the command line, for all commands that scan.

use std::collections::BTreeSet;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::Args;

use super::failure::{Failure, Result};
use super::headings::INPUT;
use super::path_list::{PathList, is_stream};
use super::problems::Problems;
use super::progress::Progress;
use super::status::Status;
use fatbin_core::base::error::Error;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::{FileSet, STANDARD_INPUT};
use fatbin_core::base::parallel::Results;
use fatbin_core::format::ContainerType;
use fatbin_core::scan::inventory::File;
use fatbin_core::scan::{InputPath, Outcome, Scanner, expand_paths};
use fatbin_ops::analyze::survey::Survey;

#[derive(Default, Args)]
pub struct InputArguments {
    /// Files, directories (searched recursively) or archives (every member); `-` reads standard input
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    files: Vec<PathBuf>,

    /// Read more paths from this file, one per line; `-` reads standard input
    ///
    /// A pipe is read while its files are processed.
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    files_from: Option<PathBuf>,

    /// Kpack archive to read instead of the archives that split host files refer to, as ROCM_KPACK_PATH; repeatable
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    kpack_path: Vec<PathBuf>,

    /// Kpack archive to read before the others, as ROCM_KPACK_PATH_PREFIX; repeatable
    #[arg(long, value_name = "FILE", help_heading = INPUT)]
    kpack_path_prefix: Vec<PathBuf>,

    /// Set that receives the paths of a list.
    #[arg(skip)]
    set: Option<FileSet>,
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
        self.scan_until(scanner, problems, work, &mut |result| {
            take(result);
            ControlFlow::Continue(())
        })
    }

    /// Like [`InputArguments::scan_and`], until `take` returns [`ControlFlow::Break`]. A list that is a pipe is read
    /// while its files are scanned.
    pub fn scan_until<R: Send>(
        &self,
        scanner: &Scanner,
        problems: &Problems,
        work: &(dyn Fn(usize, Outcome) -> R + Sync),
        take: &mut dyn FnMut(R) -> ControlFlow<()>,
    ) -> Result<()> {
        let results = Results::new();
        let work = |index, outcome| results.keep(work(index, outcome));
        self.scan_keys(scanner, problems, &work, &mut |key| take(results.take(key)))
    }

    /// Scans, with the keys of results: this function is large, and has one form for all types.
    fn scan_keys(
        &self,
        scanner: &Scanner,
        problems: &Problems,
        work: &(dyn Fn(usize, Outcome) -> usize + Sync),
        take: &mut dyn FnMut(usize) -> ControlFlow<()>,
    ) -> Result<()> {
        problems.session().record_inputs(
            self.names().into_iter().chain(self.files_from.iter().map(|list| list.to_string_lossy().into_owned())),
        );
        let scanner = scanner.clone().with_kpack_paths(self.kpack_path.clone(), self.kpack_path_prefix.clone());
        let work = |index, outcome: Outcome| (outcome.path().clone(), scan_errors(&outcome), work(index, outcome));
        let mut take = |(path, errors, key): (FilePath, Vec<Error>, usize)| {
            problems.start_file(&path);
            for error in errors {
                problems.report(error);
            }
            take(key)
        };
        if self.files_from.as_deref().is_some_and(is_stream) {
            let progress = Progress::of_stream(problems.session().progress());
            let paths = self.paths().map(|path| path.map_err(|error| Box::new(self.unreadable_list(error))));
            let advance = |input: &InputPath| progress.file_done(input.size());
            let _ = scanner.scan_stream(paths, &work, &advance, &mut take);
        } else {
            let (mut paths, mut failed) = (Vec::new(), Vec::new());
            for path in self.paths() {
                match path {
                    Ok(path) => paths.push(path),
                    Err(error) => failed.push((paths.len(), self.unreadable_list(error))),
                }
            }
            let (inputs, unreadable) = expand_paths(&paths);
            failed.extend(unreadable);
            let found = inputs.iter().map(|input| input.index).chain(failed.iter().map(|(index, _)| *index)).collect();
            self.report_empty_directories(&found, problems);
            let mut failed = failed.into_iter().map(|(index, outcome)| work(index, outcome));
            problems.session().record_files(inputs.len());
            let total = inputs.iter().map(InputPath::size).sum();
            let progress = Progress::of_files(problems.session().progress(), total, inputs.len());
            let advance = |input: &InputPath| progress.file_done(input.size());
            if failed.try_for_each(&mut take).is_continue() {
                let _ = scanner.scan_inputs(&inputs, &work, &advance, &mut take);
            }
        }
        problems.flush();
        Ok(())
    }

    /// A directory without files is the reason why nothing is found, or likely a mistake among other inputs.
    /// `found` has the indexes of inputs with files or errors.
    fn report_empty_directories(&self, found: &BTreeSet<usize>, problems: &Problems) {
        for (index, path) in self.files.iter().enumerate() {
            if found.contains(&index) || !path.is_dir() {
                continue;
            }
            if problems.session().is_only_input() {
                problems.session().record_reason("no files");
            } else {
                problems.warn(anyhow!("{}: no files", path.display()));
            }
        }
    }

    /// Adds all inputs to a set. The paths in a list are added when the list is read.
    pub fn add_to(&mut self, set: &FileSet) {
        let lists = self.files_from.iter().filter(|path| !is_stream(path));
        for path in self.files.iter().chain(lists).chain(&self.kpack_path).chain(&self.kpack_path_prefix) {
            set.add_input(path);
        }
        self.set = Some(set.clone());
        if self.files_from.as_deref().is_some_and(|list| !is_stream(list)) {
            // Errors are reported when the list is read again.
            self.paths().for_each(drop);
        }
    }

    /// Creates the arguments for a single path.
    pub fn single(path: PathBuf) -> InputArguments {
        InputArguments { files: vec![path], ..InputArguments::default() }
    }

    /// Replaces a list of paths by the paths in it, so that it is read once.
    pub fn with_listed(self) -> Result<InputArguments> {
        let files = self.paths().collect::<Result<Vec<PathBuf>, Error>>()?;
        Ok(InputArguments { files, files_from: None, ..self })
    }

    /// Returns the names of the inputs for messages, in order. The paths in a list are left out; see
    /// [`InputArguments::with_listed`].
    pub fn names(&self) -> Vec<String> {
        let name = |path: &PathBuf| match path.to_str() {
            Some("-") => STANDARD_INPUT.to_owned(),
            _ => FilePath::new(path).into(),
        };
        self.files.iter().map(name).collect()
    }

    /// Size of the inputs on disk in bytes: of files, and of all files in directories.
    pub fn size_on_disk(&self) -> u64 {
        expand_paths(&self.files).0.iter().map(InputPath::size).sum()
    }

    /// All paths in order. A list that cannot be read yields an error.
    fn paths(&self) -> impl Iterator<Item = Result<PathBuf, Error>> {
        let listed = self.files_from.iter().flat_map(|list| {
            let (opened, failed) = match PathList::open(list) {
                Ok(paths) => (Some(paths), None),
                Err(error) => (None, Some(Err(error))),
            };
            opened.into_iter().flatten().chain(failed)
        });
        let listed = listed.inspect(|path| {
            if let (Some(set), Ok(path)) = (&self.set, path) {
                set.add_input(path);
            }
        });
        self.files.iter().cloned().map(Ok).chain(listed)
    }

    fn unreadable_list(&self, error: Error) -> Outcome {
        let path = FilePath::new(self.files_from.as_deref().unwrap_or(Path::new("")));
        Outcome::Unreadable { path, error }
    }
}

fn scan_errors(outcome: &Outcome) -> Vec<Error> {
    let Outcome::Scanned(scanned) = outcome else { return Vec::new() };
    scanned.file().reported_errors().collect()
}

/// Remedy where only the scan reads kpack archives.
pub const SPECIFY_ARCHIVE: &str = "specify the archive, too";

/// Files whose device code is in kpack archives. Only the scan reads such archives.
#[derive(Default)]
pub struct KpackArchives {
    /// Paths of the inputs that are, or may be, archives.
    read: Vec<PathBuf>,
    /// Paths of files, each with the path of one of its archives.
    references: Vec<(String, String)>,
}

impl KpackArchives {
    /// Adds a file.
    pub fn add(&mut self, file: &File) {
        if file.is_incomplete() || file.containers.iter().any(|it| it.container_type == ContainerType::Kpack) {
            self.read.push(file.path.on_disk().to_owned());
        }
        let archives = file.kpack.iter().flat_map(|reference| &reference.archives);
        self.references.extend(archives.map(|archive| (file.path.to_string(), archive.path.clone())));
    }

    /// Creates a list of the file of an outcome, if it was scanned.
    pub fn of(outcome: &Outcome) -> Self {
        let mut archives = KpackArchives::default();
        if let Outcome::Scanned(scanned) = outcome {
            archives.add(scanned.file());
        }
        archives
    }

    /// Returns whether a file refers to an archive.
    pub fn are_referenced(&self) -> bool {
        !self.references.is_empty()
    }

    /// Adds the files of another list.
    pub fn merge(&mut self, other: KpackArchives) {
        self.read.extend(other.read);
        self.references.extend(other.references);
    }

    /// Returns an error for each archive that is not among the inputs.
    pub fn unread(self, remedy: &str) -> Vec<Failure> {
        let read = self.read.iter().take_while(|_| self.are_referenced());
        let read: BTreeSet<PathBuf> = read.filter_map(|path| path.canonicalize().ok()).collect();
        let is_unread = |(_, archive): &(String, String)| {
            Path::new(archive).canonicalize().ok().is_none_or(|path| !read.contains(&path))
        };
        let error = |(file, archive)| anyhow!("{file}: its device code in {archive} is not read; {remedy}").into();
        self.references.into_iter().filter(is_unread).map(error).collect()
    }

    /// Warns about the archives that are not among the inputs.
    pub fn warn(self, problems: &Problems) {
        for warning in self.unread(SPECIFY_ARCHIVE) {
            problems.warn(warning);
        }
    }
}

/// Warns about files whose device code is in kpack archives that are not among the inputs.
pub fn warn_of_archives<'a>(files: impl Iterator<Item = &'a File>, problems: &Problems) {
    let mut archives = KpackArchives::default();
    files.for_each(|file| archives.add(file));
    archives.warn(problems);
}

/// Returns the exit status for a surveyed file, and reports its error.
pub fn survey_status(survey: &Survey, error: Option<Error>, problems: &Problems) -> Status {
    let found = if survey.file.failure.is_some() { Status::Trouble } else { found_images(&survey.file) };
    error.map_or(found, |error| found.and(problems.report(error)))
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
    } else if file.not_opened.is_some() || file.unknown_code().next().is_some() {
        Status::Unknown
    } else {
        Status::No
    }
}
