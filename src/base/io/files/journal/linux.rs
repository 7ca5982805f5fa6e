//! Records as files that their process has locked.
//!
//! A record names only files of its directory, because anybody may have put it there.

use std::collections::BTreeMap;
use std::ffi::OsStr;
use std::fs::File;
use std::io::{self, Write};
use std::os::unix::ffi::OsStrExt;
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};

use super::JournalEntry;
use crate::base::io::files::destination::directory;
use crate::base::io::files::temporary::Temporary;

/// Names of records. A directory has one for each process that is in a commit, and any that were left.
const NAMES: [&str; 4] = [".fatbin-undo", ".fatbin-undo-2", ".fatbin-undo-3", ".fatbin-undo-4"];

/// First bytes of a record.
const MAGIC: &[u8] = b"fatbin.undo/1\n";

/// Records of one commit, which are removed on drop.
#[derive(Debug)]
pub struct Journal(Vec<(File, PathBuf)>);

impl Journal {
    /// Writes a record in each directory where one can be written. Paths may spell one directory in several ways. Two
    /// records of it would be recovered one by one, and only one of them knows that the outputs are complete.
    pub fn write(entries: &[JournalEntry]) -> Journal {
        let mut directories: BTreeMap<PathBuf, Vec<&JournalEntry>> = BTreeMap::new();
        for entry in entries {
            let named = directory(&entry.path);
            let canonical = std::fs::canonicalize(named).unwrap_or_else(|_| named.to_owned());
            directories.entry(canonical).or_default().push(entry);
        }
        let records = directories.iter().filter_map(|(directory, entries)| write_record(directory, entries).ok());
        Journal(records.collect())
    }
}

impl Drop for Journal {
    fn drop(&mut self) {
        for (_, path) in &self.0 {
            let _ = std::fs::remove_file(path);
        }
    }
}

fn write_record(directory: &Path, entries: &[&JournalEntry]) -> io::Result<(File, PathBuf)> {
    let mut record = Temporary::create(directory)?;
    flock(record.file(), FlockOperation::NonBlockingLockExclusive)?;
    let mut bytes = MAGIC.to_vec();
    for entry in entries {
        let backup = entry.backup.as_deref().and_then(Path::file_name).unwrap_or_default();
        for field in [entry.path.file_name().unwrap_or_default(), backup, OsStr::new(&entry.new)] {
            bytes.extend([field.as_bytes(), b"\0"].concat());
        }
    }
    record.file_mut().write_all(&bytes)?;
    for name in NAMES {
        let path = directory.join(name);
        match record.link_to(&path) {
            Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
            linked => return linked.map(|()| (record.into_file(), path)),
        }
    }
    Err(io::ErrorKind::AlreadyExists.into())
}

/// Returns whether a directory has a record that no process has locked.
pub fn has_unfinished(directory: &Path) -> bool {
    NAMES.iter().any(|name| open(&directory.join(name)).is_ok_and(|file| lock(&file).is_ok()))
}

/// Opens a record. Only a regular file is opened: opening anything else could wait for another process.
fn open(path: &Path) -> io::Result<File> {
    if std::fs::symlink_metadata(path)?.is_file() { File::open(path) } else { Err(io::ErrorKind::InvalidInput.into()) }
}

fn lock(file: &File) -> rustix::io::Result<()> {
    flock(file, FlockOperation::NonBlockingLockExclusive)
}

pub use recovery::recover;

mod recovery {
    use std::ffi::OsStr;
    use std::fs::File;
    use std::io::{self, Read};
    use std::os::unix::ffi::OsStrExt;
    use std::path::{Path, PathBuf};

    use super::{JournalEntry, MAGIC, NAMES, lock, open};
    use crate::base::error::{Error, Result};
    use crate::base::io::files::file_state::FileKey;
    use crate::base::io::files::journal::Recovered;

    /// Maximum size of a record, in bytes.
    const MAX_SIZE: u64 = 16 << 20;

    /// A file in a record.
    struct RecordedFile {
        path: PathBuf,
        backup: Option<PathBuf>,
        new: String,
    }

