//! Answers of the loaders of kpack archives: text and JSON.

use crate::report::Screen;
use crate::report::text::{Block, Column, columns, counted, headline, printable};
use fatbin_core::base::json::JsonWriter;
use fatbin_ops::analyze::select::kpack::{AnsweredCode, AnsweredDevice, AnsweredReference, KpackAnswer, KpackLoader};

/// Returns a block for each device: a row for each range of code objects with equal answers.
pub fn lists(path: &str, answered: &AnsweredReference<'_>, screen: &Screen) -> Vec<Block> {
    let kernel_name = printable(&answered.reference.kernel_name);
    let block = |AnsweredDevice { device, code }: &AnsweredDevice<'_>| {
        let text = format!("kpack archives: HIP on {device} looks for {kernel_name}");
        let headings = ["CODE", "RELEASES", "VERDICT", "ARCHIVE OR REASON"].map(Column::left);
        let body = columns(&headings, rows(code).into_iter(), screen);
        Block { heading: headline(path, &text, screen), body }
    };
    answered.devices.iter().map(block).collect()
}

/// Returns the text of the line about a file: the number of code objects, and the number of code objects that a generation of the
/// loader does not find.
pub fn summary(name: &str, answered: &AnsweredReference<'_>) -> String {
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
    format!("{name}: {count} in kpack archives: {outcomes}")
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

/// Writes the answers for the code of a file in kpack archives: for each generation of the loader an archive and the
/// target ID of the code in it, or the reason why there is none.
pub fn write_reference(json: &mut JsonWriter, answered: &AnsweredReference<'_>) {
    json.field("kernel_name", &answered.reference.kernel_name);
    json.objects("devices", &answered.devices, |json, it| {
        json.field("device", it.device.to_string());
        json.objects("code", &it.code, |json, code| {
            json.field("index", code.index);
            let answers = KpackLoader::ALL.into_iter().zip(&code.answers);
            json.objects("answers", answers, |json, (loader, answer)| {
                json.field("release", loader.releases());
                match answer {
                    Ok(loaded) => {
                        json.field("archive", &loaded.archive.path);
                        json.field("arch", loaded.arch);
                    }
                    Err(failure) => json.field("reason", failure.to_string()),
                }
            });
        });
    });
}
