//! `fatbin list`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Status;
use super::bundle::{DETECTED, parse_type, types_help};
use super::failure::Result;
use super::headings::{INPUT, OUTPUT};
use super::limit::LimitArguments;
use super::problems::ProblemArguments;
use super::session::Session;
use fatbin_core::base::escape::escape;
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::FileType;

/// List the entry IDs of bundles, one per line
///
/// Of an archive, the IDs of every member that is a bundle are listed.
///
/// Exit status: 0 if any ID was found, 1 if no file is a bundle, 2 if a file cannot be read or a bundle is malformed.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Type of the bundled files; detected from the content by default
    #[arg(help_heading = INPUT, long = "type", value_name = "T", value_parser = parse_type, long_help = types_help(DETECTED))]
    file_type: Option<FileType>,

    /// Print the file name with each ID, ARCHIVE!MEMBER for a member
    #[arg(help_heading = OUTPUT, short = 'H', long)]
    with_filename: bool,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    /// Bundles or archives of bundles; `-` reads standard input
    #[arg(value_name = "INPUT", required = true)]
    inputs: Vec<PathBuf>,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let mut status = Status::No;
    let problems = arguments.problems.problems(session);
    session.record_inputs(arguments.inputs.iter().map(|path| path.to_string_lossy().into_owned()));
    for path in &arguments.inputs {
        status = status.and(list(path, &arguments, session).unwrap_or_else(|error| problems.report(error)));
    }
    Ok(status)
}

fn list(path: &Path, arguments: &Arguments, session: &Session) -> Result<Status> {
    let input = Input::open_any(path, session.access())?;
    let mut lines = String::new();
    let listed = fatbin_ops::embed::bundle::list(&input, arguments.file_type, |path, id| {
        if arguments.with_filename {
            lines += &format!("{}: ", escape(&path.to_string_lossy()));
        }
        lines += &escape(id);
        lines.push('\n');
    });
    // IDs that precede a malformed part are still printed.
    session.print(&lines)?;
    Ok(if listed? > 0 { Status::Yes } else { Status::No })
}
