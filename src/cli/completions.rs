//! `fatbin completions`.

use std::io::{self, Write};

use anyhow::Result;
use clap::{Args, Command};
use clap_complete::Shell;

use super::Status;

/// Print what a shell needs to complete command lines of this program
///
/// `eval "$(fatbin completions bash)"` does it for a running shell; packages put the text where the shell looks for it.
///
/// Exit status: 0.
#[derive(Args)]
pub struct Arguments {
    /// The shell
    #[arg(value_name = "SHELL")]
    shell: Shell,
}

pub fn run(arguments: Arguments, mut program: Command) -> Result<Status> {
    let name = program.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, name, &mut text);
    io::stdout().write_all(&text)?;
    Ok(Status::Yes)
}
