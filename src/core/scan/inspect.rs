//! The bytes of an image, for operations that inspect images.

use std::collections::{BTreeMap, BTreeSet};

use crate::base::bytes::View;
use crate::base::codec::Codec;
use crate::base::error::{Error, Malformed, Result};
use crate::format::ImageKind;
use crate::image::{self, Demangler, Inspection, SourceIndex};
use crate::scan::images::image_error;
use crate::scan::inventory::{File, Image};
use crate::scan::{ImageRef, ScannedFile};

/// Inspects an image with `read`. An image that cannot be decompressed has a problem instead of kernels.
pub fn inspect_with(
    image: &ImageRef<'_>,
    read: impl FnOnce(ImageKind, View<'_>, &Demangler) -> Inspection,
) -> Inspection {
    if image.is_scrambled() {
        return Inspection::not_inspected(image::LTO_IR);
    }
    if image.unknown_kind().is_some() {
        return Inspection::not_inspected("of a kind that is newer than this program");
    }
    if image.codec == Some(Codec::Opaque) {
        return Inspection::not_inspected("compressed with an unknown codec");
    }
    match image.read() {
        Ok(bytes) => read(image.image_kind, bytes.view(), image.demangler()),
        Err(problem) => Inspection { problems: vec![problem], ..Inspection::default() },
    }
}

impl ImageRef<'_> {
    /// Inspects the image, including its debug information. An image that cannot be decompressed has a problem instead
    /// of kernels.
    pub fn inspect(&self) -> Inspection {
        inspect_with(self, image::inspect)
    }

    /// Demangler for the kernels of the images that are read together.
    #[doc(hidden)]
    pub fn demangler(&self) -> &Demangler {
        &self.names().demangler
    }

    /// Reads the debug information of an ELF image, to find the source of addresses in its code. Returns an error for
    /// images that are no ELF files or cannot be decompressed.
    pub fn source_index(&self) -> Result<SourceIndex> {
        SourceIndex::read(self.bytes()?.view()).map_err(|problem| self.error(problem))
    }
}

/// Creates the errors for problems in the images of a file. Problems that the scan reports are left out: it reads the
/// headers of images that are files themselves.
pub struct ImageErrors<'a> {
    path: &'a str,
    /// Sorted by offset for a search. A file may have many errors, and just as many images with problems.
    reported: Vec<&'a Malformed>,
}

impl<'a> ImageErrors<'a> {
    /// Uses the errors of a scanned file.
    pub fn new(file: &'a File) -> ImageErrors<'a> {
        let mut reported: Vec<&Malformed> = file.errors.iter().collect();
        reported.sort_by_cached_key(|error| error.offset);
        ImageErrors { path: &file.path, reported }
    }

    /// Errors for problems in an image.
    pub fn of(
        &self,
        number: usize,
        image: &Image,
        problems: impl IntoIterator<Item = Malformed>,
    ) -> impl Iterator<Item = Error> {
        let problems = problems.into_iter().filter(|problem| !self.is_reported(problem));
        problems.map(move |problem| image_error(self.path, number, image, problem))
    }

    fn is_reported(&self, problem: &Malformed) -> bool {
        let first = self.reported.partition_point(|error| error.offset < problem.offset);
        let mut at_offset = self.reported.iter().skip(first).take_while(|error| error.offset == problem.offset);
        at_offset.any(|&error| error == problem)
    }
}

/// Demangled names of the kernels in some images of a file, by image number. An image that cannot be read completely
/// has no entry if none of its kernels is known.
pub fn kernels_of(scanned: &ScannedFile, images: &BTreeSet<usize>) -> Result<BTreeMap<usize, BTreeSet<String>>> {
    let scan = scanned.open()?;
    let mut found = BTreeMap::new();
    for image in scan.images().filter(|image| images.contains(&image.index())) {
        let inspection = inspect_with(&image, image::kernels);
        let is_read = inspection.not_inspected.is_none() && inspection.problems.is_empty();
        if is_read || !inspection.kernels.is_empty() {
            let kernels = inspection.kernels.into_iter();
            let names = kernels.map(|kernel| kernel.demangled.unwrap_or(kernel.name));
            found.insert(image.index(), names.collect());
        }
    }
    scan.source().input().check_unchanged()?;
    Ok(found)
}

/// Names of the kernels in an image; none if it cannot be read.
pub fn kernel_names(image: &ImageRef<'_>) -> Vec<String> {
    inspect_with(image, image::kernels).kernels.into_iter().map(|kernel| kernel.name).collect()
}
