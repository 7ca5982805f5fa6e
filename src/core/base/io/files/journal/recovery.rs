//! Recovery from a run that was killed: its outputs are undone, or its hidden files removed if all had their names.
//!
//! Nothing is done that the states in the record do not justify: files that another program has written since, files of
//! other users, links, and hidden files of running processes stay.

use std::collections::BTreeSet;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

use super::Recovered;
use super::directory::Directory;
use super::linux::{Opened, is_record_name, open};
use super::record::{Record, RecordedFile};
use super::state::{self, RecordedState};
use crate::base::error::{Error, Result};
use crate::base::io::files::directory_locks::DirectoryLocks;
use crate::base::io::files::temporary::{BACKUP_PREFIX, lock};

/// The record of a run that was killed.
struct LeftRecord {
    /// Locked until everything is restored.
    file: File,
    record: Record,
}

/// What a directory has of records.
#[derive(Default)]
struct FoundRecords {
    /// The latest first.
    left: Vec<LeftRecord>,
    /// Names that are not touched, and are reported or belong to running processes.
    kept: BTreeSet<OsString>,
    recovered: Vec<Recovered>,
}

/// Restores the files of all records that runs of this user have left in a directory, also those in other directories
/// of these runs.
pub fn recover(path: &Path) -> Result<Vec<Recovered>> {
    let directory = Directory::open(path).map_err(Error::io(path, "open"))?;
    let _locks = DirectoryLocks::acquire([path])?;
    recover_in(&directory).map_err(Error::io(path, "restore files in"))
}

/// Like [`recover`], for the user of an open directory.
pub fn recover_in(directory: &Directory) -> io::Result<Vec<Recovered>> {
    let mut found = find_records(directory)?;
    let left = std::mem::take(&mut found.left);
    for record in &left {
        undo(directory, record, &mut found)?;
    }
    remove_strays(directory, &mut found)?;
    Ok(found.recovered)
}

fn find_records(directory: &Directory) -> io::Result<FoundRecords> {
    let mut found = FoundRecords::default();
    for name in directory.hidden_names()?.into_iter().filter(|name| is_record_name(name)) {
        match open(directory, &name) {
            Opened::Left(file, record) => found.left.push(LeftRecord { file, record }),
            Opened::InUse(record) => found.kept.extend(record.files.into_iter().filter_map(|file| file.backup)),
            Opened::Foreign(why) => found.recovered.push(Recovered::Left { path: directory.path_of(&name), why }),
        }
    }
    // A later run has replaced what an earlier one has left.
    let time = |left: &LeftRecord| left.file.metadata().map(|it| (it.mtime(), it.mtime_nsec())).unwrap_or_default();
    found.left.sort_by_key(time);
    found.left.reverse();
    Ok(found)
}

/// Undoes a commit in all its directories, and removes its record.
fn undo(directory: &Directory, left: &LeftRecord, found: &mut FoundRecords) -> io::Result<()> {
    let own = directory.id()?;
    let mut places = Vec::new();
    for recorded in left.record.directories() {
        if recorded.id == own {
            places.extend(link_of(directory, &left.file)?.map(|link| (own, None, link)));
            continue;
        }
        // Only a directory with a link to the same record was one of this run.
        let Ok(other) = Directory::open(&recorded.path) else { continue };
        if other.id()? == recorded.id
            && let Some(link) = link_of(&other, &left.file)?
        {
            places.push((recorded.id, Some(other), link));
        }
    }
    for (id, other, _) in &places {
        let place = other.as_ref().unwrap_or(directory);
        for file in left.record.files.iter().filter(|file| file.directory.id == *id) {
            let recovered = restore(place, file, left.record.is_complete)?;
            if let Some(Recovered::Newer { .. }) = recovered {
                found.kept.extend(file.backup.clone());
            }
            found.recovered.extend(recovered);
        }
        remove_hidden(place, &left.record, *id, &found.kept)?;
    }
    for (_, other, link) in &places {
        other.as_ref().unwrap_or(directory).remove(link)?;
    }
    Ok(())
}

/// Returns the name of a record in a directory.
fn link_of(directory: &Directory, record: &File) -> io::Result<Option<OsString>> {
    let metadata = record.metadata()?;
    for name in directory.hidden_names()?.into_iter().filter(|name| is_record_name(name)) {
        let found = directory.metadata(&name)?;
        if found.is_some_and(|it| (it.dev(), it.ino()) == (metadata.dev(), metadata.ino())) {
            return Ok(Some(name));
        }
    }
    Ok(None)
}

/// State of a name after the end of the run.
#[derive(Debug, PartialEq, Eq)]
enum Found {
    /// As it was before the run.
    Old,
    /// As the run has written it, or without a file that was there before.
    New,
    /// Something else.
    Other,
}

