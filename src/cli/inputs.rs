//! What the user names as input: files, folders, lists of files.
//!
//! Files that were found in a folder or an archive are many, and of most there is nothing to say; those that were named
//! are always told of. Several files are looked into at a time, and results come in the order of the names whatever
//! finished first.

use std::path::{Path, PathBuf};
use std::sync::Mutex;

use anyhow::Result;
use clap::Args;
use walkdir::WalkDir;

use super::progress::Progress;
use super::status::{self, Status};
use crate::error::Error;
use crate::inventory::{File, FileFormat};
use crate::io::{Input, STANDARD_INPUT};
use crate::ops::Scanned;
use crate::parallel::{in_parallel, processors};
use crate::scan::{self, Archives, Opening, Options, Part};

#[derive(Args)]
pub struct InputArguments {
    /// Files to look into; of folders all that is in them, of archives every member; - is standard input
    #[arg(value_name = "FILE", required_unless_present = "files_from")]
    files: Vec<PathBuf>,

    /// Look also into the files that this one lists, one a line; - is standard input
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
}

/// A path to look into.
struct Named {
    path: PathBuf,
    /// Whether it was the user who named it.
    by_user: bool,
}

/// A path as a list has it, in whatever encoding.
fn path_of(line: &[u8]) -> PathBuf {
    #[cfg(unix)]
    return <std::ffi::OsStr as std::os::unix::ffi::OsStrExt>::from_bytes(line).into();
    #[cfg(not(unix))]
    return String::from_utf8_lossy(line).into_owned().into();
}

impl Named {
    /// Nothing for what cannot be had or is no file.
    fn size(&self) -> u64 {
        std::fs::metadata(&self.path).map_or(0, |metadata| metadata.len())
    }
}

/// What came of one file.
pub enum Outcome {
    Scanned(Scanned),
    /// The path that it has, and why it cannot be read.
    Unreadable(String, Error),
    /// An archive that was named and has nothing in it to be told.
    Nothing(File),
}

/// A path, and why it cannot be read.
type Unreadable = (String, Error);

/// As many files are looked into before the first of them is told; each keeps its file open.
const AT_A_TIME: usize = 64;

impl InputArguments {
    /// Scans everything, and calls `take` with what came of each file that there is something to say of, in order. What
    /// is broken in a file is reported just before.
    pub fn scan(&self, options: Options, take: &mut dyn FnMut(Outcome)) -> Result<()> {
        self.scan_and(options, |outcome| outcome, take)
    }

    /// The same, and has `work` done with each outcome at the same time as with others.
    pub fn scan_and<R: Send>(
        &self,
        options: Options,
        work: impl Fn(Outcome) -> R + Sync,
        take: &mut dyn FnMut(R),
    ) -> Result<()> {
        let (named, failed) = self.named()?;
        failed.into_iter().for_each(|(path, error)| take(work(Outcome::Unreadable(path, error))));
        let progress = Mutex::new(Progress::of_files(named.iter().map(Named::size).sum(), named.len()));
        let work = |outcome| (broken(&outcome), work(outcome));
        for some in named.chunks(AT_A_TIME) {
            let mut done = Vec::new();
            let one = |named: &Named| {
                let done: Vec<_> = scan_path(named, options).into_iter().map(work).collect();
                progress.lock().expect("no worker panics").file_done(named.size());
                done
            };
            in_parallel(some, processors(), one, &mut |some| done.push(some));
            let progress = progress.lock().expect("no worker panics");
            progress.suspend(|| {
                for (errors, result) in done.into_iter().flatten() {
                    for error in errors {
                        status::report(&error.into());
                    }
                    take(result);
                }
            });
        }
        Ok(())
    }

    /// What the user names by a single path.
    pub fn single(path: PathBuf) -> InputArguments {
        InputArguments { files: vec![path], files_from: None }
    }

    /// The same with every path that a list names, so that the list is read once.
    pub fn with_listed(self) -> Result<InputArguments> {
        let (files, failed) = self.paths();
        match failed {
            Some((_, error)) => Err(error.into()),
            None => Ok(InputArguments { files, files_from: None }),
        }
    }

