//! `fatbin join`.

use std::path::PathBuf;

use clap::Args;

use super::failure::Result;
use super::limit::LimitArguments;
use super::outputs::OutputArgument;
use super::{Status, access};
use crate::edit::split::{SplitOptions, join};

/// Restore the file that `fatbin split` has split
///
/// Reads index.json and the files that it names. The hashes of these files and of the result must match the index,
/// otherwise nothing is written.
///
/// Exit status: 0 if the file was written, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// File to write
    #[arg(short, long, value_name = "OUT")]
    output: OutputArgument,

    #[command(flatten)]
    limits: LimitArguments,

    /// Directory that `fatbin split` has written
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let options = SplitOptions { limits: arguments.limits.limits(), access: access::get() };
    join(&arguments.directory, arguments.output.path(), options)?;
    Ok(Status::Yes)
}
