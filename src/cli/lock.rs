//! `fatbin lock`.

use std::path::PathBuf;
use std::sync::Arc;

use clap::Args;

use super::Status;
use super::failure::{Result, coded};
use super::headings::{INPUT, JUDGEMENT, OUTPUT};
use super::inputs::{KpackArchives, SPECIFY_ARCHIVE};
use super::locking::each_file;
use super::outputs::{ForceArgument, OutputArgument};
use super::scan_arguments::ScanArguments;
use super::session::Session;
use crate::codes::Code;
use fatbin_core::base::io::{Output, OutputKind, SortedTexts};
use fatbin_core::scan::Options;
use fatbin_ops::check::lock::paths::LockBuilder;
use fatbin_ops::check::lock::{EarlierLocks, LockForm, LockedFile};

/// Record the device code as a lock: a text to commit and review
///
/// A lock has a line for each image and each kernel, with sizes, registers and hashes, in an order that does not depend on
/// how files are linked. A kernel takes one line for all archs. `fatbin diff` compares it with a later build.
///
/// Exit status: 0 if the lock was written, 1 if no file contains device code, 2 if a file could not be read or was not opened. In that
/// case no lock is written, because it would be incomplete.
#[derive(Args)]
pub struct Arguments {
    /// The file to write; - writes standard output
    #[arg(help_heading = OUTPUT, short, long, value_name = "OUT")]
    output: OutputArgument,

    /// Omit hashes and sizes that depend on debug information and paths, for builds that are not reproducible; keep the code
    /// hash of each image and the properties of its kernels
    #[arg(help_heading = JUDGEMENT, long)]
    code_only: bool,

    /// Also record the SHA-256 of each image, as scan --hash prints it
    #[arg(help_heading = OUTPUT, long, conflicts_with_all = ["code_only", "summary"])]
    sha256: bool,

    /// Take the entries of files whose size and time are unchanged from this lock, which --since wrote too. It may be
    /// OUT, and need not exist; repeatable
    #[arg(help_heading = INPUT, long, value_name = "LOCK", conflicts_with = "summary")]
    since: Vec<PathBuf>,

    /// Write a summary for readers, with a line for each arch and each family of kernels; diff does not compare it
    #[arg(help_heading = OUTPUT, long)]
    summary: bool,

    #[command(flatten)]
    force: ForceArgument,

    #[command(flatten)]
    scan: ScanArguments,
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let problems = arguments.scan.problems.problems(session);
    let set = arguments.force.files([]);
    let mut inputs = arguments.scan.inputs;
    inputs.add_to(&set);
    let output = set.output(arguments.output.path(), OutputKind::Text)?;
    let builder = LockBuilder::new(Options::default().with_hash(arguments.sha256));
    let form = LockForm { code_only: arguments.code_only, summary: arguments.summary };
    let mut files = SortedTexts::new();
    let earlier = if arguments.since.is_empty() {
        None
    } else {
        Some(Arc::new(EarlierLocks::open(&arguments.since, form, arguments.sha256)?))
    };
    let entries = |file: LockedFile, archives: &KpackArchives| {
        if archives.are_referenced()
            && let Some(earlier) = &earlier
        {
            earlier.forget(&file.path);
        }
        (file.path.clone(), form.entries(file))
    };
    let mut scanner = arguments.scan.limits.scanner(session, builder.scan_options());
    if let Some(earlier) = earlier.clone() {
        scanner = scanner.without(Arc::new(move |input| earlier.is_unchanged(input)));
    }
    let mut status =
        each_file(&inputs, scanner, &problems, SPECIFY_ARCHIVE, &builder, &entries, &mut |(path, entries)| {
            Ok(files.add(&path, &entries)?)
        })?;
    let mut comments = String::new();
    if let Some(earlier) = earlier.and_then(Arc::into_inner) {
        comments = earlier.comments();
        if earlier.each_unchanged(&mut |path, entries| files.add(path, entries))? {
            status = status.and(Status::Yes);
        }
    }
    if status != Status::Yes {
        if status == Status::No {
            let output = arguments.output.path().display();
            problems.report(coded(
                Code::NoImages,
                format!("{}: no device images; {output} was not written", session.inputs()),
            ));
        }
        return Ok(status);
    }
    let mut output = Output::create(output)?;
    output.write(form.head().as_bytes())?;
    output.write(comments.as_bytes())?;
    files.each(&mut |entries| output.write(entries))?;
    output.commit([])?;
    Ok(Status::Yes)
}
