//! `fatbin extract`.

use std::io::{self, Write};
use std::path::PathBuf;

use anyhow::{Context, Result, bail};
use clap::{Args, ValueEnum};

use super::limit::LimitArgument;
use super::scan::{found, scan_path};
use super::{Status, status};
use crate::error::Error;
use crate::inventory::FileFormat;
use crate::ops::{self, Criterion, Destination, ExtractOptions, Scanned, Selection};
use crate::target::OffloadKind;

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

    /// Only images of this offload kind
    #[arg(long, value_name = "KIND")]
    kind: Vec<Kind>,

    /// Only images with this triple
    #[arg(long, value_name = "TRIPLE")]
    triple: Vec<String>,

    /// Only images for this processor with these features: gfx90a:xnack+, sm_90a
    #[arg(long, value_name = "ARCH")]
    arch: Vec<String>,

    /// Only images that can serve this arch: equal or generic processor and no contradicting feature, PTX for later ones
    #[arg(long, value_name = "ARCH")]
    compatible_with: Vec<String>,

    /// Only images whose container says KEY=VALUE
    #[arg(long, value_name = "KEY=VALUE", value_parser = parse_key)]
    key: Vec<(String, String)>,

    /// Leave images that are stored compressed as they are stored
    #[arg(long)]
    stored: bool,

    #[command(flatten)]
    limit: LimitArgument,

    /// Files to take images out of; of archives every member, - is standard input
    #[arg(value_name = "FILE", required = true)]
    files: Vec<PathBuf>,
}

#[derive(Clone, Copy, ValueEnum)]
enum Kind {
    #[value(name = "openmp")]
    OpenMp,
    Cuda,
    Hip,
    Sycl,
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let scan = arguments.limit.options();
    let mut status = Status::No;
    let mut files = Vec::new();
    for path in &arguments.files {
        scan_path(path, scan, &mut |outcome| {
            status = status.and(match outcome {
                Ok(scanned) if is_bitcode(&scanned) => status::report(&Error::Bitcode { path: path.clone() }.into()),
                Ok(scanned) => {
                    let status = found(&scanned.file);
                    if scanned.file.holds_something() {
                        files.push(scanned);
                    }
                    status
                }
                Err((_, error)) => status::report(&error.into()),
            });
        });
    }
    let (selection, destination) = (arguments.selection(), arguments.destination());
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
    fn selection(&self) -> Selection {
        let kinds = self.kind.iter().map(|&kind| Criterion::Kind(kind.into()));
        let triples = self.triple.iter().cloned().map(Criterion::Triple);
        let archs = self.arch.iter().cloned().map(Criterion::Arch);
        let compatible = self.compatible_with.iter().cloned().map(Criterion::CompatibleWith);
        let keys = self.key.iter().cloned().map(|(key, value)| Criterion::Key(key, value));
        Selection(kinds.chain(triples).chain(archs).chain(compatible).chain(keys).collect())
    }

    fn destination(&self) -> Destination {
        match &self.to {
            Some(path) => Destination::File(path.clone()),
            None if self.archive => Destination::Archives(self.output.clone()),
            None => Destination::Directory(self.output.clone()),
        }
    }
}

impl From<Kind> for OffloadKind {
    fn from(kind: Kind) -> OffloadKind {
        match kind {
            Kind::OpenMp => OffloadKind::OpenMp,
            Kind::Cuda => OffloadKind::Cuda,
            Kind::Hip => OffloadKind::Hip,
            Kind::Sycl => OffloadKind::Sycl,
        }
    }
}

fn parse_key(text: &str) -> Result<(String, String)> {
    let (key, value) = text.split_once('=').with_context(|| format!("{text:?} is not KEY=VALUE"))?;
    if key.is_empty() {
        bail!("{text:?} has no key");
    }
    Ok((key.to_owned(), value.to_owned()))
}
