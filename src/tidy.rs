//! The shape of the source, as tests: who may use whom, and how long a file may be.
//!
//! The map in `lib.rs` says that a room uses only rooms above it. Compilers do not mind a circle between modules; a
//! newcomer does. When one of these tests is in the way, the wall is in the wrong place or the new line is: find out
//! which before changing the test.

use std::fs;
use std::path::{Path, PathBuf};

/// The rooms from the top to the bottom of the house. A room may use those on floors above its own, and none on its own
/// floor but itself.
const FLOORS: [&[&str]; 9] = [
    &["error"],
    &["bytes", "content", "parallel"],
    &["archive", "codec", "io", "target"],
    &["format"],
    &["host", "inspect", "inventory", "rewrite"],
    &["wrap", "scan", "select", "survey"],
    &["check", "lock"],
    &["ops", "report"],
    &["cli"],
];

const LONGEST_FILE: usize = 450;

fn source_files(folder: &Path) -> Vec<PathBuf> {
    let mut files = Vec::new();
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        if path.is_dir() {
            files.extend(source_files(&path));
        } else if path.extension().is_some_and(|extension| extension == "rs") {
            files.push(path);
        }
    }
    files
}

fn source() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("src")
}

/// The room that a file belongs to: the first part of its path below `src`.
fn room(file: &Path) -> String {
    let below = file.strip_prefix(source()).unwrap();
    below.components().next().unwrap().as_os_str().to_str().unwrap().trim_end_matches(".rs").to_owned()
}

fn floor(room: &str) -> Option<usize> {
    FLOORS.iter().position(|rooms| rooms.contains(&room))
}

/// The rooms that the code of a text names after `crate::`, also inside braces. Comments may point anywhere.
fn uses(text: &str) -> Vec<String> {
    let code: Vec<&str> = text.lines().filter(|line| !line.trim_start().starts_with("//")).collect();
    let text = code.join("\n");
    let mut rooms = Vec::new();
    for (at, _) in text.match_indices("crate::") {
        let rest = &text[at + "crate::".len()..];
        let names = match rest.strip_prefix('{') {
            Some(list) => top_level(list),
            None => vec![rest],
        };
        rooms.extend(names.iter().map(|name| name.chars().take_while(|c| c.is_alphanumeric() || *c == '_').collect()));
    }
    rooms
}

/// The items of a brace list, up to its end, without what stands in inner braces.
fn top_level(list: &str) -> Vec<&str> {
    let (mut items, mut depth, mut start) = (Vec::new(), 0, 0);
    for (at, c) in list.char_indices() {
        match c {
            '{' => depth += 1,
            '}' if depth == 0 => {
                items.push(list[start..at].trim());
                return items;
            }
            '}' => depth -= 1,
            ',' if depth == 0 => {
                items.push(list[start..at].trim());
                start = at + 1;
            }
            _ => {}
        }
    }
    items
}

#[test]
fn a_room_uses_only_rooms_above_it() {
    let mut checked = 0;
    for file in source_files(&source()) {
        let own = room(&file);
        if ["lib", "main", "tidy"].contains(&own.as_str()) {
            continue;
        }
        let own_floor = floor(&own).unwrap_or_else(|| panic!("{}: {own} is on no floor", file.display()));
        for used in uses(&fs::read_to_string(&file).unwrap()) {
            if used.is_empty() || used == own {
                continue;
            }
            let used_floor = floor(&used).unwrap_or_else(|| panic!("{}: {used} is on no floor", file.display()));
            assert!(used_floor < own_floor, "{}: {own} uses {used}, which is not above it", file.display());
            checked += 1;
        }
    }
    assert!(checked > 50, "only {checked} uses found: this test no longer sees them");
}

#[test]
fn uses_are_seen_in_every_form() {
    let text = "use crate::bytes::View; use crate::{report, scan::{self, tidy}}; fn f() -> crate::error::Result {}";
    assert_eq!(uses(text), ["bytes", "report", "scan", "error"]);
}

#[test]
fn a_file_holds_one_idea_and_not_a_whole_room() {
    for file in source_files(&source()) {
        let lines = fs::read_to_string(&file).unwrap().lines().count();
        assert!(lines <= LONGEST_FILE, "{}: {lines} lines", file.display());
    }
}

#[test]
fn every_file_opens_with_what_it_is() {
    for file in source_files(&source()) {
        let text = fs::read_to_string(&file).unwrap();
        assert!(text.starts_with("//! "), "{}: no story at its head", file.display());
    }
}

#[test]
fn unsafe_code_lives_in_io_alone() {
    for file in source_files(&source()) {
        let own = room(&file);
        if own != "io" && own != "tidy" {
            let text = fs::read_to_string(&file).unwrap();
            assert!(!text.contains(concat!("uns", "afe {")), "{}", file.display());
        }
    }
}

#[test]
fn every_room_is_on_the_map_and_on_a_floor() {
    let map = fs::read_to_string(source().join("lib.rs")).unwrap();
    for rooms in FLOORS {
        for room in rooms {
            assert!(map.contains(&format!("pub mod {room};")), "{room} is no module");
            assert!(map.contains(&format!("[`{room}`]")) || map.contains(&format!("[`mod@{room}`]")), "{room}");
        }
    }
}
