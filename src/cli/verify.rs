//! `fatbin verify`.

use std::io::Write;

use anyhow::Result;
use clap::Args;

use super::inputs::{InputArguments, Outcome, found};
use super::limit::LimitArgument;
use super::{Status, status, terminal};
use crate::error::Error;
use crate::inventory::File;
use crate::ops;
use crate::report;
use crate::scan::Options;

/// Tell whether device code is whole: sizes, stored hashes, and what is inside every image
///
/// Containers are read and every image is decompressed and looked into. What an image is by its own header has to be what
/// its container says, and all that its headers point to has to be there.
///
/// Exit status: 0 if all images are whole, 1 if there are none, 2 if something is damaged or cannot be read.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    limit: LimitArgument,

    #[command(flatten)]
    inputs: InputArguments,
}

/// What came of one file.
struct Verified {
    file: File,
    /// What is wrong with its images, or why it cannot be read.
    wrong: Vec<Error>,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let options = Options { keep: true, ..arguments.limit.options() };
    let mut status = Status::No;
    let screen = terminal::screen();
    let mut out = terminal::output(&screen);
    let mut written = Ok(());
    arguments.inputs.scan_and(options, |outcome| verify(outcome, options), &mut |Verified { file, wrong }| {
        status = status.and(found(&file));
        if file.failure.is_none() && written.is_ok() {
            written = out.write_all(report::verified_text(&file, file.errors.len() + wrong.len()).as_bytes());
        }
        wrong.into_iter().for_each(|error| status = status.and(status::report(&error.into())));
    })?;
    written?;
    out.flush()?;
    Ok(status)
}

fn verify(outcome: Outcome, options: Options) -> Verified {
    match outcome {
        Outcome::Unreadable(path, error) => {
            Verified { file: File::unreadable(path, error.to_string()), wrong: vec![error] }
        }
        Outcome::Nothing(file) => Verified { file, wrong: Vec::new() },
        Outcome::Scanned(scanned) => {
            let wrong = ops::verify(&scanned, options).unwrap_or_else(|error| vec![error]);
            Verified { file: scanned.file, wrong }
        }
    }
}
