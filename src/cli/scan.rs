//! `fatbin scan`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::limit::LimitArgument;
use super::{Status, status};
use crate::error::Error;
use crate::inventory::{File, FileFormat};
use crate::ops::Scanned;
use crate::scan::{Archives, Opening, Options, Part};
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
        let mut listed = Vec::new();
        scan_path(path, options, &mut |outcome| {
            let file = match outcome {
                Ok(scanned) => {
                    status = status.and(found(&scanned.file));
                    // An archive has thousands of members, and of most there is nothing to say.
                    if scanned.part.member.is_some() && !scanned.file.holds_something() {
                        return;
                    }
                    scanned.file
                }
                Err((path, error)) => {
                    let file = File::unreadable(path, error.to_string());
                    status = status.and(status::report(&error.into()));
                    file
                }
            };
            listed.push(file);
        });
        if listed.is_empty() {
            listed.push(archive_of_nothing(path));
        }
        if arguments.json {
            files.extend(listed);
            continue;
        }
        for file in listed.iter().filter(|file| file.failure.is_none()) {
            out.write_all(report::table(file).as_bytes())?;
        }
    }
    if arguments.json {
        out.write_all(report::json(&files).as_bytes())?;
    }
    out.flush()?;
    Ok(status)
}

fn archive_of_nothing(path: &Path) -> File {
    let size = std::fs::metadata(path).map_or(0, |metadata| metadata.len());
    let (path, format) = (path.to_string_lossy().into_owned(), Some(FileFormat::Archive));
    File { path, format, size, containers: Vec::new(), errors: Vec::new(), failure: None }
}

/// What came of one file: what is in it, or the path that it has and why it cannot be read.
pub type Outcome = std::result::Result<Scanned, (String, Error)>;

/// Opens and scans what a path stands for, reports what is broken in it, and calls `take` with each file.
pub fn scan_path(path: &Path, options: Options, take: &mut dyn FnMut(Outcome)) {
    let unreadable = |error| Err((path.to_string_lossy().into_owned(), error));
    let opening = Opening { archives: Archives::All, limit: options.limit };
    let opened = scan::each_part(path, opening, &mut |part| match part {
        Ok(part) => take(scan_part(part, options)),
        Err(error) => take(unreadable(error)),
    });
    if let Err(error) = opened {
        take(unreadable(error));
    }
}

fn scan_part(part: Part, options: Options) -> Outcome {
    match scan::scan_with(&part.path, &part, options, &mut |_, _| Ok(())) {
        Ok(file) => {
            for error in &file.errors {
                status::report(&error.clone().in_file(Path::new(&part.path)).into());
            }
            Ok(Scanned { part, file })
        }
        Err(error) => Err((part.path, error)),
    }
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
