//! `fatbin man`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result};
use clap::{Args, Command};
use clap_mangen::Man;

use super::Status;
use crate::io::Output;

/// Print the manual page of this program, or write those of all commands into a folder
///
/// Exit status: 0 if they were written, 2 if not.
#[derive(Args)]
pub struct Arguments {
    /// The folder that fatbin.1 and a page for each command go to; it is made if need be
    #[arg(short, long, value_name = "DIR")]
    output: Option<PathBuf>,
}

pub fn run(arguments: Arguments, mut program: Command) -> Result<Status> {
    let Some(folder) = arguments.output else {
        io::stdout().write_all(&page(program)?)?;
        return Ok(Status::Yes);
    };
    std::fs::create_dir_all(&folder).with_context(|| format!("{}: cannot create", folder.display()))?;
    // Gives the commands the names that they have with the program's in front.
    program.build();
    let commands: Vec<Command> = program.get_subcommands().filter(|it| it.get_name() != "help").cloned().collect();
    for command in [program].into_iter().chain(commands) {
        let name = command.get_display_name().unwrap_or(command.get_name()).to_owned();
        let mut output = Output::create(&folder.join(format!("{name}.1")))?;
        output.write(&page(command)?)?;
        output.commit()?;
    }
    Ok(Status::Yes)
}

fn page(command: Command) -> io::Result<Vec<u8>> {
    let mut text = Vec::new();
    let source = concat!("fatbin ", env!("CARGO_PKG_VERSION"));
    // Without the date of the day, so that equal programs have equal pages.
    Man::new(command).source(source).date("").render(&mut text)?;
    Ok(text)
}
