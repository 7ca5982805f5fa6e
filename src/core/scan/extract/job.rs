//! The images to extract, and code that reads one.

use std::collections::BTreeMap;
use std::path::PathBuf;

use super::{ExtractError, ExtractOptions};
use crate::base::bytes::total;
use crate::base::codec::Codec;
use crate::base::error::Malformed;
use crate::scan::filter::FoundImage;
use crate::scan::{ImageBytes, ImageReader, ScannedFile};

/// An image to extract, and its file.
#[derive(Debug, Clone)]
pub struct ExtractJob<'a> {
    pub scanned: &'a ScannedFile,
    pub found: FoundImage<'a>,
}

impl<'a> ExtractJob<'a> {
    /// Creates the jobs for `images`. An image with an unknown codec is added to `refused` unless its raw bytes are
    /// requested. Also returns the number of scrambled images in each file, by file index.
    pub fn plan(
        files: &'a [ScannedFile],
        images: Vec<FoundImage<'a>>,
        options: &ExtractOptions,
        refused: &mut Vec<ExtractError>,
    ) -> (Vec<Self>, BTreeMap<usize, usize>) {
        let mut jobs = Vec::new();
        let mut scrambled = BTreeMap::new();
        for found in images {
            let scanned = &files[found.file];
            let image = found.nested.image;
            if image.is_scrambled() && !options.stored {
                *scrambled.entry(found.file).or_default() += 1;
            } else if image.codec == Some(Codec::Opaque) && !options.stored {
                let path = PathBuf::from(scanned.file().path.as_str());
                let offset = image.offset.unwrap_or_default();
                refused.push(ExtractError::UnknownCodec { path, offset });
            } else {
                jobs.push(ExtractJob { scanned, found });
            }
        }
        (jobs, scrambled)
    }

    /// Reads the image as the options request it.
    pub fn read<'s>(&self, reader: &ImageReader<'s>, options: &ExtractOptions) -> Result<ImageBytes<'s>, Malformed>
    where
        'a: 's,
    {
        options.form().read(&reader.image(self.found.nested.clone()))
    }
}

/// Decompressed size of all images, in bytes. The sizes that images state are not trusted, so the sum saturates.
pub fn total_size(jobs: &[ExtractJob<'_>]) -> u64 {
    total(jobs.iter().filter_map(|job| job.found.nested.image.decompressed_size()))
}

/// The jobs of each file.
pub fn by_file<'j, 'a>(jobs: &'j [ExtractJob<'a>]) -> impl Iterator<Item = &'j [ExtractJob<'a>]> {
    jobs.chunk_by(|one, next| one.found.file == next.found.file)
}
