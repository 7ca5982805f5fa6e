//! `fatbin man`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;

use super::Status;
use crate::io::Output;

/// Print the manual page, or write the pages of all commands to a directory
///
/// Exit status: 0 if the pages were written, 2 otherwise.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Directory for fatbin.1 and one page per command; created if missing
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: Arguments, mut program: Command) -> Result<Status> {
    let Some(directory) = arguments.output else {
        io::stdout().write_all(&page(program)?)?;
        return Ok(Status::Yes);
    };
    std::fs::create_dir_all(&directory).with_context(|| format!("{}: cannot create", directory.display()))?;
    // Prefixes the names of the commands with that of the program.
    program.build();
    let commands: Vec<Command> = program.get_subcommands().filter(|it| it.get_name() != "help").cloned().collect();
    for command in [program].into_iter().chain(commands) {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let mut output = Output::create(&directory.join(format!("{name}.1")))?;
        output.write(&page(command)?)?;
        output.commit([])?;
    }
    Ok(Status::Yes)
}

/// Returns the text of a command's manual page.
fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let source = concat!("fatbin ", env!("CARGO_PKG_VERSION"));
    // Without a date, so that the pages are reproducible.
    Man::new(command).source(source).date("").render(&mut text)?;
    Ok(text)
}
