//! `fatbin recover`.

use std::path::PathBuf;

use anyhow::anyhow;
use clap::Args;

use super::Status;
use super::failure::{Result, coded};
use super::problems::Problems;
use super::session::Session;
use crate::codes::Code;
use fatbin_core::base::error::Error;
use fatbin_core::base::io::{Recovered, recover, take_unfinished};

/// Restore the files that a killed run was replacing together
///
/// `unbundle`, `split`, `embed` and changes with --proof write all of their files or none. A run that SIGKILL ends while
/// the files get their names leaves some of them new, and a record (.fatbin-undo) in each of their directories. This
/// command gives all these directories the files that they had before that run, and removes hidden files (.fatbin-*)
/// of DIR that no process uses. It follows no links, and touches no files of other users. A file that was written again
/// since stays as it is. The path of each file that was restored or removed is printed.
///
/// Exit status: 0 if files were restored or there was nothing to restore, 1 if a file stays as it is and is named, 2 for
/// trouble.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Directory with the files
    #[arg(value_name = "DIR")]
    directory: PathBuf,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let mut paths = Vec::new();
    let mut status = Status::Yes;
    let directory = &arguments.directory;
    let metadata = std::fs::metadata(directory).map_err(Error::io(directory, "open"))?;
    if !metadata.is_dir() {
        let message = format!("{}: is no directory; specify the directory of the files", directory.display());
        return Err(coded(Code::NotAFile, message));
    }
    let recovered = recover(directory)?;
    if recovered.is_empty() && !session.is_quiet() {
        session.print_answer(&format!("{}: nothing to restore", directory.display()));
    }
    for file in recovered {
        match file {
            Recovered::Restored(path) | Recovered::Removed(path) => paths.push(path),
            Recovered::Newer { path, old } => {
                let old = old.map(|old| format!("; the old file is {}", old.display())).unwrap_or_default();
                let message = format!("{}: not restored: was written again since{old}", path.display());
                Problems::new(session, false).report(coded(Code::ChangedInput, message));
                status = Status::No;
            }
            Recovered::Left { path, why } => {
                let message = format!("{}: not used: {why}; rename or remove it", path.display());
                Problems::new(session, false).report(coded(Code::ChangedInput, message));
                status = Status::No;
            }
        }
    }
    session.print_paths(&paths)?;
    Ok(status)
}

/// Warns if the command wrote a file to a directory with the record of a killed run.
pub fn warn_of_unfinished(session: &Session) {
    for directory in take_unfinished() {
        let directory = directory.display();
        Problems::new(session, false).warn(anyhow!(
            "{directory}: a killed run was replacing several files here; restore them with 'fatbin recover {directory}'"
        ));
    }
}
