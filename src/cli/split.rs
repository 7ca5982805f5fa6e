//! `fatbin split`.

use std::path::{Path, PathBuf};

use anyhow::anyhow;
use clap::{Args, ValueEnum};

use super::Status;
use super::failure::{Result, bail, ensure};
use super::headings::OUTPUT;
use super::limit::LimitArguments;
use super::outputs::OutputArgument;
use super::problems::Problems;
use super::session::Session;
use crate::report;
use fatbin_core::base::io::Input;
use fatbin_ops::edit::Treatment;
use fatbin_ops::edit::split::{SplitFormat, SplitOptions, SplitOutcome, split};

/// Move the device code of a file to files, one per processor
///
/// DIR gets a copy of the file with zeros (holes, where the file system has them) in place of its device code, the
/// files with the code, and index.json. `fatbin join` restores the identical file from DIR. All files are written, or
/// none.
///
/// Exit status: 0 if the files were written, 1 if there is nothing to do (no device code, or it is in kpack archives
/// already), 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// Directory to write to; created if it does not exist
    #[arg(short, long, value_name = "DIR", help_heading = OUTPUT)]
    output: OutputArgument,

    /// Form of the files with the code
    #[arg(long, alias = "format", value_name = "FORM", value_enum, default_value_t, help_heading = OUTPUT)]
    to: FormArgument,

    /// Compress kpack archives with zstd, at this level (3 if none is specified)
    #[arg(long, value_name = "LEVEL", help_heading = OUTPUT, num_args = 0..=1, require_equals = true, default_missing_value = "3",
          value_parser = clap::value_parser!(i32).range(1..=22))]
    compress: Option<i32>,

    /// Split signed files, too; the signature is invalid until the parts are joined
    #[arg(long, help_heading = OUTPUT)]
    break_signature: bool,

    #[command(flatten)]
    limits: LimitArguments,

    /// Object, program or library to split
    #[arg(value_name = "INPUT")]
    input: PathBuf,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, ValueEnum)]
enum FormArgument {
    /// One file per processor, with the bytes as they are stored; to be joined before use
    #[default]
    Files,
    /// ROCm's kpack archives, one per target ID; HIP loads the code from them
    Kpack,
}

pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let format = match (arguments.to, arguments.compress) {
        (FormArgument::Files, Some(_)) => bail!("--compress requires --to kpack"),
        (FormArgument::Files, None) => SplitFormat::Files,
        (FormArgument::Kpack, compression_level) => SplitFormat::Kpack { compression_level },
    };
    ensure!(arguments.input != Path::new("-"), "standard input has no name for the files to write; specify a file");
    let input = Input::open_file(arguments.input.clone(), session.access())?;
    let signed = if arguments.break_signature { Treatment::Left } else { Treatment::Refused };
    let options = SplitOptions { limits: arguments.limits.limits(), access: session.access() };
    let nothing = |why| {
        Problems::new(session, false).report(anyhow!("{}: nothing to do: {why}", arguments.input.display()));
        Ok(Status::No)
    };
    let split = match split(input, arguments.output.path(), format, signed, options)? {
        SplitOutcome::Done(split) => split,
        SplitOutcome::AlreadySplit => return nothing("its device code is in kpack archives"),
        SplitOutcome::NoDeviceCode => return nothing("no device code"),
    };
    let invalid = match format {
        SplitFormat::Files => "is invalid until the parts are joined",
        SplitFormat::Kpack { .. } => "is no longer valid; sign the result again",
    };
    for (path, signature) in &split.signatures.broken {
        Problems::new(session, false).warn(anyhow!("{path}: its signature ({signature}) {invalid}"));
    }
    let renewed: String = split.signatures.renewed.iter().map(|path| report::signature_renewed(path)).collect();
    session.print_summary(&(report::split_text(&split.files, &session.screen()) + &renewed))?;
    Ok(Status::Yes)
}
