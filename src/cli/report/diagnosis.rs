//! `doctor`: problems of a link, as text or as one document of schema `fatbin.doctor/1`. Later versions of fatbin only add fields.

use serde::Serialize;

use super::Screen;
use super::json::to_pretty_json;
use super::text::{Column, columns, counted, printable};
use crate::link::doctor::{Diagnosis, OutputSection, Problem};

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.doctor/1";

#[derive(Serialize)]
struct Document<'a> {
    schema: &'static str,
    linker: &'static str,
    output: &'static str,
    objects: usize,
    problems: Vec<JsonProblem<'a>>,
    layout: Vec<JsonSection<'a>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    script: Option<JsonScript<'a>>,
}

#[derive(Serialize)]
struct JsonProblem<'a> {
    kind: &'static str,
    effect: &'static str,
    path: &'a str,
    #[serde(skip_serializing_if = "Option::is_none")]
    section: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    offset: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    symbol: Option<&'a str>,
    count: usize,
    message: &'a str,
    remedy: &'a str,
}

#[derive(Serialize)]
struct JsonSection<'a> {
    name: &'a str,
    address: u64,
    size: u64,
}

#[derive(Serialize)]
struct JsonScript<'a> {
    text: &'a str,
    remaining: usize,
}

/// Returns the document, with a final newline.
pub fn diagnosis_json(diagnosis: &Diagnosis) -> String {
    let layout = diagnosis.layout.iter().map(|it| JsonSection { name: &it.name, address: it.address, size: it.size });
    to_pretty_json(&Document {
        schema: SCHEMA,
        linker: diagnosis.linker.name(),
        output: diagnosis.output_type.name(),
        objects: diagnosis.objects,
        problems: diagnosis.problems.iter().map(JsonProblem::new).collect(),
        layout: layout.collect(),
        script: diagnosis.script.as_ref().map(|it| JsonScript { text: &it.text, remaining: it.remaining }),
    })
}

impl<'a> JsonProblem<'a> {
    fn new(problem: &'a Problem) -> Self {
        JsonProblem {
            kind: problem.kind.name(),
            effect: problem.effect.name(),
            path: &problem.path,
            section: problem.section.as_deref(),
            offset: problem.offset,
            symbol: problem.symbol.as_deref(),
            count: problem.count,
            message: &problem.message,
            remedy: &problem.remedy,
        }
    }
}

/// Returns a line for the link, one for each problem, and one for the remedy of problems in a row; the layout first if it is
/// requested.
pub fn diagnosis_text(diagnosis: &Diagnosis, has_layout: bool, screen: &Screen) -> String {
    let objects = counted(diagnosis.objects, "object");
    let problems = match diagnosis.problems.len() {
        0 => "no problems".to_owned(),
        count => counted(count, "problem"),
    };
    let mut text = String::new();
    if has_layout {
        let headings = [Column::left("SECTION"), Column::right("ADDRESS"), Column::right("SIZE")];
        let row = |it: &OutputSection| vec![printable(&it.name), format!("{:#x}", it.address), it.size.to_string()];
        text += &columns(&headings, diagnosis.layout.iter().map(row), screen);
    }
    text += &format!("{}, {}: {objects}, {problems}\n", diagnosis.linker.title(), diagnosis.output_type.name());
    let mut problems = diagnosis.problems.iter().peekable();
    while let Some(problem) = problems.next() {
        text += &problem_text(problem);
        // Problems with the same cause follow one another.
        if problems.peek().is_none_or(|next| next.remedy != problem.remedy) {
            text += &format!("  remedy: {}\n", printable(&problem.remedy));
        }
    }
    if let Some(script) = &diagnosis.script {
        text += &match script.remaining {
            0 => "With the linker script of --script, every relocation reaches its target.\n".to_owned(),
            count => format!("With the linker script of --script, {} out of reach.\n", out_of_reach(count)),
        };
    }
    text
}

fn out_of_reach(count: usize) -> String {
    if count == 1 { "1 relocation stays".to_owned() } else { format!("{count} relocations stay") }
}

fn problem_text(problem: &Problem) -> String {
    let section = problem.section.as_ref().map(|section| format!(" {section}")).unwrap_or_default();
    let offset = problem.offset.map(|offset| format!(" at {offset:#x}")).unwrap_or_default();
    let others = if problem.count > 1 { format!(" ({} places)", problem.count) } else { String::new() };
    let place = printable(&format!("{}:{section}{offset}", problem.path));
    let message = printable(&problem.message);
    format!("{}: {place}: {message}{others}\n", problem.kind.name())
}