    /// What the user named, as messages call it, in order; of lists see [`InputArguments::with_listed`].
    pub fn names(&self) -> Vec<String> {
        let name = |path: &PathBuf| match path.to_str() {
            Some("-") => STANDARD_INPUT.to_owned(),
            _ => path.to_string_lossy().into_owned(),
        };
        self.files.iter().map(name).collect()
    }

    /// What the user named, in order, and the list that cannot be read.
    fn paths(&self) -> (Vec<PathBuf>, Option<Unreadable>) {
        let (mut paths, mut failed) = (self.files.clone(), None);
        if let Some(list) = &self.files_from {
            match Input::open(list) {
                Ok(input) => {
                    let lines = input.view().data().split(|&byte| byte == b'\n');
                    let lines = lines.map(|line| line.strip_suffix(b"\r").unwrap_or(line));
                    paths.extend(lines.filter(|line| !line.is_empty()).map(path_of));
                }
                Err(error) => failed = Some((list.to_string_lossy().into_owned(), error)),
            }
        }
        (paths, failed)
    }

    /// All paths in order, and the folders and lists that cannot be read.
    fn named(&self) -> Result<(Vec<Named>, Vec<Unreadable>)> {
        let (paths, failed) = self.paths();
        let (mut named, mut failed) = (Vec::new(), Vec::from_iter(failed));
        for path in paths {
            if !path.is_dir() {
                named.push(Named { path, by_user: true });
                continue;
            }
            for entry in WalkDir::new(&path).sort_by_file_name() {
                match entry {
                    Ok(entry) if entry.file_type().is_file() => {
                        named.push(Named { path: entry.into_path(), by_user: false });
                    }
                    Ok(_) => {}
                    Err(error) => {
                        let at = error.path().unwrap_or(&path).to_owned();
                        let cause = error.into_io_error().unwrap_or_else(|| std::io::Error::other("leads to itself"));
                        failed.push((at.to_string_lossy().into_owned(), Error::io(&at, "read")(cause)));
                    }
                }
            }
        }
        Ok((named, failed))
    }
}

/// What is broken in a file that could be scanned.
fn broken(outcome: &Outcome) -> Vec<Error> {
    let Outcome::Scanned(Scanned { part, file }) = outcome else { return Vec::new() };
    file.errors.iter().map(|error| error.clone().in_file(Path::new(&part.path))).collect()
}

fn scan_path(named: &Named, options: Options) -> Vec<Outcome> {
    let path = &named.path;
    let opening = Opening { archives: Archives::All, limit: options.limit };
    let mut outcomes = Vec::new();
    let unreadable = |error| Outcome::Unreadable(path.to_string_lossy().into_owned(), error);
    let opened = scan::each_part(path, opening, &mut |part| match part.map(|part| scan_part(part, options)) {
        Ok(Outcome::Scanned(it)) if (it.part.member.is_some() || !named.by_user) && !it.file.holds_something() => {}
        Ok(outcome) => outcomes.push(outcome),
        Err(error) => outcomes.push(unreadable(error)),
    });
    if let Err(error) = opened {
        outcomes.push(unreadable(error));
    }
    if outcomes.is_empty() && named.by_user {
        let size = named.size();
        let format = Some(FileFormat::Archive);
        outcomes.push(Outcome::Nothing(File { format, size, ..File::empty(path.to_string_lossy().into_owned()) }));
    }
    outcomes
}

fn scan_part(part: Part, options: Options) -> Outcome {
    match scan::scan_with(&part.path, &part, options, &mut |_, _| Ok(())) {
        Ok(file) => Outcome::Scanned(Scanned { part: part.close(), file }),
        Err(error) => Outcome::Unreadable(part.path, error),
    }
}

/// What one scanned file means for the exit status.
pub fn found(file: &File) -> Status {
    if !file.errors.is_empty() {
        Status::Trouble
    } else if file.device_images().next().is_some() {
        Status::Yes
    } else {
        Status::No
    }
}
