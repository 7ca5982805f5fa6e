//! The files that a run reads and writes. No output is an input or another output, and a text does not replace a binary
//! file.
//!
//! `Output` takes its path only from a [`FileSet`], so an output that is not compared with the inputs does not compile.
//! A name that comes from an input is an [`OutputName`], which is no path: only [`FileSet::output_in`] takes it.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::created_directory::CreatedDirectories;
use super::destination::{self, Destination};
use super::file_state::{FileKey, FileState};
use super::output_name::OutputName;
use super::{Input, STANDARD_INPUT, journal};
use crate::base::error::{Error, Result};
use crate::base::io::FileUri;

/// Number of leading bytes that distinguish a text from a binary file.
const SAMPLE: u64 = 64 << 10;

/// Contents of an output.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OutputKind {
    /// Device code, objects and other binary files, and code as text.
    Code,
    /// Reports, policies and other texts, which do not replace a binary file.
    Text,
}

/// Inputs and outputs of a run.
#[derive(Debug, Clone, Default)]
pub struct FileSet {
    accepts_inputs: bool,
    /// Existing files get the bytes of [`super::Output::update`], and keep their owner and hard links.
    updates: bool,
    replaces_binaries: bool,
    /// Refuses to replace a read-only file. Renaming a new file needs no permission to write to the old one.
    keeps_read_only: bool,
    known: Arc<Mutex<KnownFiles>>,
}

/// Path of an output that differs from all other files of the run.
#[derive(Debug)]
pub struct OutputPath {
    /// The path as it was specified.
    pub(super) path: PathBuf,
    pub(super) destination: Destination,
    pub(super) kind: OutputKind,
    pub(super) replaced: Replaced,
    pub(super) files: FileSet,
}

impl OutputPath {
    /// Returns whether an existing file gets the bytes.
    pub(super) fn is_updated(&self) -> bool {
        self.files.updates
    }
}

/// File that an output may replace.
#[derive(Debug)]
pub enum Replaced {
    /// Any file.
    Any,
    /// The input, as it was when it was read.
    Input(FileState),
}

/// Files that are known so far.
#[derive(Debug, Default)]
struct KnownFiles {
    inputs: BTreeSet<FileKey>,
    /// Canonical paths of directories that are searched for inputs.
    input_directories: BTreeSet<PathBuf>,
    /// Existing files that outputs will replace.
    replaced: BTreeSet<FileKey>,
    /// Canonical paths of outputs.
    places: BTreeSet<PathBuf>,
    /// Outputs that have their names.
    written: BTreeSet<FileKey>,
    /// Canonical paths of directories.
    directories: BTreeMap<PathBuf, PathBuf>,
    created: CreatedDirectories,
}

impl FileSet {
    /// Creates a set without files.
    pub fn new() -> Self {
        FileSet::default()
    }

