//! Scans of a list of paths: files, directories, archives.
//!
//! Several files are scanned at a time. Results come in path order, regardless of the order in time.

use std::fmt;
use std::ops::ControlFlow;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::ahead::map_inputs;
use super::kpack::KpackSearch;
use super::{InputSlice, OpenOptions, ScannedFile};
use crate::base::archive::zip::reader::RecordUse;
use crate::base::bytes::Limits;
use crate::base::error::{Error, Result};
use crate::base::file_path::FilePath;
use crate::base::io::{Access, files_below};
use crate::base::parallel::{Results, map_stream, threads};
use crate::scan::cache::CacheBudget;
use crate::scan::inventory::{File, FileFormat, Sign};
use crate::scan::{Calls, Options};

/// Number of files of a stream that are scanned before an earlier result is taken. Each file is kept open until then.
const WINDOW: usize = 64;

/// A file to scan.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct InputPath {
    /// The file.
    pub path: PathBuf,
    /// Index in the list of the path that led to it.
    pub index: usize,
    /// The file itself is in the list, not only its directory.
    pub is_listed: bool,
}

impl InputPath {
    /// Size of the file in bytes; 0 if it is not a file.
    pub fn size(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}

/// Replaces each directory in a list of paths by its files, and keeps the order. Returns an error for each directory
/// that cannot be read.
pub fn expand_paths(paths: &[PathBuf]) -> (Vec<InputPath>, Vec<(usize, Outcome)>) {
    let mut inputs = Vec::new();
    let mut failed = Vec::new();
    for (index, path) in paths.iter().enumerate() {
        let files = expand_path(index, path, &mut |outcome| failed.push((index, outcome)));
        inputs.extend(files);
    }
    (inputs, failed)
}

/// Returns the file at `path`, or the files in the directory at `path`. `index` is the index of the path in a list.
/// Calls `fail` for each directory that cannot be read.
pub fn expand_path(index: usize, path: &Path, fail: &mut dyn FnMut(Outcome)) -> Vec<InputPath> {
    if !path.is_dir() {
        return vec![InputPath { path: path.to_owned(), index, is_listed: true }];
    }
    let files = files_below(path, &mut |at, cause| fail(Outcome::unreadable(at, Error::io(at, "read")(cause))));
    files.into_iter().map(|path| InputPath { path, index, is_listed: false }).collect()
}

/// Result of scanning one file, or one member of an archive.
#[derive(Debug)]
pub enum Outcome {
    /// The file was scanned.
    Scanned(ScannedFile),
    /// The file could not be read.
    Unreadable {
        /// Name of the file.
        path: FilePath,
        /// The reason.
        error: Error,
    },
    /// An archive of the list whose members hold no device code.
    Empty(File),
}

impl Outcome {
    fn unreadable(path: &Path, error: Error) -> Outcome {
        Outcome::Unreadable { path: FilePath::new(path), error }
    }

    /// Returns the name of the file.
    pub fn path(&self) -> &FilePath {
        match self {
            Outcome::Scanned(scanned) => &scanned.file().path,
            Outcome::Unreadable { path, .. } | Outcome::Empty(File { path, .. }) => path,
        }
    }

    /// Path of the file on disk that was scanned, or that contains the scanned member; `None` for standard input and
    /// for files that were not scanned.
    pub fn outermost(&self) -> Option<&Path> {
        match self {
            Outcome::Scanned(scanned) => scanned.outermost().map(|path| &**path),
            Outcome::Unreadable { .. } | Outcome::Empty(_) => None,
        }
    }

    /// The inventory, and the error if the file could not be read.
    pub fn into_file(self) -> (File, Option<Error>) {
        match self {
            Outcome::Scanned(scanned) => (scanned.into_file(), None),
            Outcome::Empty(file) => (file, None),
            Outcome::Unreadable { path, error } => (File::unreadable(path, &error), Some(error)),
        }
    }
}

/// Scans paths.
#[derive(Debug, Clone, Default)]
pub struct Scanner {
    options: Options,
    record_use: RecordUse,
    limits: Limits,
    access: Access,
    budget: Option<CacheBudget>,
    kpack_paths: Vec<PathBuf>,
    kpack_prefix: Vec<PathBuf>,
    keeps: Option<fn(&FilePath) -> bool>,
    skips: Option<SkipsInput>,
}

/// Decides whether an input is left out.
#[derive(Clone)]
struct SkipsInput(Arc<dyn Fn(&InputPath) -> bool + Send + Sync>);

impl fmt::Debug for SkipsInput {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("SkipsInput")
    }
}

