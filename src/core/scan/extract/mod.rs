//! `extract`: writes device images to separate files, one image to a given file, or the images of each target to a
//! static library.
//!
//! The inventory is known, so bad requests are refused before anything is written: a filter that matches nothing, or
//! several images for one output. An image passes through each module once: `filter` selects it, `job` reads it, and
//! `files` or `libraries` writes it and reports it to the observer.

mod batches;
mod error;
mod extraction;
mod files;
mod job;
mod libraries;
pub mod name_template;
mod names;
mod sanitize;

use std::path::{Path, PathBuf};

use crate::base::error::Result;
use crate::base::io::{FileSet, Output, OutputKind};
use crate::scan::ScannedFile;
use crate::scan::filter::{self, FilterError, FilterResult, ImageFilter, target};
use crate::scan::images::at_turn::ImageForm;
use crate::scan::inventory::NestedImage;
use job::{ExtractJob, total_size};
use names::file_names;

pub use error::ExtractError;
pub use extraction::Extraction;
pub use extraction::extract as extract_files;
pub use name_template::{NameTemplate, TemplateError};

/// Options of `extract`.
#[derive(Debug, Clone)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct ExtractOptions {
    /// Images to extract.
    pub filter: ImageFilter,
    /// Output.
    pub destination: Destination,
    /// Names of files in a directory; `{name}.{number}-{kind}-{triple}-{arch}.{extension}` if absent.
    pub names: Option<NameTemplate>,
    /// Name that no image gets, for a file that the caller writes.
    #[doc(hidden)]
    pub index: Option<&'static str>,
    /// Extracts compressed images as they are stored.
    pub stored: bool,
}

impl ExtractOptions {
    /// Creates options for all images, decompressed.
    pub fn new(destination: Destination) -> Self {
        ExtractOptions { filter: ImageFilter::default(), destination, names: None, index: None, stored: false }
    }

    /// Form of the images that are extracted.
    fn form(&self) -> ImageForm {
        if self.stored { ImageForm::Stored } else { ImageForm::Plain }
    }
}

/// Output of `extract`.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Destination {
    /// A separate file for each image, in this directory. It is created if it does not exist.
    Directory(PathBuf),
    /// This file, for a single image; `-` is standard output.
    File(PathBuf),
    /// A static library for each kind, triple and arch in this directory.
    Libraries(PathBuf),
}

/// An image that was extracted.
#[derive(Debug)]
pub struct ExtractedFile<'a> {
    /// The file that holds the image.
    pub scanned: &'a ScannedFile,
    /// The image, with the containers around it.
    pub nested: &'a NestedImage<'a>,
    /// Path of the output below the directory.
    pub name: &'a Path,
    /// Number of bytes that were written.
    pub size: u64,
    /// Hash of these bytes, if an index is written.
    pub sha256: Option<[u8; 32]>,
}

/// Result of `extract`.
#[derive(Debug, Default)]
pub struct ExtractResult {
    /// Number of images that were to be extracted.
    pub images: usize,
    /// Errors of images that were not extracted.
    pub refused: Vec<ExtractError>,
    /// Scrambled LTO-IR: one message per file. Only its raw bytes can be extracted.
    pub skipped: Vec<ExtractError>,
    /// Images that the filter may accept.
    pub unknown: Vec<FilterError>,
}

/// Receives the progress of `extract`.
pub trait ExtractObserver {
    /// Called before the first image. `size` is the decompressed size of all images, in bytes.
    fn start(&mut self, size: u64);

    /// Called when an image has been written.
    fn image(&mut self, extracted: &ExtractedFile<'_>);

    /// Called when a static library has been written.
    fn library(&mut self, name: &str);
}

/// Extracts the device images of all files that the filter accepts. Host code in bundles is not a device image. If an
/// image cannot be read, the others are still extracted. If an output cannot be written, extraction stops.
pub fn extract(
    files: &[ScannedFile],
    options: &ExtractOptions,
    set: &FileSet,
    observer: &mut dyn ExtractObserver,
) -> Result<ExtractResult, ExtractError> {
    for path in files.iter().filter_map(ScannedFile::outermost) {
        set.add_input(path);
    }
    let FilterResult { images, failed, unknown } = filter::apply(&options.filter, files)?;
    let mut refused: Vec<ExtractError> = failed.into_iter().map(ExtractError::from).collect();
    let (jobs, scrambled) = ExtractJob::plan(files, images, options, &mut refused);
    let path = |file: usize| PathBuf::from(files[file].file().path.as_str());
    let skipped = scrambled.into_iter().map(|(file, images)| ExtractError::Scrambled { path: path(file), images });
    let mut skipped: Vec<ExtractError> = skipped.collect();
    if jobs.is_empty() && matches!(options.destination, Destination::File(_)) {
        refused.append(&mut skipped);
    }
    let images = jobs.len() + refused.len();
    observer.start(total_size(&jobs));
    if !jobs.is_empty() {
        match &options.destination {
            Destination::Directory(directory) => {
                let names = file_names(&jobs, options, options.names.as_ref())?;
                files::write_files(&jobs, &names, (directory, set), options, observer, &mut refused)?;
            }
            Destination::File(path) => write_single(&jobs, (path, set), options, &mut refused)?,
            Destination::Libraries(directory) => {
                let names = file_names(&jobs, options, None)?;
                libraries::write_libraries(&jobs, &names, (directory, set), options, observer, &mut refused)?;
            }
        }
    }
    Ok(ExtractResult { images, refused, skipped, unknown })
}

/// Maximum number of images in a message.
const MAX_LISTED: usize = 6;

/// Writes the only image to `path`.
fn write_single(
    jobs: &[ExtractJob<'_>],
    (path, set): (&Path, &FileSet),
    options: &ExtractOptions,
    refused: &mut Vec<ExtractError>,
) -> Result<(), ExtractError> {
    let [job] = jobs else {
        let described = jobs.iter().take(MAX_LISTED);
        let described = described.map(|job| format!("{} {}", job.scanned.file().path, target(job.found.nested.image)));
        let mut images = described.collect::<Vec<_>>().join(", ");
        if jobs.len() > MAX_LISTED {
            images += &format!(" and {} more", jobs.len() - MAX_LISTED);
        }
        return Err(ExtractError::SeveralMatches { path: path.to_owned(), images });
    };
    let scan = match job.scanned.open() {
        Ok(scan) => scan,
        Err(error) => {
            refused.push(error.into());
            return Ok(());
        }
    };
    match job.read(&scan.reader(), options) {
        Ok(bytes) => {
            Output::create(set.output(path, OutputKind::Code)?)?.commit_bytes(scan.source().input(), &bytes)?;
        }
        Err(malformed) => refused.push(malformed.in_file(scan.file().path.printed()).into()),
    }
    Ok(())
}