    /// Restores the files of all unlocked records in a directory.
    pub fn recover(directory: &Path) -> Result<Vec<Recovered>> {
        let mut recovered = Vec::new();
        for path in NAMES.map(|name| directory.join(name)) {
            let Ok(file) = open(&path) else { continue };
            lock(&file).map_err(|error| Error::io(&path, "lock")(error.into()))?;
            let files = read(&file, directory).map_err(Error::io(&path, "read"))?;
            remove_hidden(directory, &files);
            recovered.extend(restore(files)?);
            std::fs::remove_file(&path).map_err(Error::io(&path, "remove"))?;
        }
        Ok(recovered)
    }

    fn read(file: &File, directory: &Path) -> io::Result<Vec<RecordedFile>> {
        let mut bytes = Vec::new();
        file.take(MAX_SIZE).read_to_end(&mut bytes)?;
        let invalid = || io::Error::new(io::ErrorKind::InvalidData, "not a record of outputs");
        let fields = bytes.strip_prefix(MAGIC).and_then(|rest| rest.strip_suffix(b"\0")).ok_or_else(invalid)?;
        let fields: Vec<&OsStr> = fields.split(|&byte| byte == 0).map(OsStr::from_bytes).collect();
        let mut files = Vec::new();
        for entry in fields.chunks(3) {
            let [name, backup, new] = entry else { return Err(invalid()) };
            let is_bare = |name: &OsStr| Path::new(name).file_name().is_some_and(|file| file == name);
            let is_hidden = backup.as_bytes().starts_with(b".fatbin-");
            let is_backup = backup.is_empty() || is_bare(backup) && is_hidden;
            if !is_bare(name) || !is_backup {
                return Err(invalid());
            }
            let backup = if backup.is_empty() { None } else { Some(directory.join(backup)) };
            let new = new.to_str().ok_or_else(invalid)?.to_owned();
            files.push(RecordedFile { path: directory.join(name), backup, new });
        }
        Ok(files)
    }

    /// Removes new files that have only a hidden name.
    fn remove_hidden(directory: &Path, files: &[RecordedFile]) {
        for entry in std::fs::read_dir(directory).into_iter().flatten().flatten() {
            let is_hidden = entry.file_name().as_bytes().starts_with(b".fatbin-");
            let is_new = |path: &Path| {
                let key = FileKey::of_path(path).map(|key| key.to_text());
                key.is_some_and(|key| files.iter().any(|file| file.new == key))
            };
            if is_hidden && is_new(&entry.path()) {
                let _ = std::fs::remove_file(entry.path());
            }
        }
    }

    /// Restores files, unless all outputs had their names: then some backups are gone, and the others are removed.
    fn restore(files: Vec<RecordedFile>) -> Result<Vec<Recovered>> {
        let has_backup = |file: &RecordedFile| file.backup.as_ref().is_none_or(|path| path.exists());
        let is_complete = !files.iter().all(has_backup);
        let mut recovered = Vec::new();
        for file in files {
            if is_complete {
                file.backup.iter().for_each(|path| drop(std::fs::remove_file(path)));
            } else {
                let path = file.path.clone();
                recovered.extend(file.restore().map_err(Error::io(&path, "restore"))?);
            }
        }
        Ok(recovered)
    }

    impl RecordedFile {
        fn restore(self) -> io::Result<Option<Recovered>> {
            let RecordedFile { path, backup, new } = self;
            let identity = |path: &Path| FileKey::of_path(path).map(|key| key.to_text());
            let current = identity(&path);
            let is_new = current.as_ref() == Some(&new);
            match backup {
                // The output did not have its name yet.
                Some(backup) if current.is_some() && current == identity(&backup) => {
                    std::fs::remove_file(backup).map(|()| None)
                }
                Some(backup) if new == JournalEntry::IN_PLACE && current.is_some() => {
                    std::fs::copy(&backup, &path)?;
                    std::fs::remove_file(backup)?;
                    Ok(Some(Recovered::Restored(path)))
                }
                Some(backup) if is_new || current.is_none() => {
                    std::fs::rename(backup, &path)?;
                    Ok(Some(Recovered::Restored(path)))
                }
                None if is_new => {
                    std::fs::remove_file(&path)?;
                    Ok(Some(Recovered::Removed(path)))
                }
                None if current.is_none() => Ok(None),
                _ => Ok(Some(Recovered::Newer(path))),
            }
        }
    }
}
