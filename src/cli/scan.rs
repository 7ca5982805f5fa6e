//! `fatbin scan`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::{Status, status};
use crate::inventory::File;
use crate::io::Input;
use crate::{report, scan};

/// List every device image in objects, programs and libraries
///
/// Exit status: 0 if any image was found, 1 if none, 2 if a file could not be read or a container in it is broken.
#[derive(Args)]
pub struct Arguments {
    /// Print one JSON document (schema fatbin.scan/1) instead of a table
    #[arg(long)]
    json: bool,

    /// Files to look into
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let mut status = Status::No;
    let mut files = Vec::new();
    let mut out = io::stdout().lock();
    for path in &arguments.files {
        let file = match scan_file(path) {
            Ok((_, file)) => {
                status = status.and(found(&file));
                file
            }
            Err(error) => {
                let file = File::unreadable(path.to_string_lossy().into_owned(), error.to_string());
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
    if arguments.json {
        out.write_all(report::json(&files).as_bytes())?;
    }
    out.flush()?;
    Ok(status)
}

/// Opens and scans one file, and reports what is broken in it.
pub fn scan_file(path: &Path) -> crate::error::Result<(Input, File)> {
    let input = Input::open(path)?;
    let file = scan::scan(&path.to_string_lossy(), &input)?;
    for error in &file.errors {
        status::report(&error.clone().in_file(path).into());
    }
    Ok((input, file))
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
