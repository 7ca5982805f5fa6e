//! The names of programs, and the places that are searched for them.

use std::env;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

/// Name of a program without its version and its target prefix: `clang++` for `clang++-22`, `gcc` for
/// `x86_64-linux-gnu-gcc-12`.
pub fn name(program: &Path) -> String {
    let file = program.file_name().unwrap_or_default().to_string_lossy().to_ascii_lowercase();
    let file = file.rsplit(['/', '\\']).next().unwrap_or_default();
    let name = file.strip_suffix(".exe").unwrap_or(file);
    let unversioned = name.trim_end_matches(|c: char| c.is_ascii_digit() || c == '.');
    let name = unversioned.strip_suffix('-').unwrap_or(name);
    match WITH_DASH.iter().find(|known| name.ends_with(*known)) {
        Some(known) => (*known).to_owned(),
        None => name.rsplit('-').next().unwrap_or_default().to_owned(),
    }
}

/// Names of programs that contain a dash.
const WITH_DASH: [&str; 2] = ["lld-link", "clang-cl"];

/// First file with this name in the directories of `PATH`.
pub fn in_path(name: &str) -> Option<PathBuf> {
    find_in(&env::var_os("PATH")?, name)
}

/// First file with this name in a list of directories. An empty element would be the working directory, where other
/// users may have put programs.
fn find_in(list: &OsStr, name: &str) -> Option<PathBuf> {
    let directories = env::split_paths(list).filter(|directory| !directory.as_os_str().is_empty());
    directories.map(|directory| directory.join(name)).find(|path| path.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn empty_elements_of_a_path_are_no_directories() {
        let directory = tempfile::tempdir().unwrap();
        let name = "Cargo.toml";
        let list = |elements: &[&Path]| env::join_paths(elements).unwrap();
        // The working directory of tests has such a file.
        assert!(Path::new(name).is_file());
        assert_eq!(find_in(&list(&[Path::new(""), directory.path(), Path::new("")]), name), None);
        let file = directory.path().join(name);
        std::fs::write(&file, "").unwrap();
        assert_eq!(find_in(&list(&[Path::new(""), directory.path()]), name), Some(file));
    }
}
