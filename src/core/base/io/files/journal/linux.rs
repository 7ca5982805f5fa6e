//! Records as files that their process has locked.

use std::ffi::{OsStr, OsString};
use std::fs::{File, Permissions};
use std::io::{self, Write};
use std::ops::Range;
use std::os::unix::fs::{MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use super::JournalEntry;
use super::directory::Directory;
use super::record::{self, Record, RecordedDirectory, RecordedFile};
use super::state::{self, RecordedState};
use crate::base::io::files::destination::directory;
use crate::base::io::files::temporary::{Temporary, lock};

/// Name of a record. If a directory has one already, the next one has a number.
pub const NAME: &str = ".fatbin-undo";

/// Maximum number of records in a directory.
const MAX_RECORDS: u32 = 1000;

/// The record of a commit.
#[derive(Debug)]
pub struct Journal {
    /// Removed before the record is unlocked.
    _links: RecordLinks,
    record: File,
    /// Place of the sum of each file's copy in the record.
    sums: Vec<Range<u64>>,
}

impl Journal {
    /// Writes a record of a commit, with a link in each directory; `None` if one of them cannot have it.
    pub fn write(entries: &[JournalEntry<'_>]) -> Option<Journal> {
        let files = entries.iter().map(recorded).collect::<io::Result<Vec<_>>>().ok()?;
        let (bytes, sums) = record::to_bytes(&files);
        let record = Record { is_complete: false, files };
        let mut directories = record.directories().into_iter();
        let mut temporary = Temporary::create(&directories.next()?.path).ok()?;
        temporary.file().set_permissions(Permissions::from_mode(0o600)).ok()?;
        if !lock(temporary.file()) {
            return None;
        }
        temporary.file_mut().write_all(&bytes).ok()?;
        let mut links = RecordLinks(Vec::new());
        for RecordedDirectory { path, .. } in record.directories() {
            links.0.push(link(&temporary, path)?);
        }
        Some(Journal { _links: links, record: temporary.into_file(), sums })
    }

    /// Adds the sum of the copy of the old file of an entry. Without it, the copy is left where it is.
    pub fn add_copy(&self, entry: usize, copy: &Path) {
        if let Some(place) = self.sums.get(entry)
            && let Ok(sum) = File::open(copy).and_then(|copy| state::sum(&copy))
        {
            let _ = record::write_sum(&self.record, place, sum);
        }
    }

    /// Records that all outputs have their names.
    pub fn complete(&self) {
        let _ = record::write_complete(&self.record);
    }
}

/// Links to a record, which are removed on drop.
#[derive(Debug)]
struct RecordLinks(Vec<PathBuf>);

impl Drop for RecordLinks {
    fn drop(&mut self) {
        for path in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn recorded(entry: &JournalEntry<'_>) -> io::Result<RecordedFile> {
    let named = directory(entry.path);
    let metadata = std::fs::metadata(named)?;
    let name = |path: &Path| path.file_name().unwrap_or_default().to_owned();
    let old = match std::fs::symlink_metadata(entry.path) {
        Ok(metadata) => Some(RecordedState::of_metadata(&metadata)),
        Err(error) if error.kind() == io::ErrorKind::NotFound => None,
        Err(error) => return Err(error),
    };
    Ok(RecordedFile {
        directory: RecordedDirectory { path: named.canonicalize()?, id: (metadata.dev(), metadata.ino()) },
        name: name(entry.path),
        backup: entry.backup.map(name),
        copy: None,
        is_in_place: entry.is_in_place,
        old,
        new: RecordedState::of_file(entry.new)?,
    })
}

/// Gives a record a name in a directory.
fn link(record: &Temporary, directory: &Path) -> Option<PathBuf> {
    for number in 1..=MAX_RECORDS {
        let name = if number == 1 { NAME.to_owned() } else { format!("{NAME}-{number}") };
        let path = directory.join(name);
        match record.link_to(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => return linked.ok().map(|()| path),
        }
    }
    None
}

/// Returns whether a directory has a record that a run of this user has left.
pub fn has_unfinished(directory: &Path) -> bool {
    // Almost always there is none, and one call finds that.
    if std::fs::symlink_metadata(directory.join(NAME)).is_err() {
        return false;
    }
    let Ok(directory) = Directory::open(directory) else { return false };
    let names = directory.hidden_names().unwrap_or_default();
    names.iter().filter(|name| is_record_name(name)).any(|name| matches!(open(&directory, name), Opened::Left(..)))
}

/// Returns whether a hidden name is one of a record.
pub fn is_record_name(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(NAME.as_bytes())
}

/// A file with the name of a record.
pub enum Opened {
    /// The record of a run that was killed, which is now locked.
    Left(File, Record),
    /// The record of a run that continues.
    InUse(Record),
    /// A file that is no record of this user and this directory.
    Foreign(&'static str),
}

/// Opens the record of a name. It counts only if this user has written it, in this directory: directories are unpacked,
/// copied and shared.
pub fn open(directory: &Directory, name: &OsString) -> Opened {
    let Ok(file) = directory.open_file(name) else { return Opened::Foreign("is no file that can be opened") };
    match file.metadata() {
        Ok(metadata) if !directory.is_own(&metadata) => return Opened::Foreign("belongs to another user"),
        Ok(metadata) if metadata.mode() & 0o022 == 0 => {}
        _ => return Opened::Foreign("can be written by other users"),
    }
    let is_free = lock(&file);
    match Record::read(&file) {
        Ok(record) if !directory.id().is_ok_and(|id| record.directories().iter().any(|it| it.id == id)) => {
            Opened::Foreign("is a record of another directory")
        }
        Ok(record) if is_free => Opened::Left(file, record),
        Ok(record) => Opened::InUse(record),
        Err(_) => Opened::Foreign("is not a record of outputs"),
    }
}
