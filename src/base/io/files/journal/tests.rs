//! Tests of records, and of the recovery from a commit that was cut short at any place.

use std::collections::BTreeMap;
use std::fs::File;

use super::*;
use crate::base::io::files::file_state::FileKey;

/// A step of a commit of two outputs, `a` and `b`. Only `a` existed before.
const STEPS: [&str; 5] = ["backup", "record", "first name", "second name", "backup removed"];

fn contents(directory: &Path) -> BTreeMap<String, String> {
    let files = std::fs::read_dir(directory).unwrap().map(|entry| entry.unwrap().path());
    let text = |path: PathBuf| {
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        (name, String::from_utf8_lossy(&std::fs::read(path).unwrap()).into_owned())
    };
    files.map(text).collect()
}

fn identity(path: &Path) -> String {
    FileKey::of_path(path).unwrap().to_text()
}

/// Leaves a directory as if the process was killed after some of the steps.
fn cut_short(directory: &Path, steps: usize) {
    let path = |name: &str| directory.join(name);
    std::fs::write(path("a"), "old").unwrap();
    for name in [".fatbin-new-a", ".fatbin-new-b"] {
        std::fs::write(path(name), "new").unwrap();
    }
    let entries = [("a", Some(".fatbin-old")), ("b", None)].map(|(name, backup)| JournalEntry {
        path: path(name),
        backup: backup.map(path),
        new: identity(&path(&format!(".fatbin-new-{name}"))),
    });
    let mut journal = None;
    for step in &STEPS[..steps] {
        match *step {
            "backup" => std::fs::hard_link(path("a"), path(".fatbin-old")).unwrap(),
            "record" => journal = Some(Journal::write(&entries)),
            "first name" => std::fs::rename(path(".fatbin-new-a"), path("a")).unwrap(),
            "second name" => std::fs::rename(path(".fatbin-new-b"), path("b")).unwrap(),
            _ => std::fs::remove_file(path(".fatbin-old")).unwrap(),
        }
    }
    if let Some(journal) = journal {
        assert!(!linux::has_unfinished(directory), "a live process has locked its record");
        // A copy has the same contents, and is not locked.
        let record = std::fs::read(path(".fatbin-undo")).unwrap();
        drop(journal);
        std::fs::write(path(".fatbin-undo"), record).unwrap();
        assert!(linux::has_unfinished(directory));
    }
}

#[test]
fn a_commit_that_is_cut_short_anywhere_is_undone_or_complete() {
    for steps in 2..=STEPS.len() {
        let directory = tempfile::tempdir().unwrap();
        cut_short(directory.path(), steps);
        let recovered = recover(directory.path()).unwrap();
        let found = contents(directory.path());
        let is_complete = steps == STEPS.len();
        let expected: &[(&str, &str)] = if is_complete { &[("a", "new"), ("b", "new")] } else { &[("a", "old")] };
        let expected = expected.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect();
        assert_eq!(found, expected, "{steps} steps: {recovered:?}");
        assert!(!linux::has_unfinished(directory.path()));
        assert_eq!(recover(directory.path()).unwrap(), []);
    }
}

#[test]
fn a_file_that_was_written_since_stays() {
    let directory = tempfile::tempdir().unwrap();
    cut_short(directory.path(), 4);
    for name in ["a", "b"] {
        let path = directory.path().join(name);
        std::fs::write(directory.path().join("newer"), "newer").unwrap();
        std::fs::rename(directory.path().join("newer"), path).unwrap();
    }
    let newer = ["a", "b"].map(|name| Recovered::Newer(directory.path().join(name)));
    assert_eq!(recover(directory.path()).unwrap(), newer);
    assert_eq!(std::fs::read(directory.path().join("a")).unwrap(), b"newer");
    assert_eq!(std::fs::read(directory.path().join(".fatbin-old")).unwrap(), b"old");
}

#[test]
fn a_record_names_only_files_of_its_directory() {
    for fields in [
        ["../victim", ".fatbin-x", "1"],
        ["/victim", ".fatbin-x", "1"],
        ["a", "../.fatbin-x", "1"],
        ["a", "victim", "1"],
        ["..", "", "1"],
        ["", "", "1"],
    ] {
        let directory = tempfile::tempdir().unwrap();
        let record = [b"fatbin.undo/1\n".to_vec(), (fields.join("\0") + "\0").into_bytes()].concat();
        std::fs::write(directory.path().join(".fatbin-undo"), record).unwrap();
        std::fs::write(directory.path().join("victim"), "victim").unwrap();
        let error = recover(directory.path()).unwrap_err().to_string();
        assert!(error.ends_with("not a record of outputs"), "{error}");
        assert_eq!(contents(directory.path()).len(), 2);
    }
}

#[test]
fn a_record_is_a_file() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join(".fatbin-undo");
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert!(!linux::has_unfinished(directory.path()));
    assert_eq!(recover(directory.path()).unwrap(), []);
    std::fs::remove_file(&path).unwrap();
    File::create(&path).unwrap();
    assert!(recover(directory.path()).is_err());
}

/// The path of an input that is changed in place is canonical. The path of the proof next to it is as the user wrote
/// it.
#[cfg(unix)]
#[test]
fn a_directory_with_two_names_has_one_record() {
    let directory = tempfile::tempdir().unwrap();
    let links = tempfile::tempdir().unwrap();
    std::os::unix::fs::symlink(directory.path(), links.path().join("link")).unwrap();
    let entry = |path: PathBuf| JournalEntry { path, backup: None, new: JournalEntry::IN_PLACE.to_owned() };
    let entries = [directory.path().join("a"), links.path().join("link/b")].map(entry);
    let _journal = Journal::write(&entries);
    assert_eq!(contents(directory.path()).len(), 1);
}
