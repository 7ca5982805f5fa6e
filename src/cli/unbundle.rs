//! `fatbin unbundle`.

use std::path::{Path, PathBuf};

use anyhow::{Result, ensure};
use clap::Args;

use super::bundle::{parse_target, parse_type, types_help};
use super::limit::LimitArgument;
use super::progress::Progress;
use super::{Status, figures};
use crate::format::bundle::FileType;
use crate::io::Input;
use crate::ops::{self, UnbundleOptions, WantedFile};
use crate::target::BundleEntryId;
use crate::target::compatibility::{Fit, KindRules};

/// Take files out of a bundle
///
/// A file is asked for by the id that it stands under, in any of its forms, or by one that it serves: hip and hipv4 are
/// the same, and code that leaves a feature open serves a target that sets it. All files are written, or none.
///
/// Of an archive of bundles (a static library) each file is an archive of all code that serves its target, for device
/// linkers. Members that are no bundle are left out.
///
/// Exit status: 0 if everything was written, 1 if a target that was asked for is not there, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// What the bundle is of; its content tells where this is not given
    #[arg(long = "type", value_name = "T", value_parser = parse_type, long_help = types_help())]
    file_type: Option<FileType>,

    /// The id of a file, and where to write it
    #[arg(long = "target", value_name = "ID=FILE", value_parser = parse_target, required = true)]
    targets: Vec<(String, PathBuf)>,

    /// Write an empty file, or archive, for a target that is not there; what is no bundle at all is the host's file
    #[arg(long)]
    allow_missing: bool,

    /// First check that no bundle of the archive has target ids that must not stand in one
    #[arg(long)]
    check_input_archive: bool,

    /// Let HIP code serve OpenMP targets, and the other way round
    #[arg(long)]
    hip_openmp_compatible: bool,

    /// Say of every file in the bundle whether it serves each target, and why
    #[arg(long)]
    explain: bool,

    /// Print sizes, and of decompression ratio, speed and hash
    #[arg(short, long)]
    verbose: bool,

    #[command(flatten)]
    limit: LimitArgument,

    /// The bundle; - is standard input
    #[arg(value_name = "INPUT")]
    input: PathBuf,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let mut targets = Vec::new();
    for (id, output) in arguments.targets {
        ensure!(BundleEntryId::parse(&id).is_some(), "--target: {}", BundleEntryId::invalid(&id));
        targets.push(WantedFile { id, output });
    }
    let options = UnbundleOptions {
        file_type: arguments.file_type,
        targets,
        allow_missing: arguments.allow_missing,
        rules: KindRules { hip_openmp: arguments.hip_openmp_compatible },
        limit: arguments.limit.options().limit,
    };
    let input = Input::open_any(&arguments.input)?;
    let path = input.path().display();
    let mut progress = Progress::new(input.size());
    if arguments.check_input_archive {
        ops::check_archive(&input, options.limit)?;
    }
    let mut explain = |path: &Path, id: &str, wanted: &str, verdict: &Result<Fit, _>| {
        if arguments.explain {
            let path = path.display();
            match verdict {
                Ok(fit) => eprintln!("fatbin: {path}: {id} serves {wanted}: {}", told(*fit)),
                Err(reason) => eprintln!("fatbin: {path}: {id} does not serve {wanted}: {reason}"),
            }
        }
    };
    let figures = ops::unbundle(&input, &options, &mut explain, &mut |bytes| progress.advance(bytes))?;
    drop(progress);
    if arguments.verbose {
        eprintln!("fatbin: {path}: {} bytes", input.size());
        if let Some(figures) = &figures {
            eprintln!("fatbin: {path}: {}", figures::told(figures));
        }
        for target in &options.targets {
            let size = std::fs::metadata(&target.output).map(|metadata| metadata.len()).unwrap_or_default();
            eprintln!("fatbin: {}: {}: {size} bytes", target.output.display(), target.id);
        }
    }
    Ok(Status::Yes)
}

fn told(fit: Fit) -> &'static str {
    match fit {
        Fit::Exact => "it is for just that",
        Fit::Compatible => "they are compatible",
        Fit::Generic => "it is for a processor that stands for that one",
    }
}
