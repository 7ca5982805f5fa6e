//! Locks that later runs continue: comments name the files that a lock was made from, with their sizes and times, and a
//! run takes the entries of unchanged files from the lock.

use std::borrow::Cow;
use std::collections::{BTreeMap, HashMap};
use std::io::{self, BufRead, BufReader, ErrorKind, Seek};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, SystemTime};

use super::fields::{EntryForm, FieldReader};
use super::text::quoted;
use super::{LockForm, is_lock};
use fatbin_core::base::error::{Error, Result};
use fatbin_core::base::io::FileState;
use fatbin_core::scan::InputPath;

/// Comments about a file that a directory or a list names.
const FOUND: &str = "# found";
const LISTED: &str = "# listed";

/// A file that changed less than this before a run may change again without a new time.
const RECENT: Duration = Duration::from_secs(1);

/// Earlier locks, and the files of this run.
#[derive(Debug)]
pub struct EarlierLocks {
    locks: Vec<(BufReader<std::fs::File>, PathBuf)>,
    /// Comment with what the entries depend on.
    head: String,
    /// Comments about the files of the earlier locks, and the index of the lock.
    known: HashMap<Box<str>, (Box<str>, usize)>,
    started: SystemTime,
    files: Mutex<FileComments>,
}

/// Comments about the files of this run, and the index of the lock that has the unchanged file.
type FileComments = BTreeMap<Box<str>, (Box<str>, Option<usize>)>;

impl EarlierLocks {
    /// Reads the comments of the locks at some paths. Of a path without a file, no entries are known.
    pub fn open(paths: &[PathBuf], form: LockForm, has_sha256: bool) -> Result<Self> {
        let options = [(form.code_only, " --code-only"), (has_sha256, " --sha256")];
        let options: String = options.iter().filter(|(is_set, _)| *is_set).map(|(_, name)| *name).collect();
        let head = format!("# Written with --since{options} by fatbin {}", env!("CARGO_PKG_VERSION"));
        let mut locks = Vec::new();
        let mut known = HashMap::new();
        for path in paths {
            let mut lock = match std::fs::File::open(path) {
                Ok(file) => BufReader::new(file),
                Err(error) if error.kind() == ErrorKind::NotFound => continue,
                Err(error) => return Err(Error::io(path, "open")(error)),
            };
            let mut is_same = false;
            let read = each_line(&mut lock, &mut |line| {
                is_same |= line == head;
                if is_same && let Some(path) = named(line) {
                    known.insert(path.into(), (line.into(), locks.len()));
                }
                Ok(())
            });
            read.map_err(Error::io(path, "read"))?;
            locks.push((lock, path.clone()));
        }
        Ok(EarlierLocks { locks, head, known, started: SystemTime::now(), files: Mutex::default() })
    }

    /// Notes a file of this run. Returns whether it is unchanged since an earlier lock.
    pub fn is_unchanged(&self, input: &InputPath) -> bool {
        let state = std::fs::metadata(&input.path)
            .ok()
            .filter(std::fs::Metadata::is_file)
            .map(|it| FileState::of_metadata(&it));
        let Some((size, changed)) = state.and_then(|state| Some((state.size(), state.changed()?))) else {
            return false;
        };
        let now = self.started.duration_since(SystemTime::UNIX_EPOCH).unwrap_or_default();
        let is_recent = now.checked_sub(changed).is_none_or(|age| age < RECENT);
        let Some(path) = input.path.to_str().filter(|_| !is_recent) else { return false };
        let word = if input.is_listed { LISTED } else { FOUND };
        let path = path.replace(std::path::MAIN_SEPARATOR, "/");
        let comment =
            format!("{word} {} size={size} changed={}.{:09}", quoted(&path), changed.as_secs(), changed.subsec_nanos());
        let lock = self.known.get(&*path).filter(|(known, _)| **known == *comment).map(|(_, lock)| *lock);
        self.files().insert(path.into(), (comment.into(), lock));
        lock.is_some()
    }

