//! Tests of records, and of the recovery from a commit that was cut short at any place.

use std::collections::BTreeMap;
use std::fs::File;
use std::os::unix::fs::symlink;

use tempfile::TempDir;

use super::directory::Directory;
use super::linux::NAME;
use super::record::{Record, RecordedDirectory, RecordedFile, to_bytes};
use super::state::RecordedState;
use super::*;

/// Steps of a commit of the outputs `a` and `b`. Only `a` existed before.
const STEPS: [&str; 6] = ["record", "backup", "first name", "second name", "complete", "backup removed"];

/// Two directories, each with an output. They may be the same one.
struct Commit {
    directories: [PathBuf; 2],
    /// The bytes of `a` are written into the old file.
    is_in_place: bool,
}

impl Commit {
    fn path(&self, name: &str) -> PathBuf {
        let [first, second] = &self.directories;
        if name.ends_with('b') { second.join(name) } else { first.join(name) }
    }

    /// Leaves the directories as if the process was killed after some of the steps.
    fn cut_short(&self, steps: usize) {
        std::fs::write(self.path("a"), "old").unwrap();
        for name in [".fatbin-new-a", ".fatbin-new-b"] {
            std::fs::write(self.path(name), "new").unwrap();
        }
        let new = [".fatbin-new-a", ".fatbin-new-b"].map(|name| File::open(self.path(name)).unwrap());
        let [a, b, old] = ["a", "b", ".fatbin-old-a"].map(|name| self.path(name));
        let is_in_place = self.is_in_place;
        let entries = [
            JournalEntry { path: &a, backup: Some(&old), new: &new[0], is_in_place },
            JournalEntry { path: &b, backup: None, new: &new[1], is_in_place: false },
        ];
        let journal = Journal::write(&entries).unwrap();
        for step in &STEPS[1..steps] {
            match *step {
                "backup" if is_in_place => {
                    std::fs::copy(&a, &old).unwrap();
                    journal.add_copy(0, &old);
                }
                "backup" => std::fs::hard_link(&a, &old).unwrap(),
                "first name" if is_in_place => {
                    std::fs::write(&a, "new").unwrap();
                    std::fs::remove_file(self.path(".fatbin-new-a")).unwrap();
                }
                "first name" => std::fs::rename(self.path(".fatbin-new-a"), &a).unwrap(),
                "second name" => std::fs::rename(self.path(".fatbin-new-b"), &b).unwrap(),
                "complete" => journal.complete(),
                _ => std::fs::remove_file(&old).unwrap(),
            }
        }
        self.kill(journal);
    }

    /// Keeps the links of a record that its process removes at its end.
    fn kill(&self, journal: Journal) {
        let [first, second] = &self.directories;
        let directories = if first == second { vec![first] } else { vec![first, second] };
        for directory in &directories {
            assert!(!linux::has_unfinished(directory), "a live process has locked its record");
            std::fs::hard_link(directory.join(NAME), directory.join("kept")).unwrap();
        }
        drop(journal);
        for directory in &directories {
            std::fs::rename(directory.join("kept"), directory.join(NAME)).unwrap();
            assert!(linux::has_unfinished(directory));
        }
    }
}

fn one_directory(directory: &TempDir, is_in_place: bool) -> Commit {
    Commit { directories: [directory.path().to_owned(), directory.path().to_owned()], is_in_place }
}

fn contents(directory: &Path) -> BTreeMap<String, String> {
    let mut files = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let path = entry.unwrap().path();
        let bytes = std::fs::read(&path).unwrap_or_default();
        let name = path.file_name().unwrap().to_string_lossy().into_owned();
        files.insert(name, String::from_utf8_lossy(&bytes).into_owned());
    }
    files
}

fn files(files: &[(&str, &str)]) -> BTreeMap<String, String> {
    files.iter().map(|(name, text)| ((*name).to_owned(), (*text).to_owned())).collect()
}

#[test]
fn a_commit_that_is_cut_short_anywhere_is_undone_or_complete() {
    for is_in_place in [false, true] {
        for steps in 1..=STEPS.len() {
            let directory = tempfile::tempdir().unwrap();
            one_directory(&directory, is_in_place).cut_short(steps);
            let recovered = recover(directory.path()).unwrap();
            let is_complete = steps > 4;
            let expected: &[_] = if is_complete { &[("a", "new"), ("b", "new")] } else { &[("a", "old")] };
            assert_eq!(contents(directory.path()), files(expected), "{steps} steps: {recovered:?}");
            assert!(!linux::has_unfinished(directory.path()));
            assert_eq!(recover(directory.path()).unwrap(), []);
        }
    }
}

