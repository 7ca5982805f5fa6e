//! `fatbin scan`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::limit::LimitArgument;
use super::{Status, status};
use crate::error::Error;
use crate::inventory::File;
use crate::ops::Scanned;
use crate::scan::{Options, Part};
use crate::{report, scan};

/// List every device image in objects, programs and libraries
///
/// Exit status: 0 if any image was found, 1 if none, 2 if a file could not be read or a container in it is broken.
#[derive(Args)]
pub struct Arguments {
    /// Print one JSON document (schema fatbin.scan/1) instead of a table
    #[arg(long)]
    json: bool,

    #[command(flatten)]
    limit: LimitArgument,

    /// Files to look into; of archives every member, - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let mut status = Status::No;
    let mut files = Vec::new();
    let mut out = io::stdout().lock();
    let options = arguments.limit.options();
    for path in &arguments.files {
        for scanned in scan_path(path, options) {
            let file = match scanned {
                Ok(scanned) => {
                    status = status.and(found(&scanned.file));
                    scanned.file
                }
                Err((path, error)) => {
                    let file = File::unreadable(path, error.to_string());
                    status = status.and(status::report(&error.into()));
                    file
                }
            };
            if arguments.json {
                files.push(file);
            } else if file.failure.is_none() {
                out.write_all(report::table(&file).as_bytes())?;
            }
        }
    }
    if arguments.json {
        out.write_all(report::json(&files).as_bytes())?;
    }
    out.flush()?;
    Ok(status)
}

/// Opens and scans what a path stands for, and reports what is broken in it; what cannot be read comes with the path that
/// it has.
pub fn scan_path(path: &Path, options: Options) -> Vec<std::result::Result<Scanned, (String, Error)>> {
    let unreadable = |error| (path.to_string_lossy().into_owned(), error);
    let parts = match scan::parts(path) {
        Ok(parts) => parts,
        Err(error) => return vec![Err(unreadable(error))],
    };
    let scan_part = |part: crate::error::Result<Part>| {
        let part = part.map_err(unreadable)?;
        let file = scan::scan_with(&part.path, &part, options, &mut |_, _| Ok(()));
        let file = file.map_err(|error| (part.path.clone(), error))?;
        for error in &file.errors {
            status::report(&error.clone().in_file(Path::new(&part.path)).into());
        }
        Ok(Scanned { part, file })
    };
    parts.into_iter().map(scan_part).collect()
}

/// What one scanned file means for the exit status.
pub fn found(file: &File) -> Status {
    if !file.errors.is_empty() {
        Status::Trouble
    } else if file.device_images().next().is_some() {
        Status::Yes
    } else {
        Status::No
    }
}