    /// Forgets the file at this path, or around the member with this path: its entries depend on other files.
    pub fn forget(&self, path: &str) {
        let mut files = self.files();
        if let Some(file) = outer_paths(path).find(|path| files.contains_key(*path)) {
            files.remove(file);
        }
    }

    /// Calls `take` with the path and the entries of each file that is unchanged. Returns whether any has an image.
    pub fn each_unchanged(self, take: &mut dyn FnMut(&str, &str) -> Result<()>) -> Result<bool> {
        let EarlierLocks { locks, files, known, .. } = self;
        let files = files.into_inner().unwrap_or_else(PoisonError::into_inner);
        let mut has_images = false;
        for (index, (mut lock, name)) in locks.into_iter().enumerate() {
            let is_file = |path: &&str| files.contains_key(*path) || known.contains_key(*path);
            let is_unchanged = |path: &str| {
                let file = outer_paths(path).find(is_file).and_then(|file| files.get(file));
                file.is_some_and(|(_, lock)| *lock == Some(index))
            };
            has_images |= each_entry(&mut lock, &name, &is_unchanged, take)?;
        }
        Ok(has_images)
    }

    /// Returns the comments of the new lock.
    pub fn comments(&self) -> String {
        let files = self.files();
        let lines = files.values().map(|(comment, _)| format!("{comment}\n"));
        format!("{}\n{}", self.head, lines.collect::<String>())
    }

    fn files(&self) -> MutexGuard<'_, FileComments> {
        self.files.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Calls `take` with the path and the entries of each file in a lock that is unchanged. Returns whether any has an image.
fn each_entry(
    lock: &mut BufReader<std::fs::File>,
    name: &Path,
    is_unchanged: &dyn Fn(&str) -> bool,
    take: &mut dyn FnMut(&str, &str) -> Result<()>,
) -> Result<bool> {
    let mut entries: Option<(String, String)> = None;
    let mut has_images = false;
    let mut failed = Ok(());
    let mut end = |entries: Option<(String, String)>| {
        if let (Some((path, text)), Ok(())) = (entries, &failed) {
            has_images |= text.contains("\n  image ");
            failed = take(&path, &text);
        }
    };
    let read = each_line(lock, &mut |line| {
        if let Some(rest) = line.strip_prefix("file ") {
            let path = FieldReader::read("file", rest, EntryForm::Named).map_err(io::Error::other)?.name;
            let path = path.unwrap_or_default().into_owned();
            let is_kept = is_unchanged(&path);
            end(std::mem::replace(&mut entries, is_kept.then(|| (path, "\n".to_owned()))));
        }
        if let Some((_, text)) = &mut entries
            && !line.is_empty()
            && !line.starts_with('#')
        {
            *text += line;
            *text += "\n";
        }
        Ok(())
    });
    end(entries);
    read.map_err(Error::io(name, "read"))?;
    failed.map(|()| has_images)
}

/// Returns a printed path, and what may be the paths of packages around it, from the longest: a name may have a `!`.
fn outer_paths(path: &str) -> impl Iterator<Item = &str> {
    let ends = std::iter::once(path.len()).chain(path.rmatch_indices('!').map(|(end, _)| end));
    ends.filter_map(|end| path.get(..end))
}

/// Returns the path in the comment about a file.
fn named(line: &str) -> Option<String> {
    let rest = line.strip_prefix(FOUND).or_else(|| line.strip_prefix(LISTED))?;
    FieldReader::read("file", rest, EntryForm::Named).ok()?.name.map(Cow::into_owned)
}

/// Calls `take` with each line of a lock, from the first on.
fn each_line(lock: &mut BufReader<std::fs::File>, take: &mut dyn FnMut(&str) -> io::Result<()>) -> io::Result<()> {
    lock.rewind()?;
    if !is_lock(lock.fill_buf()?) {
        return Err(io::Error::other("not a lock"));
    }
    let mut line = String::new();
    while lock.read_line(&mut line)? > 0 {
        take(line.trim_end_matches(['\n', '\r']))?;
        line.clear();
    }
    Ok(())
}
