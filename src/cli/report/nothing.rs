//! The answer that nothing was found: what was looked for, what was not opened, and what looks like device code.

use super::screen::Screen;
use super::style::Meaning;
use super::text::{counted, printable, shorten, wrapped};
use crate::shell::quoted;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::format::ContainerType;
use fatbin_core::scan::inventory::{File, NotOpened, SignKind};

/// Width of the text, and of the labels with the spaces around them.
const WIDTH: usize = 80;
const LABEL: usize = 14;

/// Maximum number of rows of each kind.
const MAX_ROWS: usize = 4;

/// Files that were searched.
#[derive(Debug, Default)]
pub struct Nothing {
    /// A file has device code, or an error that is the answer.
    has_other_answer: bool,
    unsearched: u64,
    not_opened: Rows,
    unknown: Rows,
    records: Rows,
    calls: Rows,
}

/// The first rows, and the number of all.
#[derive(Debug, Default)]
struct Rows {
    first: Vec<String>,
    count: usize,
}

impl Rows {
    fn add(&mut self, row: impl FnOnce() -> String) {
        self.count += 1;
        if self.first.len() < MAX_ROWS {
            self.first.push(row());
        }
    }

    fn rows(&self) -> Vec<String> {
        let more = self.count - self.first.len();
        let more = (more > 0).then(|| format!("and {more} more"));
        self.first.iter().cloned().chain(more).collect()
    }
}

/// Returns the names of the containers and images that a scan finds.
pub fn looked_for() -> Vec<&'static str> {
    let mut names: Vec<&str> = ContainerType::ALL.into_iter().map(ContainerType::name).collect();
    // An image of another name in the data of a file.
    names.retain(|name| *name != ContainerType::Embedded.name());
    names
}

impl Nothing {
    /// Adds a file.
    pub fn add(&mut self, file: &File) {
        self.has_other_answer |= file.has_device_code() || !file.errors.is_empty() || file.failure.is_some();
        self.unsearched = self.unsearched.saturating_add(file.unsearched);
        if let Some(reason) = file.not_opened {
            self.not_opened.add(|| not_opened(&file.path, reason));
        }
        for sign in file.unknown_code() {
            self.unknown.add(|| format!("{}: {} {}", printable(&file.path), sign.kind.name(), sign.name));
        }
        for sign in file.signs.iter().filter(|sign| sign.kind == SignKind::Records) {
            self.records
                .add(|| format!("{}: MIOpen's measurements for {}, without code", printable(&file.path), sign.name));
        }
        let calls: Vec<&str> =
            file.signs.iter().filter(|sign| sign.kind == SignKind::Call).map(|sign| sign.name).collect();
        if !calls.is_empty() {
            self.calls.add(|| format!("{}: {}", printable(&file.path), calls.join(", ")));
        }
    }

    /// Returns whether the answer is that nothing was found.
    pub fn is_answer(&self) -> bool {
        !self.has_other_answer
    }

    /// Formats the answer about `inputs`, with the number of files if it differs, as lines with labels.
    pub fn text(&self, inputs: &str, files: Option<usize>, screen: &Screen) -> String {
        let line = |label: &str, text: &str| {
            let width = LABEL - 2;
            format!("  {}{text}\n", screen.paint(Meaning::Heading, &format!("{label:width$}")))
        };
        let block = |label: &str, rows: Vec<String>| -> String {
            let labelled = rows.iter().enumerate();
            labelled.map(|(number, row)| line(if number == 0 { label } else { "" }, row)).collect()
        };
        let mut rest = files.map_or(String::new(), |files| format!(", {}", counted(files, "file")));
        if self.unsearched > 0 {
            rest += &format!(", but not {} that no header refers to", screen.bytes(self.unsearched));
        }
        let room = screen.width.map_or(usize::MAX, |width| width.saturating_sub(LABEL + rest.len()));
        let searched = shorten(&printable(inputs), room) + &rest;
        line("searched", &searched)
            + &block("looked for", paragraph(&looked_for()))
            + &block("not opened", self.not_opened.rows())
            + &block("unknown", self.unknown.rows())
            + &block("records", self.records.rows())
            + &block("calls", self.calls.rows())
    }
}

/// Returns the command that unpacks a file, or the reason why it was not opened.
fn not_opened(path: &FilePath, reason: NotOpened) -> String {
    match reason.command() {
        // A member must be unpacked first.
        Some(command) if path.member().is_none() => format!("{command} {}", quoted(path)),
        _ => format!("{}: {reason}", printable(path)),
    }
}

/// Joins words to lines.
fn paragraph(words: &[&str]) -> Vec<String> {
    let mut rest = words;
    let mut lines = Vec::new();
    for count in wrapped(words, ", ", WIDTH - LABEL) {
        let (line, after) = rest.split_at(count.min(rest.len()));
        rest = after;
        lines.push(line.join(", ") + if rest.is_empty() { "" } else { "," });
    }
    lines
}