fn restore(directory: &Directory, file: &RecordedFile, is_complete: bool) -> io::Result<Option<Recovered>> {
    let path = directory.path_of(&file.name);
    let found = if is_complete { Found::Old } else { find(directory, file)? };
    match (found, &file.backup) {
        (Found::Old, None) => Ok(None),
        (Found::Old, Some(backup)) => remove_backup(directory, file, backup).map(|()| None),
        (Found::New, None) if file.old.is_none() => {
            directory.remove(&file.name)?;
            Ok(Some(Recovered::Removed(path)))
        }
        (Found::New, Some(backup)) if is_backup(directory, file, backup)? => {
            if file.is_in_place && directory.metadata(&file.name)?.is_some() {
                copy_back(directory, file, backup)?;
            } else {
                directory.rename(backup, &file.name)?;
            }
            Ok(Some(Recovered::Restored(path)))
        }
        (Found::New | Found::Other, backup) => {
            let old = backup.as_ref().filter(|name| matches!(directory.metadata(name), Ok(Some(_))));
            Ok(Some(Recovered::Newer { path, old: old.map(|name| directory.path_of(name)) }))
        }
    }
}

/// Compares the file that has the name of an output with the states in the record.
fn find(directory: &Directory, file: &RecordedFile) -> io::Result<Found> {
    let Some(metadata) = directory.metadata(&file.name)? else {
        return Ok(if file.old.is_none() { Found::Old } else { Found::New });
    };
    let current = RecordedState::of_metadata(&metadata);
    if file.old.as_ref().is_some_and(|old| old.is_like(&current)) {
        return Ok(Found::Old);
    }
    let may_be_new = if file.is_in_place {
        file.old.as_ref().is_some_and(|old| old.id == current.id)
    } else {
        file.new.is_like(&current)
    };
    if !metadata.is_file() || !may_be_new {
        return Ok(Found::Other);
    }
    let current = RecordedState::of_file(&directory.open_file(&file.name)?)?;
    let old = file.old.as_ref().map(|old| RecordedState { sum: file.copy, ..old.clone() });
    Ok(if current.has_bytes_of(&file.new) {
        Found::New
    } else if old.is_some_and(|old| current.has_bytes_of(&old)) {
        Found::Old
    } else {
        Found::Other
    })
}

/// Returns whether a hidden name has the file that was there before the run: a link to it, or a copy.
fn is_backup(directory: &Directory, file: &RecordedFile, backup: &OsStr) -> io::Result<bool> {
    let (Some(metadata), Some(old)) = (directory.metadata(backup)?, &file.old) else { return Ok(false) };
    let found = RecordedState::of_metadata(&metadata);
    let Some(copy) = file.copy else { return Ok(found.id == old.id) };
    let is_own_file = metadata.is_file() && directory.is_own(&metadata);
    Ok(is_own_file && found.size == old.size && state::sum(&directory.open_file(backup)?)? == copy)
}

/// Removes the link to an old file, or the copy of it, which may be incomplete.
fn remove_backup(directory: &Directory, file: &RecordedFile, backup: &OsStr) -> io::Result<()> {
    let Some(metadata) = directory.metadata(backup)? else { return Ok(()) };
    let is_link = file.old.as_ref().is_some_and(|old| old.id == RecordedState::of_metadata(&metadata).id);
    if is_link || metadata.is_file() && directory.is_own(&metadata) { directory.remove(backup) } else { Ok(()) }
}

fn copy_back(directory: &Directory, file: &RecordedFile, backup: &OsStr) -> io::Result<()> {
    let mut to = directory.open_for_writing(&file.name)?;
    to.set_len(0)?;
    io::copy(&mut directory.open_file(backup)?, &mut to)?;
    directory.remove(backup)
}

/// Removes hidden names of the old and new files of a commit.
fn remove_hidden(
    directory: &Directory,
    record: &Record,
    directory_id: (u64, u64),
    kept: &BTreeSet<OsString>,
) -> io::Result<()> {
    let files = record.files.iter().filter(|file| file.directory.id == directory_id);
    let ids: BTreeSet<(u64, u64)> =
        files.flat_map(|file| file.old.iter().chain([&file.new])).map(|state| state.id).collect();
    for name in directory.hidden_names()? {
        let metadata = directory.metadata(&name)?;
        let is_of_commit = metadata.is_some_and(|it| ids.contains(&(it.dev(), it.ino())));
        if is_of_commit && !kept.contains(&name) && !is_record_name(&name) {
            directory.remove(&name)?;
        }
    }
    Ok(())
}

/// Removes hidden files of this user that no process has locked.
fn remove_strays(directory: &Directory, found: &mut FoundRecords) -> io::Result<()> {
    for name in directory.hidden_names()? {
        let Some(metadata) = directory.metadata(&name)? else { continue };
        let may_be_removed = metadata.is_file() && directory.is_own(&metadata) && !is_record_name(&name);
        if !may_be_removed || found.kept.contains(&name) {
            continue;
        }
        let path = directory.path_of(&name);
        if name.as_encoded_bytes().starts_with(BACKUP_PREFIX.as_bytes()) {
            let why = "is an old file of a run without a record";
            found.recovered.push(Recovered::Left { path, why });
        } else if directory.open_file(&name).is_ok_and(|file| lock(&file)) {
            directory.remove(&name)?;
            found.recovered.push(Recovered::Removed(path));
        }
    }
    Ok(())
}
