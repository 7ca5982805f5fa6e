//! `doctor`: problems of a link, as text or as one document of schema `fatbin.doctor/1`. Later versions of fatbin only add fields.

use super::Screen;
use super::text::{Column, columns, counted, printable};
use fatbin_core::base::json::{JsonWriter, json_document};
use fatbin_ops::link::doctor::{Diagnosis, OutputSection, Problem};

/// Name and number of the schema.
const SCHEMA: &str = "fatbin.doctor/1";

/// Returns the document, with a final newline.
pub fn diagnosis_json(diagnosis: &Diagnosis) -> String {
    json_document(SCHEMA, |json| {
        json.field("linker", diagnosis.linker.name());
        json.field("output", diagnosis.output_type.name());
        json.field("objects", diagnosis.objects);
        json.objects("problems", &diagnosis.problems, problem);
        json.objects("layout", &diagnosis.layout, |json, section| {
            json.field("name", &section.name);
            json.field("address", section.address);
            json.field("size", section.size);
        });
        if let Some(script) = &diagnosis.script {
            json.object("script", |json| {
                json.field("text", &script.text);
                json.field("remaining", script.remaining);
            });
        }
    })
}

fn problem(json: &mut JsonWriter, problem: &Problem) {
    json.field("kind", problem.kind.name());
    json.field("effect", problem.effect.name());
    json.field("path", &problem.path);
    json.optional("section", problem.section.as_ref());
    json.optional("offset", problem.offset);
    json.optional("symbol", problem.symbol.as_ref());
    json.field("count", problem.count);
    json.field("message", &problem.message);
    json.field("remedy", &problem.remedy);
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
    let colon = if section.is_empty() && offset.is_empty() { "" } else { ":" };
    let place = printable(&format!("{}{colon}{section}{offset}", problem.path));
    let message = printable(&problem.message);
    format!("{}: {place}: {message}{others}\n", problem.kind.name())
}
