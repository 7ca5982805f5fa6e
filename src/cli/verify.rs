//! `fatbin verify`.

use clap::Args;

use super::Status;
use super::failure::Result;
use super::format::FormatArguments;
use super::inputs::found;
use super::scan_arguments::ScanArguments;
use super::session::Session;
use crate::report::{self, VerifiedFile};
use fatbin_core::scan::inventory::File;
use fatbin_core::scan::{CacheBudget, Options, Outcome};
use fatbin_ops::analyze::verify::VerifyError;

/// Verify that device code is intact, image by image
///
/// Reads all containers, and decompresses and inspects every image. The header of an image must match what its container
/// states, and everything that its headers refer to must be present.
///
/// Exit status: 0 if all images are intact, 1 if there are none, 2 if something is damaged, truncated, not opened or cannot be
/// read.
#[derive(Args)]
pub struct Arguments {
    #[command(flatten)]
    format: FormatArguments,

    #[command(flatten)]
    scan: ScanArguments,
}

/// Result of one file.
struct Verified {
    file: File,
    /// Defects of its images, or the error that prevents reading it.
    wrong: Vec<VerifyError>,
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let scanner = arguments.scan.limits.scanner(session, Options::default()).with_cache(CacheBudget::default());
    let mut status = Status::No;
    let problems = arguments.scan.problems.problems(session);
    let screen = session.screen();
    let mut out = session.output(&screen);
    let mut written = Ok(());
    let mut files = Vec::new();
    arguments.scan.inputs.scan_and(
        &scanner,
        &problems,
        &|_, outcome| verify(outcome),
        &mut |Verified { file, wrong }| {
            status = status.and(found(&file));
            if file.not_opened.is_some() {
                status = Status::Trouble;
            }
            if arguments.format.is_json() {
                files.push(VerifiedFile::new(&file, &wrong));
            } else if file.failure.is_none() && written.is_ok() {
                let problems = file.errors.len() + usize::from(file.not_opened.is_some()) + wrong.len();
                written = out.write(&report::verified_text(&file, problems));
            }
            for error in wrong {
                status = status.and(problems.report(error));
            }
        },
    )?;
    written?;
    if arguments.format.is_json() {
        out.write(&report::verify_json(&files))?;
    }
    out.flush()?;
    Ok(status)
}

fn verify(outcome: Outcome) -> Verified {
    match outcome {
        Outcome::Unreadable { path, error } => {
            Verified { file: File::unreadable(path, &error), wrong: vec![error.into()] }
        }
        Outcome::Empty(file) => Verified { file, wrong: Vec::new() },
        Outcome::Scanned(scanned) => {
            let wrong = fatbin_ops::analyze::verify::verify(&scanned).unwrap_or_else(|error| vec![error.into()]);
            Verified { file: scanned.into_file(), wrong }
        }
    }
}
