//! State of an open file, to detect changes of its contents.

use std::fs::{File, Metadata};
use std::io;
use std::path::Path;
use std::time::{Duration, SystemTime};

/// Identity, size and times of a file.
///
/// Two changes within one tick of the file system's clock (1 to 10 ms) leave the same times. Writes through a shared
/// mapping leave the times unchanged until the system writes the pages back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct FileState {
    size: u64,
    modified: Option<SystemTime>,
    #[cfg(unix)]
    inode: Inode,
}

/// Properties of a file that only Unix has.
#[cfg(unix)]
#[derive(Debug, Clone, PartialEq, Eq)]
struct Inode {
    /// Device and number.
    id: (u64, u64),
    /// Time of the last change of contents or properties, in seconds and nanoseconds.
    changed: (i64, i64),
    /// Number of links, mode and owner. Changing them also sets that time.
    properties: (u64, u32, u32, u32),
}

#[cfg(unix)]
impl Inode {
    fn of(metadata: &Metadata) -> Self {
        use std::os::unix::fs::MetadataExt;
        Inode {
            id: (metadata.dev(), metadata.ino()),
            changed: (metadata.ctime(), metadata.ctime_nsec()),
            properties: (metadata.nlink(), metadata.mode(), metadata.uid(), metadata.gid()),
        }
    }

    /// Returns whether this is the file of `before`, and its contents are not known to have changed. While an input is
    /// read, a build may link it elsewhere or replace its name.
    fn has_contents_of(&self, before: &Inode) -> bool {
        self.id == before.id && (self.changed == before.changed || self.properties != before.properties)
    }
}

impl FileState {
    /// Returns the state of an open file.
    pub fn of(file: &File) -> io::Result<Self> {
        Ok(FileState::of_metadata(&file.metadata()?))
    }

    /// Returns the state of a file with this metadata.
    pub fn of_metadata(metadata: &Metadata) -> Self {
        FileState {
            size: metadata.len(),
            modified: metadata.modified().ok(),
            #[cfg(unix)]
            inode: Inode::of(metadata),
        }
    }

    /// Size in bytes.
    pub fn size(&self) -> u64 {
        self.size
    }

    /// Time since 1970 of the last change of contents or properties; on systems other than Unix, of contents.
    pub fn changed(&self) -> Option<Duration> {
        #[cfg(unix)]
        let (seconds, nanoseconds) = self.inode.changed;
        #[cfg(unix)]
        return Some(Duration::new(seconds.try_into().ok()?, nanoseconds.try_into().ok()?));
        #[cfg(not(unix))]
        self.modified?.duration_since(SystemTime::UNIX_EPOCH).ok()
    }

    /// Returns whether a path leads to this file with the same contents.
    pub fn is_at(&self, path: &Path) -> bool {
        std::fs::metadata(path).is_ok_and(|metadata| FileState::of_metadata(&metadata).has_contents_of(self))
    }

    /// Returns whether the file at a path, which may have been renamed since, is this one with the same contents.
    pub fn was_renamed_to(&self, path: &Path) -> bool {
        let Ok(metadata) = std::fs::symlink_metadata(path) else { return false };
        let found = FileState::of_metadata(&metadata);
        #[cfg(unix)]
        let same_inode = found.inode.id == self.inode.id;
        #[cfg(not(unix))]
        let same_inode = true;
        same_inode && (found.size, found.modified) == (self.size, self.modified)
    }

    /// Returns whether this is the file of `before` with the same contents.
    pub fn has_contents_of(&self, before: &FileState) -> bool {
        #[cfg(unix)]
        let same_inode = self.inode.has_contents_of(&before.inode);
        #[cfg(not(unix))]
        let same_inode = true;
        same_inode && (self.size, self.modified) == (before.size, before.modified)
    }
}

/// Identity of a regular file.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct FileKey(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] std::path::PathBuf);

impl FileKey {
    /// Returns the identity of the regular file that a path leads to.
    pub fn of_path(path: &Path) -> Option<FileKey> {
        let metadata = std::fs::metadata(path).ok()?;
        #[cfg(unix)]
        return metadata.is_file().then(|| FileKey(Inode::of(&metadata).id));
        #[cfg(not(unix))]
        return if metadata.is_file() { path.canonicalize().ok().map(FileKey) } else { None };
    }

    /// Returns the identity of an open file, which may be a pipe. On systems other than Unix, stable Rust does not
    /// provide it.
    pub fn of_file(file: &File) -> Option<FileKey> {
        #[cfg(unix)]
        return file.metadata().ok().map(|metadata| FileKey(Inode::of(&metadata).id));
        #[cfg(not(unix))]
        {
            let _ = file;
            None
        }
    }
}

/// Returns whether two paths lead to one file. Nothing is opened: opening a FIFO waits for another process.
#[cfg(unix)]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    let id = |path| std::fs::metadata(path).map(|metadata| Inode::of(&metadata).id);
    id(one).is_ok_and(|one| id(other).is_ok_and(|other| one == other))
}

/// Returns whether two paths lead to one file. On systems other than Unix, stable Rust does not provide the identity of
/// a file, so a second link to it counts as a separate file. Outputs replace links, so they do not change the file
/// behind the other one.
#[cfg(not(unix))]
pub fn is_same_file(one: &Path, other: &Path) -> bool {
    one.canonicalize().is_ok_and(|one| other.canonicalize().is_ok_and(|other| one == other))
}

/// Identity of a file. Two paths with the same identity lead to the same file. On systems that do not provide one, it
/// is the canonical path.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct FileIdentity(#[cfg(unix)] (u64, u64), #[cfg(not(unix))] std::path::PathBuf);

/// Returns the identity of the file at a path; `None` if there is none.
pub fn file_identity(path: &Path) -> Option<FileIdentity> {
    #[cfg(unix)]
    return std::fs::metadata(path).map(|metadata| FileIdentity(Inode::of(&metadata).id)).ok();
    #[cfg(not(unix))]
    return path.canonicalize().map(FileIdentity).ok();
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn notices_a_new_size_and_a_new_time() {
        let file = tempfile::NamedTempFile::new().unwrap();
        std::fs::write(file.path(), "before").unwrap();
        let before = FileState::of(file.as_file()).unwrap();
        assert!(FileState::of(file.as_file()).unwrap().has_contents_of(&before));
        file.as_file().set_len(3).unwrap();
        assert!(!FileState::of(file.as_file()).unwrap().has_contents_of(&before));

        let before = FileState::of(file.as_file()).unwrap();
        file.as_file().set_modified(SystemTime::UNIX_EPOCH + Duration::from_secs(7)).unwrap();
        assert!(!FileState::of(file.as_file()).unwrap().has_contents_of(&before));
    }

    #[cfg(unix)]
    #[test]
    fn a_new_link_and_a_new_mode_are_not_changes_but_another_file_is() {
        use std::os::unix::fs::PermissionsExt;
        let directory = tempfile::tempdir().unwrap();
        let [path, other] = ["file", "other"].map(|name| directory.path().join(name));
        let state = |path| FileState::of(&File::open(path).unwrap()).unwrap();
        std::fs::write(&path, "bytes").unwrap();
        let before = state(&path);
        std::fs::hard_link(&path, &other).unwrap();
        std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
        assert!(state(&path).has_contents_of(&before));

        let modified = std::fs::metadata(&path).unwrap().modified().unwrap();
        std::fs::remove_file(&path).unwrap();
        std::fs::write(&path, "BYTES").unwrap();
        File::options().write(true).open(&path).unwrap().set_modified(modified).unwrap();
        assert!(!state(&path).has_contents_of(&before));
    }
}