impl Scanner {
    /// Creates a scanner for inventories. It reads files into memory.
    pub fn new(options: Options) -> Self {
        Scanner { options, limits: Limits::default(), access: Access::read(), budget: None, ..Scanner::default() }
    }

    /// Applies these limits to each file.
    pub fn with_limits(self, limits: Limits) -> Self {
        Scanner { limits, ..self }
    }

    /// Sets how files are accessed.
    pub fn with_access(self, access: Access) -> Self {
        Scanner { access, ..self }
    }

    /// Keeps decompressed containers until their images are read. `budget` is the limit for all files together.
    #[doc(hidden)]
    pub fn with_cache(self, budget: CacheBudget) -> Self {
        Scanner { budget: Some(budget), ..self }
    }

    /// Sets where to look for the code of files that rocm-kpack has split. Unless `paths` is empty, its archives
    /// replace the archives that the files refer to. The archives of `prefix` are searched first.
    #[doc(hidden)]
    pub fn with_kpack_paths(self, paths: Vec<PathBuf>, prefix: Vec<PathBuf>) -> Self {
        Scanner { kpack_paths: paths, kpack_prefix: prefix, ..self }
    }

    /// Also returns files without device code, if `keeps` accepts their path.
    #[doc(hidden)]
    pub fn with_kept_files(self, keeps: fn(&FilePath) -> bool) -> Self {
        Scanner { keeps: Some(keeps), ..self }
    }

    /// Sets what is compared with the records of wheels.
    #[doc(hidden)]
    pub fn with_record_use(self, record_use: RecordUse) -> Self {
        Scanner { record_use, ..self }
    }

    /// Leaves out the inputs that `skips` accepts.
    #[doc(hidden)]
    pub fn without(self, skips: Arc<dyn Fn(&InputPath) -> bool + Send + Sync>) -> Self {
        Scanner { skips: Some(SkipsInput(skips)), ..self }
    }

    /// Scans `inputs`, and calls `work` with each outcome in parallel. Calls `take` with the results in the order of the
    /// inputs and their members, until it returns [`ControlFlow::Break`]. Few results wait for it, so a package of any
    /// size takes the memory of a few members. Calls `done` with each finished input.
    #[doc(hidden)]
    pub fn scan_inputs<R: Send>(
        &self,
        inputs: &[InputPath],
        work: &(dyn Fn(usize, Outcome) -> R + Sync),
        done: &(dyn Fn(&InputPath) + Sync),
        take: &mut dyn FnMut(R) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let scan = |input: &InputPath, send: &mut dyn FnMut(R)| self.scan_one(input, inputs.len(), work, done, send);
        let workers = if inputs.len() > 1 { threads() } else { 1 };
        map_stream(inputs.iter(), workers, WINDOW, scan, take)
    }

    /// Like [`Scanner::scan_inputs`], for a list of paths that may still be written. Each path is requested when a
    /// thread is free. A list may end with an error.
    #[doc(hidden)]
    pub fn scan_stream<R: Send>(
        &self,
        paths: impl Iterator<Item = Result<PathBuf, Box<Outcome>>> + Send,
        work: &(dyn Fn(usize, Outcome) -> R + Sync),
        done: &(dyn Fn(&InputPath) + Sync),
        take: &mut dyn FnMut(R) -> ControlFlow<()>,
    ) -> ControlFlow<()> {
        let expanded = paths.enumerate().flat_map(|(index, path)| {
            let mut failed = Vec::new();
            let files = match path {
                Ok(path) => expand_path(index, &path, &mut |outcome| failed.push(outcome)),
                Err(outcome) => {
                    failed.push(*outcome);
                    Vec::new()
                }
            };
            let failed = failed.into_iter().map(move |outcome| Err(Box::new((index, outcome))));
            failed.chain(files.into_iter().map(Ok))
        });
        let scan = |expanded: Result<InputPath, Box<(usize, Outcome)>>, send: &mut dyn FnMut(R)| match expanded {
            Ok(input) => self.scan_one(&input, threads(), work, done, send),
            Err(failed) => send(work(failed.0, failed.1)),
        };
        map_stream(expanded, threads(), WINDOW, scan, take)
    }

