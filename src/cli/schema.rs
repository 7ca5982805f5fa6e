//! `fatbin schema`.

use std::io::{self, Write};

use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Status;
use super::failure::Result;
use super::session::Session;
use crate::report::{SCHEMAS, schema};

/// Print the JSON Schema of a command's output, or of policies
///
/// Exit status: 0, or 2 for an unknown schema.
#[derive(Args)]
pub struct Arguments {
    /// The command, or policy for the input of check
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(SCHEMAS.split(' ')))]
    command: String,
}

pub fn run(arguments: Arguments, _session: &Session) -> Result<Status> {
    io::stdout().write_all(schema(&arguments.command).as_bytes())?;
    Ok(Status::Yes)
}
