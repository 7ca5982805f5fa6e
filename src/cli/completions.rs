//! `fatbin completions`.

use std::io::{self, Write};

use clap::builder::PossibleValue;
use clap::{Args, Command, CommandFactory};
use clap_complete::Shell;

use super::Status;
use super::failure::Result;
use super::session::Session;

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
pub fn run(arguments: Arguments, _session: &Session) -> Result<Status> {
    let mut program = super::Arguments::command();
    let name = program.get_name().to_owned();
    let mut text = Vec::new();
    clap_complete::generate(arguments.shell, &mut program, name, &mut text);
    if arguments.shell == Shell::Fish {
        text.extend(values_of_positionals(&program).bytes());
    }
    io::stdout().write_all(&text)?;
    Ok(Status::Yes)
}

/// Completes topics, codes and other known values of arguments in fish. clap_complete writes only values of options for it.
fn values_of_positionals(program: &Command) -> String {
    let mut text = String::new();
    for command in program.get_subcommands() {
        for argument in command.get_positionals() {
            let values = argument.get_possible_values();
            let names: Vec<&str> = values.iter().map(PossibleValue::get_name).collect();
            if !names.is_empty() {
                let condition = format!("__fish_{}_using_subcommand {}", program.get_name(), command.get_name());
                text +=
                    &format!("complete -c {} -n \"{condition}\" -f -a \"{}\"\n", program.get_name(), names.join(" "));
            }
        }
    }
    text
}
