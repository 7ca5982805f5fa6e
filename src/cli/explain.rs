//! `fatbin explain`.

use clap::Args;

use super::Status;
use super::failure::{Result, bail};
use super::help::render;
use super::known_names::KnownNames;
use super::session::Session;
use crate::codes::{Page, Section, pages};
use fatbin_core::base::spelling::Suggestions;

/// Explain an error code, or a rule of check
///
/// Prints the meaning of an error, its usual reasons and its remedy. On a terminal, the last line after the messages of
/// a command names the codes of its errors. Without a code, all codes and rules are listed.
///
/// Exit status: 0, or 2 for an unknown code.
#[derive(Args)]
pub struct Arguments {
    /// Code, such as E0101, or rule, such as required-archs
    #[arg(
        value_name = "CODE",
        value_parser = KnownNames::new(parse_section, || names().collect()),
        hide_possible_values = true,
    )]
    sections: Vec<Section>,
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let screen = session.screen();
    let text = if arguments.sections.is_empty() {
        pages().map(list).collect::<Vec<String>>().join("\n")
    } else {
        let page = |it: &Section| render(&format!("# {}: {}\n\n{}\n", it.name, it.title, it.body), &screen);
        arguments.sections.iter().map(page).collect::<Vec<String>>().join("\n")
    };
    session.print_report(&text, &screen)?;
    Ok(Status::Yes)
}

/// Formats the names and titles of a page.
fn list(page: Page) -> String {
    let width = page.sections().map(|it| it.name.len()).max().unwrap_or(0);
    let lines = page.sections().map(|it| format!("  {:width$}  {}\n", it.name, it.title));
    format!("{}:\n{}", page.title, lines.collect::<String>())
}

/// Names of all codes and rules.
fn names() -> impl Iterator<Item = &'static str> {
    pages().flat_map(Page::sections).map(|section| section.name)
}

/// Codes are recognized in lower case, too.
fn parse_section(text: &str) -> Result<Section> {
    let mut sections = pages().flat_map(Page::sections);
    if let Some(section) = sections.find(|section| section.name.eq_ignore_ascii_case(text)) {
        return Ok(section);
    }
    let in_upper_case = Suggestions::new(&text.to_ascii_uppercase(), names());
    let suggestions = if in_upper_case.0.is_empty() { Suggestions::new(text, names()) } else { in_upper_case };
    bail!("unknown code or rule{suggestions}; fatbin explain lists all")
}
