//! `fatbin man`.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_mangen::Man;

use super::Status;
use super::command_page::{command_page, commands, index_page};
use super::failure::{Context, Result};
use super::format::{Format, among};
use super::headings::OUTPUT;
use super::help::Pages;
use super::outputs::{ForceArgument, OutputArgument};
use super::session::Session;
use fatbin_core::base::io::{Output, OutputKind, OutputName};

/// Print the manual page, or write the pages of all commands
///
/// Exit status: 0 if the pages were written, 2 otherwise.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Directory for the page of the program and one page per command; created if missing
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    output: Option<OutputArgument>,

    #[command(flatten)]
    force: ForceArgument,

    /// Format of the pages
    #[arg(long, value_name = "FORMAT", value_parser = among(&[Format::Roff, Format::Markdown]), default_value = "roff",
          help_heading = OUTPUT)]
    format: Format,
}

/// A page, and the name of its file.
struct ManualPage {
    file: String,
    text: Vec<u8>,
}

/// Runs the command.
pub fn run(arguments: Arguments, _session: &Session) -> Result<Status> {
    let program = super::program();
    let Some(directory) = arguments.output.as_ref().map(OutputArgument::path) else {
        let text = match arguments.format {
            Format::Markdown => index_page(&program).into_bytes(),
            _ => roff(program)?,
        };
        io::stdout().write_all(&text)?;
        return Ok(Status::Yes);
    };
    std::fs::create_dir_all(directory).with_context(|| format!("{}: cannot create", directory.display()))?;
    let pages = match arguments.format {
        Format::Markdown => markdown_pages(&program)?,
        _ => roff_pages(program)?,
    };
    let set = arguments.force.files([]);
    for ManualPage { file, text } in pages {
        Output::of_bytes(set.output_in(directory, &OutputName::of(file), OutputKind::Text)?, &text)?;
    }
    Ok(Status::Yes)
}

fn roff_pages(program: Command) -> io::Result<Vec<ManualPage>> {
    let commands: Vec<Command> = commands(&program).cloned().collect();
    let page = |command: Command| {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        Ok(ManualPage { file: format!("{name}.1"), text: roff(command)? })
    };
    [program].into_iter().chain(commands).map(page).collect()
}

fn roff(command: Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let source = concat!("fatbin ", env!("CARGO_PKG_VERSION"));
    // Without a date, so that the pages are reproducible.
    Man::new(command).source(source).date("").render(&mut text)?;
    Ok(text)
}

fn markdown_pages(program: &Command) -> io::Result<Vec<ManualPage>> {
    let page = |command: &Command| {
        let name = command.get_name();
        let guide: Vec<(String, &str)> =
            Pages.about_command(name).iter().map(|page| (format!("../{}.md", page.path), page.title())).collect();
        ManualPage { file: format!("{name}.md"), text: command_page(command, &guide).into_bytes() }
    };
    let index = ManualPage { file: "README.md".to_owned(), text: index_page(program).into_bytes() };
    Ok([index].into_iter().chain(commands(program).map(page)).collect())
}
