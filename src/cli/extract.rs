//! `fatbin extract`.

use std::path::{Path, PathBuf};

use clap::Args;

use super::Status;
use super::failure::{Result, parser};
use super::filter::FilterArguments;
use super::headings::OUTPUT;
use super::inputs::{found_images, warn_of_archives};
use super::outputs::{ForceArgument, OutputArgument};
use super::problems::Problems;
use super::progress::Progress;
use super::scan_arguments::ScanArguments;
use super::session::Session;
use crate::report::{ExtractedImage, Index};
use fatbin_core::base::io::{FileSet, Output, OutputKind, OutputName};
use fatbin_core::scan::extract::{Destination, ExtractObserver, ExtractOptions, ExtractedFile, NameTemplate};
use fatbin_core::scan::{CacheBudget, Options, Outcome, ScannedFile};

/// File that `--index` writes.
const INDEX: &str = "index.json";

/// Extract device images into separate files
///
/// The names are stable and describe the image: FILE.INDEX-KIND-TRIPLE-ARCH.EXTENSION, or the template of --name. The
/// path of each file is printed. Filters may be repeated: values of one option are alternatives. A filter that matches
/// nothing is an error, and then nothing is written. An image that cannot be read is reported, and the others are
/// extracted.
///
/// Exit status: 0 if images were extracted, 1 if none match, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// Write to this directory, which is created if it does not exist
    #[arg(short, long, value_name = "DIR", default_value = ".", help_heading = OUTPUT)]
    output: OutputArgument,

    /// Name the files by this template, such as {file}.{number}.{arch}.{extension}
    #[arg(long, help_heading = OUTPUT, value_name = "TEMPLATE", value_parser = parser(NameTemplate::parse), conflicts_with_all = ["to", "archive"],
          long_help = name_help())]
    name: Option<NameTemplate>,

    /// Write index.json too: origin, target and SHA-256 of each image (schema fatbin.extract/1)
    #[arg(long, conflicts_with_all = ["to", "archive"], help_heading = OUTPUT)]
    index: bool,

    /// Write the only matching image to this file; `-` is standard output
    #[arg(long = "file", alias = "to", value_name = "FILE", conflicts_with = "output", help_heading = OUTPUT)]
    to: Option<OutputArgument>,

    #[command(flatten)]
    force: ForceArgument,

    /// Write a static library for each kind, triple and arch instead, with the images as members
    #[arg(long, conflicts_with = "to", help_heading = OUTPUT)]
    archive: bool,

    #[command(flatten)]
    filter: FilterArguments,

    /// Extract compressed images as they are stored
    #[arg(long, help_heading = OUTPUT)]
    stored: bool,

    #[command(flatten)]
    scan: ScanArguments,
}

fn name_help() -> String {
    format!(
        "Name the files by this template, such as {{file}}/{{arch}}.{{number}}.{{extension}}. The fields are\n\n\
         {}\nA field without a value is left out, with the text between it and the field before. A slash makes a directory; \
         characters that a file name cannot have on some system become _. Two images of one name are an error",
        NameTemplate::help()
    )
}

pub fn run(mut arguments: Arguments, session: &Session) -> Result<Status> {
    let problems = arguments.scan.problems.problems(session);
    let set = arguments.force.files([]);
    arguments.scan.inputs.add_to(&set);
    let directory = arguments.output.path().to_owned();
    let (files, mut status) = scan_inputs(&arguments.scan, &problems)?;
    let mut options = ExtractOptions::new(arguments.destination());
    options.filter = arguments.filter.filter();
    options.names = arguments.name;
    options.index = arguments.index.then_some(INDEX);
    options.stored = arguments.stored;
    let mut recorder =
        Recorder { directory: &directory, paths: Vec::new(), index: Index::default(), session, progress: None };
    let result = fatbin_core::scan::extract::extract(&files, &options, &set, &mut recorder);
    let Recorder { mut paths, mut index, .. } = recorder;
    let mut indexed = Ok(());
    if arguments.index && !paths.is_empty() && result.is_ok() {
        for scanned in &files {
            index.add_metadata(scanned.file());
        }
        indexed = write_index(&directory, &set, &index);
        paths.extend(indexed.is_ok().then(|| directory.join(INDEX)));
    }
    session.print_paths(&paths)?;
    let result = result?;
    indexed?;
    for error in result.refused {
        status = status.and(problems.report(error));
    }
    for error in result.skipped {
        problems.warn(error);
    }
    for error in result.unknown {
        problems.warn(error);
    }
    Ok(status)
}

/// Scans all inputs, and reports inputs that cannot be read.
fn scan_inputs(arguments: &ScanArguments, problems: &Problems) -> Result<(Vec<ScannedFile>, Status)> {
    let scanner = arguments.limits.scanner(problems.session(), Options::default()).with_cache(CacheBudget::default());
    let mut files = Vec::new();
    let mut status = Status::No;
    arguments.inputs.scan(&scanner, problems, &mut |outcome| {
        status = status.and(match outcome {
            Outcome::Scanned(scanned) => {
                let status = found_images(scanned.file());
                files.push(scanned);
                status
            }
            Outcome::Unreadable { error, .. } => problems.report(error),
            Outcome::Empty(_) => Status::No,
        });
    })?;
    warn_of_archives(files.iter().map(ScannedFile::file), problems);
    Ok((files, status))
}

fn write_index(directory: &Path, set: &FileSet, index: &Index) -> fatbin_core::base::error::Result<()> {
    let place = set.output_in(directory, &OutputName::of(INDEX), OutputKind::Text)?;
    Output::of_bytes(place, index.json().as_bytes())
}

/// Records what is extracted, and shows the progress.
struct Recorder<'a> {
    directory: &'a Path,
    paths: Vec<PathBuf>,
    index: Index,
    session: &'a Session,
    progress: Option<Progress>,
}

impl ExtractObserver for Recorder<'_> {
    fn start(&mut self, size: u64) {
        self.progress = Some(Progress::new(self.session.progress(), size));
    }

    fn image(&mut self, extracted: &ExtractedFile<'_>) {
        self.paths.push(self.directory.join(extracted.name));
        if extracted.sha256.is_some() {
            let components: Vec<_> = extracted.name.iter().map(|part| part.to_string_lossy()).collect();
            self.index.add(&ExtractedImage {
                file: extracted.scanned.file(),
                nested: extracted.nested,
                name: components.join("/"),
                size: extracted.size,
                sha256: extracted.sha256,
            });
        }
        if let Some(progress) = &self.progress {
            progress.advance(extracted.size);
        }
    }

    fn library(&mut self, name: &str) {
        self.paths.push(self.directory.join(name));
    }
}

impl Arguments {
    fn destination(&self) -> Destination {
        match &self.to {
            Some(path) => Destination::File(path.path().to_owned()),
            None if self.archive => Destination::Libraries(self.output.path().to_owned()),
            None => Destination::Directory(self.output.path().to_owned()),
        }
    }
}
