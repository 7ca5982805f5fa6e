//! Answers of the loaders of kpack archives: text and JSON.

use serde::Serialize;

use crate::analyze::select::kpack::{AnsweredCode, AnsweredDevice, AnsweredReference, KpackAnswer, KpackLoader};
use crate::cli::report::Screen;
use crate::cli::report::text::{Column, columns, counted, printable};

/// Returns a block for each device: a row for each range of code objects with equal answers.
pub fn text(path: &str, answered: &AnsweredReference<'_>, screen: &Screen) -> String {
    let kernel_name = printable(&answered.reference.kernel_name);
    let mut text = String::new();
    for AnsweredDevice { device, code } in &answered.devices {
        text += &format!("{}: kpack archives: HIP on {device} looks for {kernel_name}\n", printable(path));
        let headings = ["CODE", "RELEASES", "VERDICT", "ARCHIVE OR REASON"].map(Column::left);
        text += &columns(&headings, rows(code).into_iter(), screen);
    }
    text
}

/// Returns a line for a file: the number of code objects, and the number of code objects that a generation of the
/// loader does not find.
pub fn summary(path: &str, name: &str, answered: &AnsweredReference<'_>) -> String {
    let code = || answered.devices.iter().flat_map(|device| &device.code);
    let count = counted(answered.reference.indices.len(), "code object");
    let mut outcomes = Vec::new();
    for (at, loader) in KpackLoader::ALL.into_iter().enumerate() {
        let mut missing: Vec<u32> = code().filter(|code| code.answers[at].is_err()).map(|code| code.index).collect();
        missing.sort_unstable();
        missing.dedup();
        if !missing.is_empty() {
            outcomes.push(format!("{} not found by {}", missing.len(), loader.releases()));
        }
    }
    let outcomes = if outcomes.is_empty() { "all found".to_owned() } else { outcomes.join(", ") };
    format!("{path}: {name}: {count} in kpack archives: {outcomes}\n")
}

/// Formats consecutive code objects with equal answers as one row. If the generations of the loader have different
/// answers, there is a row for each generation.
fn rows(code: &[AnsweredCode<'_>]) -> Vec<Vec<String>> {
    let mut rows = Vec::new();
    for group in code.chunk_by(|one, next| one.answers == next.answers) {
        let [first, .., last] = group else {
            rows.extend(group.iter().flat_map(|code| rows_of(&format!("#{}", code.index), &code.answers)));
            continue;
        };
        rows.extend(rows_of(&format!("#{} to #{}", first.index, last.index), &first.answers));
    }
    rows
}

fn rows_of(code: &str, answers: &[KpackAnswer<'_>; KpackLoader::ALL.len()]) -> Vec<Vec<String>> {
    let row = |releases: &str, answer: &KpackAnswer<'_>| {
        let (verdict, reason) = match answer {
            Ok(loaded) => ("loaded", printable(&loaded.archive.path)),
            Err(failure) => ("not found", printable(&failure.to_string())),
        };
        vec![code.to_owned(), releases.to_owned(), verdict.to_owned(), reason]
    };
    if answers.iter().all(|answer| *answer == answers[0]) {
        return vec![row("all", &answers[0])];
    }
    KpackLoader::ALL.into_iter().zip(answers).map(|(loader, answer)| row(loader.releases(), answer)).collect()
}

/// Answers for the code of a file in kpack archives.
#[derive(Serialize)]
pub struct JsonReference<'a> {
    kernel_name: &'a str,
    devices: Vec<JsonDevice<'a>>,
}

#[derive(Serialize)]
struct JsonDevice<'a> {
    device: String,
    code: Vec<JsonCode<'a>>,
}

#[derive(Serialize)]
struct JsonCode<'a> {
    index: u32,
    answers: Vec<JsonAnswer<'a>>,
}

/// Answer of a generation of the loader: an archive and the target ID of the code in it, or the reason why there is
/// none.
#[derive(Serialize)]
struct JsonAnswer<'a> {
    release: &'static str,
    #[serde(skip_serializing_if = "Option::is_none")]
    archive: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    arch: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    reason: Option<String>,
}

impl<'a> JsonReference<'a> {
    /// Creates the mirror of the answers for a reference.
    pub fn new(answered: &'a AnsweredReference<'a>) -> Self {
        let answer = |(loader, answer): (KpackLoader, &KpackAnswer<'a>)| JsonAnswer {
            release: loader.releases(),
            archive: answer.ok().map(|loaded| loaded.archive.path.as_str()),
            arch: answer.ok().map(|loaded| loaded.arch),
            reason: answer.err().map(|failure| failure.to_string()),
        };
        let code = |code: &AnsweredCode<'a>| JsonCode {
            index: code.index,
            answers: KpackLoader::ALL.into_iter().zip(&code.answers).map(answer).collect(),
        };
        let device = |it: &AnsweredDevice<'a>| JsonDevice {
            device: it.device.to_string(),
            code: it.code.iter().map(code).collect(),
        };
        JsonReference {
            kernel_name: &answered.reference.kernel_name,
            devices: answered.devices.iter().map(device).collect(),
        }
    }
}
