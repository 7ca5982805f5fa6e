//! `diff --repaired`: a build before and after other tools have changed its host files. One line per file, or one
//! document of schema `fatbin.repaired/1`. Fields are never removed from a schema.

use super::text::{counted, printable};
use super::{Meaning, Screen};
use fatbin_core::base::json::{JsonWriter, json_document};
use fatbin_ops::edit::repaired::{BuiltFile, MovedContainer, RepairedFile};

/// Name and version of the schema.
const SCHEMA: &str = "fatbin.repaired/1";

/// A wheel, compared with its record.
#[derive(Debug)]
pub struct CheckedRecord {
    /// Path of the wheel.
    pub path: String,
    /// Number of members.
    pub members: usize,
    /// How the record contradicts the members.
    pub problems: Vec<String>,
}

/// A build before and after a repair.
#[derive(Debug)]
pub struct Repair<'a> {
    /// Names of the build before and after, as specified by the user.
    pub names: &'a [String; 2],
    /// Files with device code, and damaged ones.
    pub files: &'a [RepairedFile<'a>],
    /// Wheels after the repair.
    pub records: &'a [CheckedRecord],
}

impl Repair<'_> {
    /// Returns whether nothing is damaged.
    pub fn is_intact(&self) -> bool {
        let mut problems =
            self.files.iter().map(|file| &file.problems).chain(self.records.iter().map(|it| &it.problems));
        problems.all(Vec::is_empty)
    }

    /// Returns whether a file could not be compared.
    pub fn is_undecided(&self) -> bool {
        self.files.iter().any(|file| file.undecided.is_some())
    }
}

/// Returns a line for each file. With `all`, every problem has a line.
pub fn repair_text(repair: &Repair<'_>, all: bool, screen: &Screen) -> String {
    let mut text = String::new();
    for file in repair.files {
        let name = match file.old_path() {
            Some(old) => format!("{} -> {}", printable(old), printable(file.path())),
            None => printable(file.path()),
        };
        let verdict = match &file.undecided {
            _ if !file.problems.is_empty() => damaged(&file.problems, all, screen),
            Some(why) => format!("{}: {}", screen.paint(Meaning::Bad, "UNDECIDED"), printable(why)),
            None => intact(file, screen),
        };
        text += &format!("{name}: {verdict}\n");
    }
    for record in repair.records {
        let verdict = match record.problems.as_slice() {
            [] => format!("RECORD is true for {}", counted(record.members, "file")),
            problems => damaged(problems, all, screen),
        };
        text += &format!("{}: {verdict}\n", printable(&record.path));
    }
    text
}

fn damaged(problems: &[String], all: bool, screen: &Screen) -> String {
    let word = screen.paint(Meaning::Bad, "DAMAGED");
    match problems {
        [first, rest @ ..] if !all && !rest.is_empty() => {
            format!("{word}: {}; {} more with -v", printable(first), rest.len())
        }
        [only] => format!("{word}: {}", printable(only)),
        several => {
            let lines: Vec<String> = several.iter().map(|problem| format!("\n  {}", printable(problem))).collect();
            format!("{word}:{}", lines.concat())
        }
    }
}

fn intact(file: &RepairedFile<'_>, screen: &Screen) -> String {
    let [old, new] = [file.before, file.after].map(|side| side.map_or(0, |side| side.size));
    let images = counted(file.after.map_or(0, BuiltFile::image_count), "device image");
    let size = if old == new { screen.bytes(new) } else { screen.change(old, new) };
    let moved = file.moved.first().map(|first| moved_text(first, file.moved.len())).unwrap_or_default();
    format!("{}, {images}, {size}{moved}", screen.paint(Meaning::Good, "intact"))
}

fn moved_text(first: &MovedContainer<'_>, count: usize) -> String {
    let section = first.after.section.as_deref().map_or("container".to_owned(), printable);
    let (old, new) = (first.before.offset, first.after.offset);
    let more =
        if count > 1 { format!(" and {} more", counted(count.wrapping_sub(1), "container")) } else { String::new() };
    format!(", {section} moved from {old:#x} to {new:#x}{more}")
}

/// Returns the document, with a final newline.
pub fn repair_json(repair: &Repair<'_>) -> String {
    let [old, new] = repair.names;
    json_document(SCHEMA, |json| {
        json.field("intact", repair.is_intact() && !repair.is_undecided());
        json.field("old", old);
        json.field("new", new);
        json.objects("files", repair.files, file);
        json.objects("records", repair.records, |json, record| {
            json.field("path", &record.path);
            json.field("members", record.members);
            json.field("problems", &record.problems);
        });
    })
}

fn file(json: &mut JsonWriter, file: &RepairedFile<'_>) {
    json.field("path", file.path());
    json.optional("old_path", file.old_path());
    json.optional("old_size", file.before.map(|side| side.size));
    json.optional("new_size", file.after.map(|side| side.size));
    json.field("images", file.after.map_or(0, BuiltFile::image_count));
    json.objects("moved", &file.moved, |json, moved| {
        json.optional("section", moved.after.section.as_ref());
        json.field("old_offset", moved.before.offset);
        json.field("new_offset", moved.after.offset);
    });
    json.field("problems", &file.problems);
    json.optional("undecided", file.undecided.as_ref());
}