#[test]
fn recovering_one_directory_of_a_commit_recovers_all() {
    for steps in 1..=STEPS.len() {
        for recovered in [0, 1] {
            let directories = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
            let commit =
                Commit { directories: directories.each_ref().map(|it| it.path().to_owned()), is_in_place: false };
            commit.cut_short(steps);
            recover(&commit.directories[recovered]).unwrap();
            let (a, b): (&str, &[_]) = if steps > 4 { ("new", &[("b", "new")]) } else { ("old", &[]) };
            assert_eq!(contents(&commit.directories[0]), files(&[("a", a)]), "{steps} steps");
            assert_eq!(contents(&commit.directories[1]), files(b), "{steps} steps");
        }
    }
}

/// A file with the same name, size and even inode is recognized by its time and bytes.
#[test]
fn a_file_that_was_written_since_stays() {
    let ways: [fn(&Path); 3] = [
        |path| std::fs::rename(newer(path), path).unwrap(),
        |path| std::fs::write(path, "NEW").unwrap(),
        |path| {
            let modified = path.metadata().unwrap().modified().unwrap();
            std::fs::write(path, "NEW").unwrap();
            File::options().write(true).open(path).unwrap().set_modified(modified).unwrap();
        },
    ];
    for write in ways {
        for is_in_place in [false, true] {
            let directory = tempfile::tempdir().unwrap();
            one_directory(&directory, is_in_place).cut_short(4);
            for name in ["a", "b"] {
                write(&directory.path().join(name));
            }
            let path = |name: &str| directory.path().join(name);
            let newer = [("a", Some(path(".fatbin-old-a"))), ("b", None)];
            let newer = newer.map(|(name, old)| Recovered::Newer { path: path(name), old });
            assert_eq!(recover(directory.path()).unwrap(), newer);
            let expected = files(&[("a", "NEW"), ("b", "NEW"), (".fatbin-old-a", "old")]);
            assert_eq!(contents(directory.path()), expected);
        }
    }
}

fn newer(path: &Path) -> PathBuf {
    let newer = path.with_extension("newer");
    std::fs::write(&newer, "NEW").unwrap();
    newer
}

#[test]
fn a_file_that_was_half_written_in_place_stays_and_the_old_one_is_named() {
    let directory = tempfile::tempdir().unwrap();
    one_directory(&directory, true).cut_short(2);
    std::fs::write(directory.path().join("a"), "ne").unwrap();
    let [path, old] = ["a", ".fatbin-old-a"].map(|name| directory.path().join(name));
    assert_eq!(recover(directory.path()).unwrap(), [Recovered::Newer { path, old: Some(old) }]);
}

/// Someone has put a record into a directory whose files are as it says.
#[test]
fn links_and_other_names_are_not_followed() {
    let directory = tempfile::tempdir().unwrap();
    let outside = tempfile::tempdir().unwrap();
    let victim = outside.path().join("victim");
    for name in ["link", "../victim", "/victim", "..", "", "."] {
        std::fs::write(&victim, "victim").unwrap();
        std::fs::write(directory.path().join(".fatbin-old-x"), "evil").unwrap();
        let _ = std::fs::remove_file(directory.path().join("link"));
        symlink(&victim, directory.path().join("link")).unwrap();
        let state = RecordedState::of_file(&File::open(&victim).unwrap()).unwrap();
        let old = RecordedState::of_file(&File::open(directory.path().join(".fatbin-old-x")).unwrap()).unwrap();
        for is_in_place in [false, true] {
            let old = Some(if is_in_place { state.clone() } else { old.clone() });
            let file = RecordedFile {
                directory: RecordedDirectory {
                    path: directory.path().to_owned(),
                    id: Directory::open(directory.path()).unwrap().id().unwrap(),
                },
                name: name.into(),
                backup: Some(".fatbin-old-x".into()),
                copy: old.as_ref().unwrap().sum,
                is_in_place,
                old,
                new: state.clone(),
            };
            std::fs::write(directory.path().join(NAME), to_bytes(&[file]).0).unwrap();
            recover(directory.path()).unwrap();
            assert_eq!(std::fs::read(&victim).unwrap(), b"victim", "{name}");
            assert!(directory.path().join("link").is_symlink());
            let _ = std::fs::remove_file(directory.path().join(NAME));
        }
    }
}

