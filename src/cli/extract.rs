//! `fatbin extract`.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use anyhow::Result;
use clap::Args;

use super::inputs::{InputArguments, Outcome, found};
use super::limit::LimitArgument;
use super::progress::Progress;
use super::selection::SelectionArguments;
use super::{Status, status};
use crate::error::Error;
use crate::inventory::FileFormat;
use crate::io::Output;
use crate::ops::{self, Destination, ExtractOptions, NameTemplate, Scanned, Told, Written};
use crate::report::{ExtractedImage, Index};
use crate::scan;

/// What `--index` writes.
const INDEX: &str = "index.json";

/// Write device images into files of their own
///
/// The names are stable and say what the image is: FILE.INDEX-KIND-TRIPLE-ARCH.EXTENSION, or whatever --name makes of it.
/// The path of each file that was written is printed. Options that select may be repeated: values of one option are
/// alternatives, and each has to be there, or nothing is written. An image that cannot be read is told and does not keep
/// the others.
///
/// Exit status: 0 if images were written, 1 if there are none or something asked for is not there, 2 for trouble.
#[derive(Args)]
pub struct Arguments {
    /// The folder to write into; it is made if need be
    #[arg(short, long, value_name = "DIR", default_value = ".")]
    output: PathBuf,

    /// Name the files so: text with fields in braces, such as {file}.{number}.{arch}.{extension}
    #[arg(long, value_name = "TEMPLATE", value_parser = NameTemplate::parse, conflicts_with_all = ["to", "archive"],
          long_help = name_help())]
    name: Option<NameTemplate>,

    /// Write also index.json: of every file where its image comes from, what it is, and its SHA-256 (schema
    /// fatbin.extract/1)
    #[arg(long, conflicts_with_all = ["to", "archive"])]
    index: bool,

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

fn name_help() -> String {
    format!(
        "Name the files so: text with fields in braces, such as {{file}}/{{arch}}.{{number}}.{{extension}}. The fields are\n\n\
         {}\nA field that an image does not have is left out, with the text between it and the field before. A slash makes a \
         folder; what a file name cannot have on some system becomes _. Two images of one name are an error",
        NameTemplate::help()
    )
}

pub fn run(arguments: Arguments) -> Result<Status> {
    let scan = scan::Options { keep: true, ..arguments.limit.options() };
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
    let index = arguments.index.then_some(INDEX);
    let options =
        ExtractOptions { selection, destination, names: arguments.name, index, stored: arguments.stored, scan };
    let mut telling = Telling { folder: &arguments.output, paths: Vec::new(), index: Index::default(), progress: None };
    let result = ops::extract(&files, &options, &mut telling);
    let Telling { mut paths, index, .. } = telling;
    let mut indexed = Ok(());
    if arguments.index && !paths.is_empty() && result.is_ok() {
        indexed = write_index(&arguments.output, &index);
        paths.extend(indexed.is_ok().then(|| arguments.output.join(INDEX)));
    }
    let mut out = io::stdout().lock();
    for path in paths {
        writeln!(out, "{}", path.display())?;
    }
    let result = result?;
    indexed?;
    for error in result.refused {
        status = status.and(status::report(&error.into()));
    }
    result.unknown.into_iter().for_each(|error| status::warn(&error.into()));
    Ok(status)
}

fn write_index(folder: &Path, index: &Index) -> crate::error::Result<()> {
    let mut output = Output::create_in(folder, INDEX)?;
    output.write(index.json().as_bytes())?;
    output.commit()
}

/// Notes what was written, and shows how far it is.
struct Telling<'a> {
    folder: &'a Path,
    paths: Vec<PathBuf>,
    index: Index,
    progress: Option<Progress>,
}

impl Told for Telling<'_> {
    fn begins(&mut self, size: u64) {
        self.progress = Some(Progress::new(size));
    }

    fn image(&mut self, written: &Written<'_>) {
        self.paths.push(self.folder.join(written.name));
        let name: Vec<_> = written.name.iter().map(|part| part.to_string_lossy()).collect();
        if written.sha256.is_some() {
            self.index.add(ExtractedImage {
                file: &written.scanned.file,
                number: written.number,
                image: written.image,
                containers: written.containers,
                name: name.join("/"),
                size: written.size,
                sha256: written.sha256,
            });
        }
        if let Some(progress) = &mut self.progress {
            progress.advance(written.size);
        }
    }

    fn library(&mut self, name: &str) {
        self.paths.push(self.folder.join(name));
    }
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
