//! `extract`: the device images of files, each into a file of its own, one into a named file, or those for one target into
//! a static library.
//!
//! The inventory says what there is, so everything that can be refused is refused before anything is written: something
//! asked for that is not there, several images for one output.

use std::borrow::Cow;
use std::collections::BTreeMap;
use std::ops::Range;
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicBool, Ordering};

use sha2::{Digest, Sha256};

use super::choose::{Choice, Chosen, choose};
use super::name_template::{NameTemplate, Named};
use super::names::{Names, archive_name};
use super::scanned::Scanned;
use super::selection::{Selection, target};
use super::shares::deal;
use crate::archive;
use crate::codec::Codec;
use crate::error::{Error, Result};
use crate::inventory::{Container, Image};
use crate::io::{Input, Output, Sink};
use crate::parallel::{in_parallel, processors};
use crate::scan::{self, Part};

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
    told.begins(whole_size(&extraction.images));
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
pub struct ToExtract<'a> {
    pub chosen: Chosen,
    pub image: &'a Image,
    /// From the outermost to its own.
    pub containers: Vec<&'a Container>,
}

/// The sizes of images together. They may state whatever they like.
pub fn whole_size(images: &[ToExtract<'_>]) -> u64 {
    images.iter().filter_map(|it| it.image.whole_size()).fold(0, u64::saturating_add)
}

/// What came of some images of one file.
struct Taken {
    /// Indices, sizes and hashes.
    written: Vec<(usize, u64, Option<[u8; 32]>)>,
    refused: Vec<Error>,
    /// What could not be written.
    failed: Option<Error>,
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
        for images in self.of_each_file() {
            match self.file(&self.images[images.start]).part.open() {
                Ok(part) => self.some(images, &part, refused, take)?,
                Err(error) => refused.push(error),
            }
        }
        Ok(())
    }

    /// The images of one file after another.
    fn of_each_file(&self) -> Vec<Range<usize>> {
        let files = self.images.chunk_by(|one, next| one.chosen.0 == next.chosen.0);
        let ends = files.scan(0, |end, images| {
            *end += images.len();
            Some(*end - images.len()..*end)
        });
        ends.collect()
    }

    /// Calls `take` with these images, which are all of one file.
    fn some(&self, images: Range<usize>, part: &Part, refused: &mut Vec<Error>, take: &mut Take<'_>) -> Result<()> {
        let Range { start, .. } = images;
        let images = &self.images[images];
        let scanned = self.file(&images[0]);
        let index = |number| images.binary_search_by_key(&number, |image| image.chosen.1).ok();
        let wanted = |number| index(number).is_some();
        let mut failed = None;
        let read = scan::reopen(part, &scanned.file, self.options.scan, &wanted, &mut |number, _, itself| {
            let Some(index) = index(number).filter(|_| failed.is_none()) else { return Ok(()) };
            let stored = itself.view.data();
            let bytes = match self.options.stored {
                true => Ok(Cow::Borrowed(stored)),
                false => itself.bytes(self.options.scan.limit),
            };
            match bytes {
                Ok(bytes) => failed = take(start + index, part, &bytes).err(),
                Err(malformed) => refused.push(malformed.in_file(Path::new(&scanned.file.path))),
            }
            Ok(())
        });
        failed.map_or(Ok(()), Err)?;
        refused.extend(read.err());
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

    /// Names are fixed before anything is written, so files of one file are written by several threads, and told in order.
    fn to_files(&self, directory: &Path, told: &mut dyn Told, refused: &mut Vec<Error>) -> Result<()> {
        let names = self.names(self.options.names.as_ref())?;
        make_directory(directory)?;
        let processors = processors();
        for images in self.of_each_file() {
            let part = match self.file(&self.images[images.start]).part.open() {
                Ok(part) => part,
                Err(error) => {
                    refused.push(error);
                    continue;
                }
            };
            let (workers, shares) = deal(&self.images[images.clone()], processors);
            let has_failed = AtomicBool::new(false);
            let work = |share: &Range<usize>| {
                let share = images.start + share.start..images.start + share.end;
                self.write_some(share, &part, directory, &names, &has_failed)
            };
            let mut failed = None;
            in_parallel(&shares, workers, work, &mut |taken| {
                for (index, size, sha256) in taken.written {
                    self.tell(index, &names[index], size, sha256, told);
                }
                refused.extend(taken.refused);
                failed = failed.take().or(taken.failed);
            });
            failed.map_or(Ok(()), Err)?;
        }
        Ok(())
    }

    /// Writes these images of one file, until something has failed here or elsewhere.
    fn write_some(
        &self,
        images: Range<usize>,
        part: &Part,
        directory: &Path,
        names: &[PathBuf],
        has_failed: &AtomicBool,
    ) -> Taken {
        let (mut written, mut refused) = (Vec::new(), Vec::new());
        let result = self.some(images, part, &mut refused, &mut |index, part, bytes| {
            if has_failed.load(Ordering::Relaxed) {
                return Ok(());
            }
            let name = &names[index];
            let path = directory.join(name);
            let folder = path.parent().unwrap_or(directory);
            if folder != directory {
                make_directory(folder)?;
            }
            write(part, bytes, Output::create_in(folder, path.file_name().unwrap_or(name.as_os_str()))?)?;
            let sha256 = self.options.index.map(|_| Sha256::digest(bytes).into());
            written.push((index, bytes.len() as u64, sha256));
            Ok(())
        });
        has_failed.fetch_or(result.is_err(), Ordering::Relaxed);
        Taken { written, refused, failed: result.err() }
    }

    fn tell(&self, index: usize, name: &Path, size: u64, sha256: Option<[u8; 32]>, told: &mut dyn Told) {
        let it = &self.images[index];
        let (number, containers) = (it.chosen.1, &it.containers[..]);
        told.image(&Written { scanned: self.file(it), number, image: it.image, containers, name, size, sha256 });
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

/// Moves bytes from file to file where they are a part of one; what was decompressed is written from memory, at once, for
/// which no room needs to be reserved.
fn write(part: &Part, bytes: &[u8], mut output: Output) -> Result<()> {
    match part.input().offset_of(bytes) {
        Some(offset) => {
            output.reserve(bytes.len() as u64)?;
            output.copy(part.input(), offset, bytes.len() as u64)?;
        }
        None => output.write(bytes)?,
    }
    output.commit()
}

fn make_directory(directory: &Path) -> Result<()> {
    std::fs::create_dir_all(directory).map_err(Error::io(directory, "create"))
}