    /// Creates a set of these inputs.
    pub fn of_inputs<'a>(inputs: impl IntoIterator<Item = &'a Input>) -> Self {
        let files = FileSet::new();
        for input in inputs {
            let is_standard_input = !input.is_on_disk() && input.path() == Path::new(STANDARD_INPUT);
            files.add_input(if is_standard_input { Path::new("-") } else { input.path() });
        }
        files
    }

    /// Creates a set of these paths, which need not exist. Outputs do not replace read-only files.
    pub fn of_paths<'a>(inputs: impl IntoIterator<Item = &'a Path>) -> Self {
        let files = FileSet { keeps_read_only: true, ..FileSet::new() };
        inputs.into_iter().for_each(|path| files.add_input(path));
        files
    }

    /// Accepts inputs as outputs if `accepts` is set, to match tools that do so.
    pub fn accepting_inputs(self, accepts: bool) -> Self {
        FileSet { accepts_inputs: accepts, ..self }
    }

    /// Lets [`super::Output::update`] write existing files in place if `updates` is set, to match tools that truncate
    /// their outputs.
    pub fn updating(self, updates: bool) -> Self {
        FileSet { updates, ..self }
    }

    /// Lets texts replace binary files if `replaces` is set.
    pub fn replacing_binaries(self, replaces: bool) -> Self {
        FileSet { replaces_binaries: replaces, ..self }
    }

    /// Adds an input: a file, a directory with all files in it, or `-` for standard input.
    pub fn add_input(&self, path: &Path) {
        let path = match FileUri::parse(path) {
            Some(Ok(address)) => address.path,
            _ => path.to_owned(),
        };
        let key = if path == Path::new("-") { standard_input() } else { FileKey::of_path(&path) };
        let mut known = lock(&self.known);
        if path.is_dir() {
            known.input_directories.extend(path.canonicalize());
        }
        known.inputs.extend(key);
    }

    /// Adds an output at a path that the user specified. A symbolic link is followed; `-` is standard output.
    pub fn output(&self, path: &Path, kind: OutputKind) -> Result<OutputPath> {
        let destination = Destination::of(path).map_err(Error::io(path, "write"))?;
        match &destination {
            Destination::Directory => return Err(Error::NotAFile { path: path.to_owned(), found: "a directory" }),
            Destination::Special(_, file) => self.admit_open_file(path, file)?,
            Destination::File(file) => self.admit(path, file, kind)?,
        }
        let replaced = Replaced::Any;
        Ok(OutputPath { path: path.to_owned(), destination, kind, replaced, files: self.clone() })
    }

    /// Adds an output at a path that the user specified, like tools that replace a symbolic link of its name.
    pub fn output_in_place_of_link(&self, path: &Path, kind: OutputKind) -> Result<OutputPath> {
        self.admit(path, path, kind)?;
        let destination = Destination::File(path.to_owned());
        Ok(OutputPath { path: path.to_owned(), destination, kind, replaced: Replaced::Any, files: self.clone() })
    }

    /// Adds an output with a name from an input, below a directory that the user specified. Directories in the name are
    /// created. A symbolic link of the file's own name is replaced; one in place of a directory is an error.
    pub fn output_in(&self, directory: &Path, name: &OutputName, kind: OutputKind) -> Result<OutputPath> {
        lock(&self.known).created.create_below(directory, name)?;
        self.output_in_place_of_link(&directory.join(name.as_path()), kind)
    }

    /// Creates a directory that the user specified, with its parents. When the set is dropped, the directories that it
    /// created and that have no outputs are removed.
    pub fn create_directory(&self, directory: &Path) -> Result<()> {
        lock(&self.known).created.create(directory)
    }

    /// Adds an input that is replaced by an output made from it, if it is still the same file at the end.
    pub fn replacement(&self, path: &Path) -> Result<OutputPath> {
        let metadata = std::fs::metadata(path).map_err(Error::io(path, "open"))?;
        if !metadata.is_file() {
            let found = if metadata.is_dir() { "a directory" } else { "a device, pipe or socket" };
            return Err(Error::NotAFile { path: path.to_owned(), found });
        }
        let output = self.clone().accepting_inputs(true).output(path, OutputKind::Code)?;
        Ok(OutputPath { replaced: Replaced::Input(FileState::of_metadata(&metadata)), ..output })
    }

    /// Returns an error if the output `path` leads to an input that was added since, or to another output that already
    /// has its name: names that differ only in their case are one on some file systems. Otherwise returns whether it
    /// replaces a file of a searched directory.
    pub(super) fn check_again(&self, path: &Path, kind: OutputKind) -> Result<bool> {
        let Some(key) = FileKey::of_path(path) else { return Ok(false) };
        let mut known = lock(&self.known);
        if known.written.contains(&key) {
            return Err(Error::SameOutput { path: path.to_owned() });
        }
        let place = known.place(path);
        let is_below = !self.accepts_inputs && known.is_input_below(&place);
        let is_input = !self.accepts_inputs && known.inputs.contains(&key);
        if is_input || is_below && (kind == OutputKind::Code || !is_text(path)) {
            return Err(Error::SameFile { path: path.to_owned() });
        }
        Ok(is_below)
    }

    /// Records an output that has its name.
    pub(super) fn add_written(&self, file: &File) {
        lock(&self.known).written.extend(FileKey::of_file(file));
    }

    fn admit_open_file(&self, path: &Path, file: &File) -> Result<()> {
        let key = if destination::is_device(file) { None } else { FileKey::of_file(file) };
        let mut known = lock(&self.known);
        let Some(key) = key else { return Ok(()) };
        if !self.accepts_inputs && known.inputs.contains(&key) {
            return Err(Error::SameFile { path: path.to_owned() });
        }
        if known.replaced.insert(key) { Ok(()) } else { Err(Error::SameOutput { path: path.to_owned() }) }
    }

    /// Admits the output `file`, which was specified as `path`.
    fn admit(&self, path: &Path, file: &Path, kind: OutputKind) -> Result<()> {
        let key = FileKey::of_path(file);
        self.check_again(file, kind).map_err(|error| match error {
            Error::SameFile { .. } => Error::SameFile { path: path.to_owned() },
            _ => Error::SameOutput { path: path.to_owned() },
        })?;
        if kind == OutputKind::Text && key.is_some() && !self.replaces_binaries && !is_text(file) {
            return Err(Error::ReplacesBinary { path: path.to_owned() });
        }
        // A user who may write to every file has made it read-only for a reason, too.
        let is_read_only = || std::fs::metadata(file).is_ok_and(|it| it.permissions().readonly());
        if self.keeps_read_only && !self.accepts_inputs && is_read_only() {
            return Err(Error::ReadOnly { path: path.to_owned() });
        }
        let mut known = lock(&self.known);
        let place = known.place(file);
        let is_first = known.places.insert(place) && key.is_none_or(|key| known.replaced.insert(key));
        if is_first { Ok(()) } else { Err(Error::SameOutput { path: path.to_owned() }) }
    }
}

