//! `fatbin schema`.

use std::io::{self, Write};

use anyhow::Result;
use clap::Args;
use clap::builder::PossibleValuesParser;

use super::Status;
use crate::report::SCHEMAS;

/// Print the JSON Schema of the documents that a command makes, or of policies
///
/// Exit status: 0, or 2 if there is no such schema.
#[derive(Args)]
pub struct Arguments {
    /// The command; policy is what check reads
    #[arg(value_name = "COMMAND", value_parser = PossibleValuesParser::new(SCHEMAS.iter().map(|schema| schema.command)))]
    command: String,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let wanted = SCHEMAS.iter().filter(|schema| schema.command == arguments.command);
    wanted.map(|schema| schema.text).try_for_each(|text| io::stdout().write_all(text.as_bytes()))?;
    Ok(Status::Yes)
}