#[test]
fn records_of_other_users_directories_and_programs_are_left_and_hide_nothing() {
    let directory = tempfile::tempdir().unwrap();
    one_directory(&directory, false).cut_short(4);
    let path = |name: &str| directory.path().join(name);
    let before = contents(directory.path());
    let mut as_other = Directory::open(directory.path()).unwrap();
    as_other.user += 1;
    let left = |name: &str, why| Recovered::Left { path: path(name), why };
    assert_eq!(recovery::recover_in(&as_other).unwrap(), [left(NAME, "belongs to another user")]);
    assert_eq!(contents(directory.path()), before);

    let copy = tempfile::tempdir().unwrap();
    std::fs::copy(path(NAME), copy.path().join(NAME)).unwrap();
    let why = "is a record of another directory";
    assert_eq!(recover(copy.path()).unwrap(), [Recovered::Left { path: copy.path().join(NAME), why }]);
    assert!(!linux::has_unfinished(copy.path()));

    std::fs::rename(path(NAME), path(".fatbin-undo-9")).unwrap();
    symlink("/dev/zero", path(NAME)).unwrap();
    std::fs::write(path(".fatbin-undo-2"), "fatbin.undo/1\n").unwrap();
    std::fs::write(path(".fatbin-undo-3"), "").unwrap();
    assert!(linux::has_unfinished(directory.path()));
    let recovered = recover(directory.path()).unwrap();
    let why = "is not a record of outputs";
    for left in [left(NAME, "is no file that can be opened"), left(".fatbin-undo-2", why), left(".fatbin-undo-3", why)]
    {
        assert!(recovered.contains(&left), "{recovered:?}");
    }
    assert_eq!(std::fs::read(path("a")).unwrap(), b"old");
}

#[test]
fn hidden_files_that_no_process_has_locked_are_removed() {
    let directory = tempfile::tempdir().unwrap();
    let path = |name: &str| directory.path().join(name);
    let used = crate::base::io::files::temporary::Temporary::create_named(directory.path()).unwrap();
    std::fs::write(path(".fatbin-x"), "").unwrap();
    std::fs::write(path(".fatbin-old-x"), "").unwrap();
    symlink("x", path(".fatbin-link")).unwrap();
    let why = "is an old file of a run without a record";
    let expected = [Recovered::Left { path: path(".fatbin-old-x"), why }, Recovered::Removed(path(".fatbin-x"))];
    assert_eq!(recover(directory.path()).unwrap(), expected);
    assert_eq!(contents(directory.path()).len(), 3);
    drop(used);
    assert_eq!(contents(directory.path()).len(), 2);
}

#[test]
fn records_round_trip_and_damaged_ones_do_not_panic() {
    let file = File::open(std::env::current_exe().unwrap()).unwrap();
    let state = RecordedState::of_metadata(&file.metadata().unwrap());
    let files: Vec<RecordedFile> = [None, Some(7)]
        .map(|sum| RecordedFile {
            directory: RecordedDirectory { path: "/d".into(), id: (1, 2) },
            name: "a".into(),
            backup: sum.map(|_| ".fatbin-old-1".into()),
            copy: sum,
            is_in_place: sum.is_some(),
            old: sum.map(|_| state.clone()),
            new: RecordedState { sum, ..state.clone() },
        })
        .into();
    let (bytes, _) = to_bytes(&files);
    let parse = |bytes: &[u8]| {
        let mut record = tempfile::tempfile().unwrap();
        std::io::Write::write_all(&mut record, bytes).unwrap();
        std::io::Seek::rewind(&mut record).unwrap();
        Record::read(&record)
    };
    assert_eq!(parse(&bytes).unwrap(), Record { is_complete: false, files });
    for end in 0..bytes.len() {
        let _ = parse(&bytes[..end]);
        let damaged = [&bytes[..end], b"\xff", &bytes[end + 1..]].concat();
        let _ = parse(&damaged);
    }
}

/// The path of an input that is changed in place is canonical. The path of the proof next to it is as the user wrote
/// it.
#[test]
fn a_directory_with_two_names_has_one_record() {
    let directory = tempfile::tempdir().unwrap();
    let links = tempfile::tempdir().unwrap();
    symlink(directory.path(), links.path().join("link")).unwrap();
    let new = tempfile::tempfile().unwrap();
    let paths = [directory.path().join("a"), links.path().join("link/b")];
    let entries = paths.each_ref().map(|path| JournalEntry { path, backup: None, new: &new, is_in_place: false });
    let _journal = Journal::write(&entries).unwrap();
    assert_eq!(contents(directory.path()).len(), 1);
}
