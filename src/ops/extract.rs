//! `extract`: the device images of files, each into a file of its own, one into a named file, or those for one target into
//! a static library.
//!
//! The inventory says what there is, so everything that can be refused is refused before anything is written: something
//! asked for that is not there, several images for one output.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use super::names::{Names, archive_name, image_name};
use super::selection::{Selection, target};
use crate::archive;
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::inventory::{File, Image};
use crate::io::{Output, Sink};
use crate::scan::{self, Part};

/// What to take out, and where to.
#[derive(Debug, Clone)]
pub struct ExtractOptions {
    pub selection: Selection,
    pub destination: Destination,
    /// Leave images that are stored compressed as they are stored.
    pub stored: bool,
    pub scan: scan::Options,
}

/// Where images go.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Destination {
    /// Each into a file of its own in this folder, which is made if need be.
    Directory(PathBuf),
    /// The only one into this file; `-` is standard output.
    File(PathBuf),
    /// Those of one kind, triple and arch into one static library in this folder.
    Archives(PathBuf),
}

/// A file that was looked into.
pub struct Scanned {
    pub part: Part,
    pub file: File,
}

/// An image that was chosen, by its file, and its number among the file's device images.
type Chosen = (usize, usize);

/// What came of it.
#[derive(Debug, Default)]
pub struct Extracted {
    /// How many images were to be written.
    pub images: usize,
    /// Those that were not, each with its reason.
    pub refused: Vec<Error>,
}

/// Writes the selected device images of all files, and calls `written` with the path of each output. Host code in bundles
/// is no device image and is left out.
pub fn extract(files: &[Scanned], options: &ExtractOptions, mut written: impl FnMut(&Path)) -> Result<Extracted> {
    let (chosen, refused) = choose(files, options)?;
    let extraction = Extraction { files, chosen: &chosen, options };
    match &options.destination {
        _ if chosen.is_empty() => {}
        Destination::Directory(directory) => {
            make_directory(directory)?;
            let mut names = Names::default();
            extraction.each(|index, image, bytes| {
                let part = &files[index.0].part;
                let name = names.take(&extraction.name(index, image));
                write(part, bytes, Output::create_in(directory, &name)?)?;
                written(&directory.join(name));
                Ok(())
            })?;
        }
        Destination::File(path) => {
            extraction.each(|index, _, bytes| write(&files[index.0].part, bytes, Output::create(path)?))?;
        }
        Destination::Archives(directory) => {
            make_directory(directory)?;
            archives(&extraction, directory, written)?;
        }
    }
    Ok(Extracted { images: chosen.len() + refused.len(), refused })
}

/// The images that are meant and can be had, and why others cannot.
fn choose(files: &[Scanned], options: &ExtractOptions) -> Result<(Vec<Chosen>, Vec<Error>)> {
    let all: Vec<&Image> = files.iter().flat_map(|it| it.file.device_images()).collect();
    options.selection.check(&all)?;
    let (mut chosen, mut refused) = (Vec::new(), Vec::new());
    let mut descriptions = Vec::new();
    for (file, scanned) in files.iter().enumerate() {
        for (index, image) in scanned.file.device_images().enumerate() {
            if !options.selection.accepts(image) {
                continue;
            }
            if image.codec == Some(Codec::Opaque) && !options.stored {
                let (path, offset) = (PathBuf::from(&scanned.file.path), image.offset.unwrap_or_default());
                refused.push(Error::Opaque { path, offset });
                continue;
            }
            chosen.push((file, index));
            descriptions.push(format!("{} {}", scanned.file.path, target(image)));
        }
    }
    match &options.destination {
        Destination::File(path) if chosen.len() > 1 => {
            Err(Error::SeveralMatches { path: path.clone(), matches: shortened(&descriptions) })
        }
        _ => Ok((chosen, refused)),
    }
}

/// As many as fit into a message.
const MOST_NAMED: usize = 6;

fn shortened(descriptions: &[String]) -> String {
    let named = descriptions.len().min(MOST_NAMED);
    let text = descriptions[..named].join(", ");
    match descriptions.len() - named {
        0 => text,
        more => format!("{text} and {more} more"),
    }
}

struct Extraction<'a> {
    files: &'a [Scanned],
    chosen: &'a [Chosen],
    options: &'a ExtractOptions,
}

impl Extraction<'_> {
    /// Calls `take` with every chosen image and its bytes.
    fn each(&self, mut take: impl FnMut(Chosen, &Image, &[u8]) -> Result<()>) -> Result<()> {
        let scan = self.options.scan;
        for (number, Scanned { part, file }) in self.files.iter().enumerate() {
            let wanted = |index| self.chosen.binary_search(&(number, index)).is_ok();
            scan::reopen(part, file, scan, &wanted, &mut |index, image, itself| {
                if self.options.stored {
                    return take((number, index), image, itself.view.data());
                }
                let bytes = itself.bytes(scan.limit).map_err(|malformed| malformed.in_file(Path::new(&file.path)))?;
                take((number, index), image, &bytes)
            })?;
        }
        Ok(())
    }

    fn name(&self, (file, index): Chosen, image: &Image) -> String {
        let name = image_name(&self.files[file].part.path, index, image);
        match image.codec {
            Some(codec) if self.options.stored && codec != Codec::None => format!("{name}.{}", codec.name()),
            _ => name,
        }
    }
}

/// Moves bytes from file to file where they are a part of one; what was decompressed is written from memory.
fn write(part: &Part, bytes: &[u8], mut output: Output) -> Result<()> {
    let mut sink = Sink::new([part.input()]);
    sink.push(bytes);
    sink.write_to(&mut output)?;
    output.commit()
}

fn make_directory(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(Error::io(directory, "create"))
}

/// Names and bytes.
type Members<'a> = Vec<(String, Cow<'a, [u8]>)>;

/// A static library for each target, in the order of their names, with its images in the order of the files.
fn archives(extraction: &Extraction<'_>, directory: &Path, mut written: impl FnMut(&Path)) -> Result<()> {
    let mut libraries: BTreeMap<String, Members> = BTreeMap::new();
    extraction.each(|index, image, bytes| {
        let member = (extraction.name(index, image), extraction.files[index.0].part.keep(bytes));
        libraries.entry(archive_name(image)).or_default().push(member);
        Ok(())
    })?;
    for (name, members) in &libraries {
        let mut sink = Sink::new(extraction.files.iter().map(|it| it.part.input()));
        let path = directory.join(name);
        let members = members.iter().map(|(name, bytes)| (name.clone(), bytes.as_ref()));
        archive::write(members, &mut sink).map_err(Error::io(&path, "write"))?;
        let mut output = Output::create_in(directory, name)?;
        sink.write_to(&mut output)?;
        output.commit()?;
        written(&path);
    }
    Ok(())
}
