//! `fatbin unbundle`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::bundle::{DETECTED, parse_target, parse_type, types_help};
use super::failure::{Result, ensure};
use super::headings::{INPUT, OUTPUT, SELECTION};
use super::limit::LimitArguments;
use super::outputs::OutputArgument;
use super::progress::Progress;
use super::session::Session;
use super::{Status, figures};
use fatbin_core::base::io::Input;
use fatbin_core::format::bundle::FileType;
use fatbin_core::target::BundleEntryId;
use fatbin_core::target::compatibility::{Fit, KindRules};
use fatbin_ops::embed::bundle::{RequestedTarget, UnbundleOptions};

/// Extract files from a bundle
///
/// A target ID selects the entry of that ID, in any of its forms, or one that is compatible with it: hip and hipv4 are
/// the same, and code that leaves a feature unspecified is compatible with a target that sets it. Either all files are
/// written or none.
///
/// From an archive of bundles (a static library), each output is an archive of all code that is compatible with its
/// target, for use by device linkers. Members that are not bundles are omitted.
///
/// Exit status: 0 if all files were written, 1 if the bundle has no entry for a target, 2 otherwise.
#[derive(Debug, Args)]
pub struct Arguments {
    /// Type of the bundled files; detected from the content by default
    #[arg(help_heading = INPUT, long = "type", value_name = "T", value_parser = parse_type, long_help = types_help(DETECTED))]
    file_type: Option<FileType>,

    /// Target ID of an entry, and the file to write it to
    #[arg(help_heading = SELECTION, long = "target", value_name = "ID=FILE", value_parser = parse_requested, required = true)]
    targets: Vec<(String, OutputArgument)>,

    /// Write an empty file or archive for a missing target
    ///
    /// An input that is not a bundle is taken as the host's file.
    #[arg(help_heading = SELECTION, long)]
    allow_missing: bool,

    /// First check that no bundle of the archive contains conflicting target IDs
    #[arg(help_heading = SELECTION, long)]
    check_input_archive: bool,

    /// Treat HIP code as compatible with OpenMP targets, and vice versa
    #[arg(help_heading = SELECTION, long)]
    hip_openmp_compatible: bool,

    /// Print for every entry and target whether they are compatible, and why
    #[arg(help_heading = OUTPUT, long)]
    explain: bool,

    /// Print sizes, and the ratio, speed and hash of the decompression
    #[arg(help_heading = OUTPUT, short, long)]
    verbose: bool,

    #[command(flatten)]
    limits: LimitArguments,

    /// Bundle or archive of bundles; `-` reads standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
}

/// Runs the command.
pub fn run(arguments: Arguments, session: &Session) -> Result<Status> {
    let mut targets = Vec::new();
    for (id, output) in arguments.targets {
        ensure!(BundleEntryId::parse(&id).is_some(), "--target: {}", BundleEntryId::invalid(&id));
        targets.push(RequestedTarget { id, fallback: None, output: output.path().to_owned() });
    }
    let options = UnbundleOptions {
        file_type: arguments.file_type,
        targets,
        allow_missing: arguments.allow_missing,
        rules: KindRules { hip_openmp: arguments.hip_openmp_compatible },
        only_first: false,
        replaces_input: false,
    };
    let input = Input::open_any(&arguments.input, session.access())?;
    let path = input.path().display();
    let progress = Progress::new(session.progress(), input.size());
    if arguments.check_input_archive {
        fatbin_ops::embed::bundle::check_archive(&input)?;
    }
    let mut explain = |path: &Path, id: &str, wanted: &str, verdict: &Result<Fit, _>| {
        if arguments.explain {
            let path = path.display();
            match verdict {
                Ok(fit) => {
                    session.print_detail(format_args!("{path}: {id} is compatible with {wanted}: {}", describe(*fit)));
                }
                Err(reason) => {
                    session.print_detail(format_args!("{path}: {id} is incompatible with {wanted}: {reason}"));
                }
            }
        }
    };
    let figures =
        fatbin_ops::embed::bundle::unbundle(&input, &options, &mut explain, &mut |bytes| progress.advance(bytes))?;
    drop(progress);
    if arguments.verbose {
        session.print_detail(format_args!("{path}: {} bytes", input.size()));
        if let Some(figures) = &figures {
            session.print_detail(format_args!("{path}: {}", figures::line(figures)));
        }
        for target in &options.targets {
            let size = std::fs::metadata(&target.output).map(|metadata| metadata.len()).unwrap_or_default();
            session.print_detail(format_args!("{}: {}: {size} bytes", target.output.display(), target.id));
        }
    }
    Ok(Status::Yes)
}

/// Parses `ID=FILE`.
fn parse_requested(text: &str) -> Result<(String, OutputArgument)> {
    parse_target(text).map(|(id, file)| (id, file.into()))
}

/// Reason why an entry is compatible with a target.
fn describe(fit: Fit) -> &'static str {
    match fit {
        Fit::Exact => "exact match",
        Fit::Compatible => "compatible target IDs",
        Fit::Generic => "generic processor of the same family",
    }
}
