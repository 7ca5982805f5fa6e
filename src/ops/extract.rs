//! `extract`: the device images of files, each into a file of its own, one into a named file, or those for one target into
//! a static library.
//!
//! The inventory says what there is, so everything that can be refused is refused before anything is written: something
//! asked for that is not there, several images for one output.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};

use super::choose::{Choice, Chosen, choose};
use super::name_template::{NameTemplate, Named};
use super::names::{Names, archive_name};
use super::selection::{Selection, target};
use crate::archive;
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::inventory::{Container, File, Image};
use crate::io::{Input, Output, Sink};
use crate::scan::{self, ClosedPart, LookAtNumber, Part};

/// What to take out, and where to.
#[derive(Debug, Clone)]
pub struct ExtractOptions {
    pub selection: Selection,
    pub destination: Destination,
    /// What files in a folder are called; as [`NameTemplate::DEFAULT`] says where it is absent.
    pub names: Option<NameTemplate>,
    /// A name that stays free for what is not written here.
    pub index: Option<&'static str>,
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
    pub part: ClosedPart,
    pub file: File,
}

impl Scanned {
    /// Opens the file again for the images that are `wanted`; see [`scan::reopen`].
    pub fn reopen(
        &self,
        options: scan::Options,
        wanted: &dyn Fn(usize) -> bool,
        look: &mut LookAtNumber<'_>,
    ) -> Result<()> {
        if !(0..self.file.device_images().count()).any(wanted) {
            return Ok(());
        }
        scan::reopen(&self.part.open()?, &self.file, options, wanted, look)
    }
}

/// An image that was taken out.
pub struct Written<'a> {
    pub scanned: &'a Scanned,
    /// Its number among the device images of its file.
    pub number: usize,
    pub image: &'a Image,
    /// From the outermost to its own.
    pub containers: &'a [&'a Container],
    /// What it was written to, below the folder.
    pub name: &'a Path,
    /// The number of bytes that were written.
    pub size: u64,
    /// Of these bytes, where there is to be an index.
    pub sha256: Option<[u8; 32]>,
}

/// What came of it.
#[derive(Debug, Default)]
pub struct Extracted {
    /// How many images were to be written.
    pub images: usize,
    /// Those that were not, each with its reason.
    pub refused: Vec<Error>,
    /// Images that may have been meant.
    pub unknown: Vec<Error>,
}

/// What is told on the way.
pub trait Told {
    /// The sizes of all images that are to be written, in bytes, before the first.
    fn begins(&mut self, size: u64);

    /// An image is in its file.
    fn image(&mut self, written: &Written<'_>);

    /// A static library is there.
    fn library(&mut self, name: &str);
}

/// Writes the selected device images of all files. Host code in bundles is no device image and is left out. What is wrong
/// with one image does not keep the others; that something cannot be written does.
pub fn extract(files: &[Scanned], options: &ExtractOptions, told: &mut dyn Told) -> Result<Extracted> {
    let Choice { chosen, failed: mut refused, unknown } = choose(files, &options.selection, options.scan)?;
    let extraction = Extraction::new(files, chosen, options, &mut refused);
    let images = extraction.images.len() + refused.len();
    told.begins(extraction.images.iter().filter_map(|image| image.image.whole_size()).sum());
    match &options.destination {
        _ if extraction.images.is_empty() => {}
        Destination::Directory(directory) => extraction.to_files(directory, told, &mut refused)?,
        Destination::File(path) => {
            extraction.check_alone(path)?;
            let mut write = |_: usize, part: &Part, bytes: &[u8]| write(part, bytes, Output::create(path)?);
            extraction.each(&mut refused, &mut write)?;
        }
        Destination::Archives(directory) => extraction.to_archives(directory, told, &mut refused)?,
    }
    Ok(Extracted { images, refused, unknown })
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

/// An image that is to be taken out.
struct ToExtract<'a> {
    chosen: Chosen,
    image: &'a Image,
    containers: Vec<&'a Container>,
}

struct Extraction<'a> {
    files: &'a [Scanned],
    /// In the order of `chosen`.
    images: Vec<ToExtract<'a>>,
    options: &'a ExtractOptions,
}

/// Called with the index of an image among those that are to be taken out, with its file, and with its bytes.
type Take<'a> = dyn FnMut(usize, &Part, &[u8]) -> Result<()> + 'a;

