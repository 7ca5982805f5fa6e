//! The order of the rooms, and the test that every dependency points to an earlier one.

use std::fs;

use super::references::references;
use super::{source_directory, source_files};

/// Returns the rooms in the order of the table in `src/lib.rs`.
fn rooms() -> Vec<String> {
    let root = fs::read_to_string(source_directory().join("lib.rs")).unwrap();
    let rows = root.lines().skip_while(|line| *line != "//! # Rooms").filter_map(|line| line.strip_prefix("//! | "));
    let names = rows.filter_map(|row| row.split('`').nth(1));
    names.map(str::to_owned).collect()
}

#[test]
fn rooms_use_only_earlier_ones() {
    let rooms = rooms();
    let position = |room: &str| rooms.iter().position(|other| other == room);
    let mut checked = 0;
    for file in source_files().iter().filter(|file| !file.is_root()) {
        let path = file.path.display();
        let own = position(file.room()).unwrap_or_else(|| panic!("{path}: src/lib.rs does not list {}", file.room()));
        for reference in references(&file.text, &file.module) {
            let used = reference.first().unwrap_or_else(|| panic!("{path}: uses the crate's root"));
            if used == file.room() {
                continue;
            }
            let other = position(used).unwrap_or_else(|| panic!("{path}: src/lib.rs does not list {used}"));
            assert!(other < own, "{path}: {} uses {used}, which comes later", file.room());
            checked += 1;
        }
    }
    assert!(checked > 500, "only {checked} references between rooms found: the search for them is broken");
}

#[test]
fn every_directory_of_src_is_a_room() {
    let mut found: Vec<String> = fs::read_dir(source_directory())
        .unwrap()
        .map(|entry| entry.unwrap().path())
        .filter(|path| path.is_dir())
        .map(|path| path.file_name().unwrap().to_str().unwrap().to_owned())
        .collect();
    let mut listed = rooms();
    found.sort();
    listed.sort();
    assert_eq!(found, listed);
}
