//! `fatbin completions`.

use std::io::{self, Write};

use clap::{Args, Command};
use clap_complete::Shell;

use super::Status;
use super::failure::Result;

/// Print a shell completion script
///
/// `eval "$(fatbin completions bash)"` enables completion in a running shell; packages install the script where the shell
/// loads it from.
///
/// Exit status: 0.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Shell to complete command lines in
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

/// Runs the command.
pub fn run(arguments: Arguments, mut program: Command) -> Result<Status> {
    let name = program.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, name, &mut text);
    io::stdout().write_all(&text)?;
    Ok(Status::Yes)
}
