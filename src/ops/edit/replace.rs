//! `replace`: images replaced by other images, in their containers.

use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use crate::edit::transcode::Transcoding;
use crate::edit::{Edit, EditError, EditedImage, Encoding, FileEdit, ImageEdit, Result};
use fatbin_core::base::bytes::View;
use fatbin_core::base::io::Input;
use fatbin_core::format::{self, DeviceImage, ImageKind};
use fatbin_core::scan::filter::{FilterRun, ImageFilter};
use fatbin_core::scan::inventory::{Container, File};
use fatbin_core::target::Device;

/// A new image, and the selector of the image that it replaces.
#[derive(Debug)]
pub struct NewImage {
    place: ImageSelector,
    /// File of the image, or another name for messages.
    path: PathBuf,
    bytes: Vec<u8>,
    /// Result of the search in the files so far.
    found: Mutex<Option<Found>>,
}

/// Result of the search for one image in several files.
#[derive(Debug)]
enum Found {
    /// A file has the image.
    In(String),
    /// Reason why the first file does not have it.
    Nowhere(EditError),
}

impl NewImage {
    /// Reads a new image, which must be a whole image.
    pub fn read(place: ImageSelector, input: &Input) -> Result<Self> {
        let view = input.view();
        let path = || input.path().to_owned();
        let kind = DeviceImage::identify(view).image_kind;
        if kind == ImageKind::Empty {
            return Err(EditError::EmptyImage { path: path() });
        }
        format::check_image_file(kind, view).map_err(|error| error.in_file(&path()))?;
        Ok(NewImage { place, path: path(), bytes: view.data().to_vec(), found: Mutex::new(None) })
    }

    /// Returns the index of the image in a file, or `None` if the file does not have it. If each of two files has one,
    /// that is an error.
    fn find(&self, file: &File) -> Result<Option<usize>> {
        let mut found = self.found.lock().unwrap_or_else(PoisonError::into_inner);
        match (self.place.only(file), found.take()) {
            (Ok(_), Some(Found::In(first))) => {
                let files = format!("{first} and {}", file.path);
                Err(EditError::SeveralFiles { selector: self.place.to_string(), files })
            }
            (Ok(index), _) => {
                *found = Some(Found::In(file.path.to_string()));
                Ok(Some(index))
            }
            (Err(error @ (EditError::NoImage { .. } | EditError::NoMatch(_))), known) => {
                *found = known.or_else(|| Some(Found::Nowhere(error.in_file(file.path.printed()))));
                Ok(None)
            }
            (Err(error), _) => Err(error),
        }
    }
}

/// Choice of an image: an index, or properties that exactly one image has.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ImageSelector {
    /// Index among the device images of the file, as `extract` numbers them.
    Index(usize),
    /// A filter.
    Filter(ImageFilter),
}

/// Replacement of images.
#[derive(Debug)]
pub struct Replace {
    /// The new images.
    pub images: Vec<NewImage>,
    /// Accepts images for other targets.
    pub allow_other_target: bool,
    /// Other forms of the containers.
    pub transcoding: Transcoding,
}

impl ImageSelector {
    /// Returns the index of the only image of a file that it selects.
    fn only(&self, file: &File) -> Result<usize> {
        let count = file.device_images().count();
        let filter = match self {
            ImageSelector::Index(index) if *index < count => return Ok(*index),
            ImageSelector::Index(number) => return Err(EditError::NoImage { number: *number, count }),
            ImageSelector::Filter(filter) => filter,
        };
        let mut run = FilterRun::new(filter);
        let found: Vec<usize> = run.accept_in(file, None).iter().map(|nested| nested.index).collect();
        run.finish().map_err(|error| EditError::NoMatch(error.to_string()))?;
        match found[..] {
            [index] => Ok(index),
            _ => {
                let numbers: Vec<String> = found.iter().map(usize::to_string).collect();
                Err(EditError::SeveralImages { selector: self.to_string(), numbers: numbers.join(", ") })
            }
        }
    }
}

impl std::fmt::Display for ImageSelector {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            ImageSelector::Index(index) => write!(formatter, "number {index}"),
            ImageSelector::Filter(filter) => filter.fmt(formatter),
        }
    }
}

impl Replace {
    /// Checks that each image was found, after all files have been searched, and prepares for another search.
    pub fn check_found(&self) -> Result<()> {
        for new in &self.images {
            let found = new.found.lock().unwrap_or_else(PoisonError::into_inner).take();
            if let Some(Found::Nowhere(error)) = found {
                return Err(error);
            }
        }
        Ok(())
    }
}

impl FileEdit for Replace {
    fn edit<'a>(&'a self, file: &'a File) -> Result<Box<dyn Edit + 'a>> {
        let mut images = Vec::new();
        for new in &self.images {
            let Some(index) = new.find(file)? else { continue };
            if images.iter().any(|(known, _)| *known == index) {
                return Err(EditError::ReplacedTwice { number: index });
            }
            images.push((index, new));
        }
        Ok(Box::new(ReplaceInFile { images, replace: self }))
    }

    fn devices(&self, _: &File) -> Vec<Device> {
        Vec::new()
    }

    fn changes_targets(&self) -> bool {
        self.allow_other_target
    }
}

/// Replacement of images of one file, by their indexes.
struct ReplaceInFile<'a> {
    images: Vec<(usize, &'a NewImage)>,
    replace: &'a Replace,
}

impl Edit for ReplaceInFile<'_> {
    fn image(&self, image: &EditedImage<'_>) -> Result<ImageEdit> {
        let new = self.images.iter().find(|(index, _)| Some(*index) == image.index);
        let Some(&(number, NewImage { path, bytes: new, .. })) = new else { return Ok(ImageEdit::Keep) };
        let old_bytes = (image.bytes)()?;
        let new_view = View::new(new);
        if *old_bytes == *new {
            return Ok(ImageEdit::Keep);
        }
        let old = DeviceImage::identify(View::new(&old_bytes));
        let own = DeviceImage::identify(new_view);
        // Nothing that could run on a device may take the place of device code.
        if own.image_kind == ImageKind::Unknown && old.image_kind != ImageKind::Unknown {
            return Err(EditError::NotADeviceImage { path: path.clone() });
        }
        // An entry with a codec states the format of its image, and the image ends where its own headers state.
        let has_codec = image.image.codec.is_some();
        let is_other = (old.image_kind, &old.triple, &old.arch) != (own.image_kind, &own.triple, &own.arch);
        if is_other && !self.replace.allow_other_target || has_codec && old.image_kind != own.image_kind {
            return Err(EditError::OtherTarget { number, old: target(&old), new: target(&own) });
        }
        let size = match own.image_kind {
            ImageKind::Elf if has_codec => own.own_size,
            ImageKind::Ptx if has_codec => Some(format::without_nul(new)),
            _ => None,
        };
        let size = size.map_or(new.len(), |size| usize::try_from(size).unwrap_or(usize::MAX));
        Ok(ImageEdit::Replace(new.get(..size).unwrap_or(new).to_vec()))
    }

    fn encoding(&self, container: &Container) -> Encoding {
        self.replace.transcoding.of(container)
    }
}

/// The kind, triple and processor that an image states.
fn target(image: &DeviceImage) -> String {
    let known = [Some(image.image_kind.name()), image.triple.as_deref(), image.arch.as_deref()];
    known.into_iter().flatten().collect::<Vec<_>>().join(" ")
}