impl KnownFiles {
    /// Returns the canonical path of an output. The file need not exist.
    fn place(&mut self, file: &Path) -> PathBuf {
        let directory = destination::directory(file);
        let canonical = self.directories.entry(directory.to_owned());
        let canonical = canonical.or_insert_with(|| {
            journal::find_unfinished(directory);
            directory.canonicalize().unwrap_or_else(|_| directory.to_owned())
        });
        canonical.join(file.file_name().unwrap_or_default())
    }

    fn is_input_below(&self, place: &Path) -> bool {
        place.ancestors().skip(1).any(|directory| self.input_directories.contains(directory))
    }
}

fn lock(known: &Mutex<KnownFiles>) -> MutexGuard<'_, KnownFiles> {
    known.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Identity of the regular file that standard input reads; `None` if it reads something else.
fn standard_input() -> Option<FileKey> {
    #[cfg(unix)]
    {
        let file = std::os::fd::AsFd::as_fd(&std::io::stdin()).try_clone_to_owned().map(File::from).ok()?;
        if file.metadata().is_ok_and(|metadata| metadata.is_file()) { FileKey::of_file(&file) } else { None }
    }
    #[cfg(not(unix))]
    None
}

/// First bytes of containers that may consist of text.
const TEXT_CONTAINERS: [&[u8]; 2] = [b"!<arch>\n", b"!<thin>\n"];

/// Marker of bundles of texts, in a comment of their language.
const TEXT_BUNDLE: &str = "__CLANG_OFFLOAD_BUNDLE__";

/// True if the first bytes of a file are text and not a container. False for a file that cannot be read.
fn is_text(path: &Path) -> bool {
    let mut sample = Vec::new();
    let read = File::open(path).and_then(|file| file.take(SAMPLE).read_to_end(&mut sample));
    let text = match std::str::from_utf8(&sample) {
        Ok(text) => text,
        // The sample ends inside a character.
        Err(error) if error.error_len().is_none() => "",
        Err(_) => return false,
    };
    let is_container = TEXT_CONTAINERS.iter().any(|magic| sample.starts_with(magic)) || text.contains(TEXT_BUNDLE);
    read.is_ok() && !is_container && !sample.contains(&0)
}
