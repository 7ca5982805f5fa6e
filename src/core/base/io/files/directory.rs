//! Files in directories.

use std::fs::{DirEntry, read_dir};
use std::io;
use std::path::{Path, PathBuf};

/// A path that is still to be visited.
enum Pending {
    Directory(PathBuf),
    File(PathBuf),
}

/// Returns the files in a directory and below it, each directory sorted by name. Links are not followed. Calls `fail`
/// for each path that cannot be read.
pub fn files_below(directory: &Path, fail: &mut dyn FnMut(&Path, io::Error)) -> Vec<PathBuf> {
    let mut files = Vec::new();
    // Not a recursion: directories can be nested deeper than the stack allows.
    let mut pending = vec![Pending::Directory(directory.to_owned())];
    while let Some(next) = pending.pop() {
        match next {
            Pending::Directory(path) => pending.extend(entries(&path, fail).into_iter().rev()),
            Pending::File(path) => files.push(path),
        }
    }
    files
}

/// Lists the files and directories in a directory, sorted by name.
fn entries(directory: &Path, fail: &mut dyn FnMut(&Path, io::Error)) -> Vec<Pending> {
    let listing = read_dir(directory).map_err(|error| fail(directory, error));
    let readable = |entry: io::Result<DirEntry>| entry.map_err(|error| fail(directory, error)).ok();
    let mut entries: Vec<DirEntry> = listing.into_iter().flatten().filter_map(readable).collect();
    entries.sort_by_cached_key(DirEntry::file_name);
    let mut found = Vec::new();
    for entry in entries {
        match entry.file_type() {
            Ok(kind) if kind.is_dir() => found.push(Pending::Directory(entry.path())),
            Ok(kind) if kind.is_file() => found.push(Pending::File(entry.path())),
            Ok(_) => {}
            Err(error) => fail(&entry.path(), error),
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the paths below a directory, relative to it, and those that could not be read.
    fn listed(directory: &Path) -> (Vec<String>, Vec<String>) {
        let relative = |path: &Path| path.strip_prefix(directory).unwrap().to_string_lossy().replace('\\', "/");
        let mut failed = Vec::new();
        let files = files_below(directory, &mut |path, _| failed.push(relative(path)));
        (files.iter().map(|path| relative(path)).collect(), failed)
    }

    #[test]
    fn files_are_in_the_order_of_names_directory_by_directory() {
        let directory = tempfile::tempdir().unwrap();
        std::fs::create_dir_all(directory.path().join("b/empty")).unwrap();
        std::fs::create_dir_all(directory.path().join("b/c")).unwrap();
        let names = ["Y", "a", "b.so", "b/.hidden", "b/c/1", "b/c/10", "b/c/2", "b/d", "z"];
        for name in names.iter().rev() {
            std::fs::write(directory.path().join(name), "").unwrap();
        }
        let expected = ["Y", "a", "b/.hidden", "b/c/1", "b/c/10", "b/c/2", "b/d", "b.so", "z"];
        assert_eq!(listed(directory.path()), (expected.map(str::to_owned).to_vec(), vec![]));
    }

    #[cfg(unix)]
    #[test]
    fn links_are_followed_only_at_the_root() {
        use std::os::unix::fs::symlink;
        let directory = tempfile::tempdir().unwrap();
        let real = directory.path().join("real");
        std::fs::create_dir(&real).unwrap();
        std::fs::write(real.join("file"), "").unwrap();
        for (target, name) in [(".", "loop"), ("file", "link"), ("missing", "dangling")] {
            symlink(target, real.join(name)).unwrap();
        }
        symlink("real", directory.path().join("root")).unwrap();
        for root in ["real", "root"] {
            assert_eq!(listed(&directory.path().join(root)), (vec!["file".to_owned()], vec![]));
        }
        assert_eq!(listed(directory.path()), (vec!["real/file".to_owned()], vec![]));
    }

    #[test]
    fn directories_that_cannot_be_read_are_reported() {
        let directory = tempfile::tempdir().unwrap();
        assert_eq!(listed(&directory.path().join("missing")), (vec![], vec![String::new()]));
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn directories_of_any_depth_are_read() {
        let directory = tempfile::tempdir().unwrap();
        // The path remains below the limit of 4096 bytes.
        let deep = directory.path().join("d/".repeat(1900));
        std::fs::create_dir_all(&deep).unwrap();
        std::fs::write(deep.join("file"), "").unwrap();
        assert_eq!(listed(directory.path()), (vec!["d/".repeat(1900) + "file"], vec![]));
    }
}
