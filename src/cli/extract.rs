//! `fatbin extract`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::Result;
use clap::Args;

use super::inputs::{InputArguments, Outcome, found};
use super::limit::LimitArgument;
use super::selection::SelectionArguments;
use super::{Status, status};
use crate::error::Error;
use crate::inventory::FileFormat;
use crate::ops::{self, Destination, ExtractOptions, Scanned};

/// Write device images into files of their own
///
/// The names are stable and say what the image is: FILE.INDEX-KIND-TRIPLE-ARCH.EXTENSION. The path of each file that was
/// written is printed. Options that select may be repeated: values of one option are alternatives, and each has to be
/// there, or nothing is written.
///
/// Exit status: 0 if images were written, 1 if there are none or something asked for is not there, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// The folder to write into; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,

    /// Write the only image that is selected into this file; - is standard output
    #[arg(long, value_name = "FILE", conflicts_with = "output")]
    to: Option<PathBuf>,

    /// Write a static library for each kind, triple and arch, with their images as members
    #[arg(long, conflicts_with = "to")]
    archive: bool,

    #[command(flatten)]
    selection: SelectionArguments,

    /// Leave images that are stored compressed as they are stored
    #[arg(long)]
    stored: bool,

    #[command(flatten)]
    limit: LimitArgument,

    #[command(flatten)]
    inputs: InputArguments,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let scan = arguments.limit.options();
    let mut status = Status::No;
    let mut files = Vec::new();
    arguments.inputs.scan(scan, &mut |outcome| {
        status = status.and(match outcome {
            Outcome::Scanned(scanned) if is_bitcode(&scanned) => {
                status::report(&Error::Bitcode { path: scanned.file.path.into() }.into())
            }
            Outcome::Scanned(scanned) => {
                let status = found(&scanned.file);
                files.push(scanned);
                status
            }
            Outcome::Unreadable(_, error) => status::report(&error.into()),
            Outcome::Nothing(_) => Status::No,
        });
    })?;
    let (selection, destination) = (arguments.selection.selection(), arguments.destination());
    let options = ExtractOptions { selection, destination, stored: arguments.stored, scan };
    let mut written = Vec::new();
    let result = ops::extract(&files, &options, |path| written.push(path.to_owned()));
    let mut out = io::stdout().lock();
    for path in written {
        writeln!(out, "{}", path.display())?;
    }
    for error in result?.refused {
        status = status.and(status::report(&error.into()));
    }
    Ok(status)
}

/// Whether this is a module that somebody wants the images of. In an archive it is an image itself.
fn is_bitcode(scanned: &Scanned) -> bool {
    scanned.file.format == Some(FileFormat::Bitcode) && scanned.part.member.is_none()
}

impl Arguments {
    fn destination(&self) -> Destination {
        match &self.to {
            Some(path) => Destination::File(path.clone()),
            None if self.archive => Destination::Archives(self.output.clone()),
            None => Destination::Directory(self.output.clone()),
        }
    }
}
