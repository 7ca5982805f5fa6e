//! `fatbin help`: commands, and the pages of the book as text.

mod jobs;
mod markdown;
mod pages;
mod render;
#[cfg(test)]
mod tests;

use std::io;
use std::sync::LazyLock;

use anyhow::anyhow;
use clap::builder::StringValueParser;
use clap::{Args, Command, CommandFactory};

use super::Status;
use super::failure::{Failure, Result};
use super::known_names::KnownNames;
use super::session::Session;
use fatbin_core::base::spelling::Suggestions;
use pages::{CHAPTERS, Page};

pub use jobs::{JOBS, Job, by_job, on_one_screen};
pub use pages::Pages;
pub use render::{render, width};

/// Print help on a command or a topic; without a name, list both
///
/// Topics are the pages of the book: tasks, the guide and the formats of containers. `fatbin help guide/scan` prints
/// the page of the guide, `fatbin help scan` the options of the command.
///
/// Exit status: 0, or 2 for an unknown name.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Command, or topic such as drop-ins or guide/wrap
    #[arg(value_name = "NAME", value_parser = topic_parser(), hide_possible_values = true)]
    name: Vec<String>,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let mut program = super::program();
    let pages = Pages;
    let screen = session.screen();
    let mut out = session.output(&screen);
    let name = arguments.name.join("/");
    if name.is_empty() {
        print_command(&mut program)?;
        out.write(&format!("\n{}", render(&topics(&pages, &program), &screen)))?;
    } else if let Some(command) = program.find_subcommand_mut(&name) {
        print_command(command)?;
    } else {
        let page = pages.find(&name).ok_or_else(|| unknown(&name, &pages, &program))?;
        out.write(&render(page.text, &screen))?;
    }
    out.flush()?;
    Ok(Status::Yes)
}

/// Prints the definition of a command.
fn print_command(command: &mut Command) -> io::Result<()> {
    command.print_long_help()
}

/// Lists all topics in Markdown.
fn topics(pages: &Pages, program: &Command) -> String {
    let mut text = "# Topics\n\n`fatbin help TOPIC` prints a page of the book.\n".to_owned();
    for (directory, title) in CHAPTERS {
        text += &format!("\n## {title}\n\n");
        for page in pages.chapter(directory) {
            text += &format!("| `{}` | {} |\n", topic(pages, page, program), page.title());
        }
    }
    text
}

/// Shortest name of a page.
fn topic<'a>(pages: &Pages, page: Page<'a>, program: &Command) -> &'a str {
    let is_short = program.find_subcommand(page.name()).is_none() && pages.find(page.name()) == Some(page);
    if is_short { page.name() } else { page.path }
}

/// Returns the parser of a name, which may be any.
fn topic_parser() -> KnownNames<StringValueParser> {
    static NAMES: LazyLock<Vec<String>> = LazyLock::new(names);
    KnownNames::new(StringValueParser::new(), || NAMES.iter().map(String::as_str).collect())
}

/// Returns the names of all commands and topics.
fn names() -> Vec<String> {
    let program = crate::Arguments::command();
    let pages = Pages;
    let commands = program.get_subcommands().map(|command| command.get_name().to_owned());
    commands.chain(pages.iter().map(|page| topic(&pages, page, &program).to_owned())).collect()
}

/// Maximum number of pages that an error lists. A word on more pages is not what a page is about.
const MAX_PAGES: usize = 5;

/// Creates the error about an unknown name. It lists similar names, and the pages that contain the name.
fn unknown(name: &str, pages: &Pages, program: &Command) -> Failure {
    let commands = program.get_subcommands().map(Command::get_name);
    let names = commands.chain(pages.iter().map(|page| topic(pages, page, program)));
    let suggestions = Suggestions::new(name, names);
    if !suggestions.0.is_empty() {
        return anyhow!("unknown command or topic {name:?}{suggestions}").into();
    }
    let words = name.replace('/', " ").to_lowercase();
    let mentions = |page: &Page<'_>| page.text.to_lowercase().contains(&words);
    let found: Vec<&str> = pages.iter().filter(mentions).map(|page| topic(pages, page, program)).collect();
    let is_about = !found.is_empty() && found.len() <= MAX_PAGES;
    let remedy = if is_about { format!("see {}", found.join(", ")) } else { "fatbin help lists all".to_owned() };
    anyhow!("unknown command or topic {name:?}; {remedy}").into()
}
