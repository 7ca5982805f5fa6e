//! `fatbin lock`.

use clap::Args;

use super::failure::{Result, coded};
use super::headings::{JUDGEMENT, OUTPUT};
use super::inputs::{InputArguments, SPECIFY_ARCHIVE};
use super::limit::LimitArguments;
use super::locking::each_file;
use super::outputs::{ForceArgument, OutputArgument};
use super::problems::ProblemArguments;
use super::{Status, negative};
use crate::base::io::{Output, OutputKind, SortedTexts};
use crate::check::lock::paths::LockBuilder;
use crate::check::lock::{LockForm, LockedFile};
use crate::cli::codes::Code;
use crate::scan::Options;

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

    /// Write a summary for readers, with a line for each arch and each family of kernels; diff does not compare it
    #[arg(help_heading = OUTPUT, long)]
    summary: bool,

    #[command(flatten)]
    force: ForceArgument,

    #[command(flatten)]
    problems: ProblemArguments,

    #[command(flatten)]
    limits: LimitArguments,

    #[command(flatten)]
    inputs: InputArguments,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let problems = arguments.problems.problems();
    let set = arguments.force.files([]);
    let mut inputs = arguments.inputs;
    inputs.add_to(&set);
    let output = set.output(arguments.output.path(), OutputKind::Text)?;
    let builder = LockBuilder::new(Options { hash: arguments.sha256, ..Options::default() });
    let form = LockForm { code_only: arguments.code_only, summary: arguments.summary };
    let entries = |file: LockedFile| (file.path.clone(), form.entries(file));
    let mut files = SortedTexts::new();
    let limits = &arguments.limits;
    let status = each_file(&inputs, limits, &problems, SPECIFY_ARCHIVE, &builder, &entries, &mut |(path, entries)| {
        Ok(files.add(&path, &entries)?)
    })?;
    if status != Status::Yes {
        if status == Status::No {
            let output = arguments.output.path().display();
            problems.report(coded(
                Code::NoImages,
                format!("{}: no device images; {output} was not written", negative::inputs()),
            ));
        }
        return Ok(status);
    }
    let mut output = Output::create(output)?;
    output.write(form.head().as_bytes())?;
    files.each(&mut |entries| output.write(entries))?;
    output.commit([])?;
    Ok(Status::Yes)
}
