//! `fatbin join`.

use std::path::PathBuf;

use clap::Args;

use super::Status;
use super::failure::{Result, coded};
use super::headings::OUTPUT;
use super::limit::LimitArguments;
use super::outputs::OutputArgument;
use super::session::Session;
use crate::codes::Code;
use fatbin_ops::edit::split::{SplitOptions, join};

/// Restore the file that `fatbin split` has split
///
/// Reads index.json and the files that it names. The hashes of these files and of the result must match the index,
/// otherwise nothing is written.
///
/// Exit status: 0 if the file was written, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// File to write, or a directory that gets the file with its original name
    #[arg(short, long, value_name = "OUT", help_heading = OUTPUT)]
    output: OutputArgument,

    #[command(flatten)]
    limits: LimitArguments,

    /// Directory that `fatbin split` has written
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let directory = &arguments.directory;
    if directory.is_file() {
        let problem =
            format!("{}: is a file; specify the directory that fatbin split has written", directory.display());
        return Err(coded(Code::NotJoinable, problem));
    }
    let options = SplitOptions { limits: arguments.limits.limits(), access: session.access() };
    join(directory, arguments.output.path(), options)?;
    Ok(Status::Yes)
}