    /// Scans one of `files` inputs that share the threads, and calls `send` with the results of `work` on each outcome.
    fn scan_one<R: Send>(
        &self,
        input: &InputPath,
        files: usize,
        work: &(dyn Fn(usize, Outcome) -> R + Sync),
        done: &(dyn Fn(&InputPath) + Sync),
        send: &mut dyn FnMut(R),
    ) {
        if !self.skips.as_ref().is_some_and(|skips| skips.0(input)) {
            let results = Results::new();
            let keep = |outcome| results.keep(work(input.index, outcome));
            self.each_outcome(input, files, &keep, &mut |key| send(results.take(key)));
        }
        done(input);
    }

    /// Scans an input. Calls `work` with each outcome, and `take` with the keys of the results in order.
    fn each_outcome(
        &self,
        input: &InputPath,
        files: usize,
        work: &(dyn Fn(Outcome) -> usize + Sync),
        take: &mut dyn FnMut(usize),
    ) {
        let path = &input.path;
        let options = OpenOptions { limits: self.limits, record_use: self.record_use, ..OpenOptions::new(self.access) };
        let mut is_empty = true;
        let mut signs = Vec::new();
        let find = |slice: Result<InputSlice>, send: &mut dyn FnMut(Found)| {
            let outcome = slice.map(|slice| self.scan_slice(slice, input.is_listed));
            send(match outcome.unwrap_or_else(|error| Outcome::unreadable(path, error)) {
                Outcome::Scanned(scanned) if !self.is_kept(&scanned, input) => {
                    Found::Signs(scanned.file().signs.clone())
                }
                outcome => Found::Result(work(outcome)),
            });
        };
        let opened = map_inputs(path, options, files, &find, &mut |found| match found {
            Found::Signs(new) => add_signs(&mut signs, &new),
            Found::Result(key) => {
                is_empty = false;
                take(key);
            }
        });
        if let Err(error) = opened {
            is_empty = false;
            take(work(Outcome::unreadable(path, error)));
        }
        if is_empty && input.is_listed {
            let empty = File::empty(FilePath::new(path));
            take(work(Outcome::Empty(File { format: Some(FileFormat::Archive), size: input.size(), signs, ..empty })));
        }
    }

    /// Returns whether a scanned file is a result: one with findings, or one that was asked for.
    fn is_kept(&self, scanned: &ScannedFile, input: &InputPath) -> bool {
        let is_asked_for = input.is_listed && scanned.member().is_none();
        let file = scanned.file();
        is_asked_for || file.has_findings() || self.keeps.is_some_and(|keeps| keeps(&file.path))
    }

    fn scan_slice(&self, slice: InputSlice, is_listed: bool) -> Outcome {
        let path = slice.path.clone();
        let calls = match slice.path.member() {
            _ if !is_listed => Calls::No,
            Some(_) => Calls::Linked,
            None => Calls::All,
        };
        let options = Options { calls, ..self.options };
        match ScannedFile::scan(slice, options, self.budget.as_ref()) {
            Ok(mut scanned) => {
                let paths = self.kpack_paths.clone();
                let prefix = self.kpack_prefix.clone();
                scanned.find_archives(&KpackSearch { paths, prefix, limits: self.limits, access: self.access });
                Outcome::Scanned(scanned)
            }
            Err(error) => Outcome::Unreadable { path, error },
        }
    }
}

/// What was found in a member.
enum Found {
    /// The key of its result.
    Result(usize),
    /// Signs of device code, in a member that is no result.
    Signs(Vec<Sign>),
}

/// Adds the signs of a member that are new. There are at most as many as names.
fn add_signs(signs: &mut Vec<Sign>, of_member: &[Sign]) {
    for sign in of_member {
        if !signs.contains(sign) {
            signs.push(*sign);
        }
    }
}