impl<'a> Extraction<'a> {
    /// The images that can be had; why others cannot is added to `refused`.
    fn new(
        files: &'a [Scanned],
        chosen: Vec<Chosen>,
        options: &'a ExtractOptions,
        refused: &mut Vec<Error>,
    ) -> Extraction<'a> {
        let mut images = Vec::new();
        for (file, scanned) in files.iter().enumerate() {
            for (number, (containers, image)) in scanned.file.device_images_in_containers().into_iter().enumerate() {
                if chosen.binary_search(&(file, number)).is_err() {
                    continue;
                }
                if image.codec == Some(Codec::Opaque) && !options.stored {
                    let (path, offset) = (PathBuf::from(&scanned.file.path), image.offset.unwrap_or_default());
                    refused.push(Error::Opaque { path, offset });
                    continue;
                }
                images.push(ToExtract { chosen: (file, number), image, containers });
            }
        }
        Extraction { files, images, options }
    }

    /// That there is one image for one file.
    fn check_alone(&self, path: &Path) -> Result<()> {
        if self.images.len() <= 1 {
            return Ok(());
        }
        let described = self.images.iter().map(|it| format!("{} {}", self.file(it).file.path, target(it.image)));
        let matches = shortened(&described.collect::<Vec<_>>());
        Err(Error::SeveralMatches { path: path.to_owned(), matches })
    }

    fn file(&self, image: &ToExtract<'_>) -> &'a Scanned {
        &self.files[image.chosen.0]
    }

    /// Calls `take` with every image. What cannot be read is added to `refused`.
    fn each(&self, refused: &mut Vec<Error>, take: &mut Take<'_>) -> Result<()> {
        let index = |chosen: Chosen| self.images.binary_search_by_key(&chosen, |image| image.chosen).ok();
        let files: BTreeSet<usize> = self.images.iter().map(|image| image.chosen.0).collect();
        for file in files {
            let scanned = &self.files[file];
            let part = match scanned.part.open() {
                Ok(part) => part,
                Err(error) => {
                    refused.push(error);
                    continue;
                }
            };
            let mut failed = None;
            let wanted = |number| index((file, number)).is_some();
            let read = scan::reopen(&part, &scanned.file, self.options.scan, &wanted, &mut |number, _, itself| {
                let Some(index) = index((file, number)).filter(|_| failed.is_none()) else { return Ok(()) };
                let stored = itself.view.data();
                let bytes = match self.options.stored {
                    true => Ok(Cow::Borrowed(stored)),
                    false => itself.bytes(self.options.scan.limit),
                };
                match bytes {
                    Ok(bytes) => failed = take(index, &part, &bytes).err(),
                    Err(malformed) => refused.push(malformed.in_file(Path::new(&scanned.file.path))),
                }
                Ok(())
            });
            failed.map_or(Ok(()), Err)?;
            refused.extend(read.err());
        }
        Ok(())
    }

    /// What each image is called.
    fn names(&self, template: Option<&NameTemplate>) -> Result<Vec<PathBuf>> {
        let named = self.images.iter().map(|it| {
            let scanned = self.file(it);
            Named {
                path: &scanned.part.path,
                is_member: scanned.part.member.is_some(),
                number: it.chosen.1,
                image: it.image,
                containers: it.containers.clone(),
                codec: it.image.codec.filter(|_| self.options.stored),
            }
        });
        let taken: Vec<&str> = self.options.index.into_iter().collect();
        Names::of_all(template, &named.collect::<Vec<_>>(), &taken)
    }

    fn to_files(&self, directory: &Path, told: &mut dyn Told, refused: &mut Vec<Error>) -> Result<()> {
        let names = self.names(self.options.names.as_ref())?;
        make_directory(directory)?;
        self.each(refused, &mut |index, part, bytes| {
            let (it, name) = (&self.images[index], &names[index]);
            let path = directory.join(name);
            let folder = path.parent().unwrap_or(directory);
            if folder != directory {
                make_directory(folder)?;
            }
            write(part, bytes, Output::create_in(folder, path.file_name().unwrap_or(name.as_os_str()))?)?;
            told.image(&Written {
                scanned: self.file(it),
                number: it.chosen.1,
                image: it.image,
                containers: &it.containers,
                name,
                size: bytes.len() as u64,
                sha256: self.options.index.map(|_| Sha256::digest(bytes).into()),
            });
            Ok(())
        })
    }

    /// A static library for each target, in the order of their names, with its images in the order of the files.
    fn to_archives(&self, directory: &Path, told: &mut dyn Told, refused: &mut Vec<Error>) -> Result<()> {
        make_directory(directory)?;
        let names = self.names(None)?;
        let mut libraries: BTreeMap<String, Vec<Member>> = BTreeMap::new();
        self.each(refused, &mut |index, part, bytes| {
            // A library is written at once, so here all files that have something for one stay open.
            let bytes = part.input().offset_of(bytes).map_or(Bytes::Made(bytes.to_vec()), |offset| {
                let start = offset as usize;
                Bytes::InFile(part.clone(), start..start + bytes.len())
            });
            let member = (names[index].display().to_string(), bytes);
            libraries.entry(archive_name(self.images[index].image)).or_default().push(member);
            Ok(())
        })?;
        for (name, members) in &libraries {
            let mut sink = Sink::new(members.iter().filter_map(|(_, bytes)| bytes.input()));
            let path = directory.join(name);
            let members = members.iter().map(|(name, bytes)| (name.clone(), bytes.all()));
            archive::write(members, &mut sink).map_err(Error::io(&path, "write"))?;
            let mut output = Output::create_in(directory, name)?;
            sink.write_to(&mut output)?;
            output.commit()?;
            told.library(name);
        }
        Ok(())
    }
}

/// A name and bytes.
type Member = (String, Bytes);

/// The bytes of an image: a part of a file, or what was made of one.
enum Bytes {
    InFile(Part, Range<usize>),
    Made(Vec<u8>),
}

impl Bytes {
    fn all(&self) -> &[u8] {
        match self {
            Bytes::InFile(part, range) => &part.input().view().data()[range.clone()],
            Bytes::Made(bytes) => bytes,
        }
    }

    fn input(&self) -> Option<&Input> {
        match self {
            Bytes::InFile(part, _) => Some(part.input()),
            Bytes::Made(_) => None,
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
