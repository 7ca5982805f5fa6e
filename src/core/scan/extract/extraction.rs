//! `extract` for programs that use the library: without progress.

use std::path::PathBuf;

use super::{Destination, ExtractError, ExtractObserver, ExtractOptions, ExtractResult, ExtractedFile};
use crate::base::io::FileSet;
use crate::scan::ScannedFile;

/// Result of [`extract`].
#[derive(Debug)]
#[cfg_attr(not(feature = "testing"), non_exhaustive)]
pub struct Extraction {
    /// Files that were written.
    pub paths: Vec<PathBuf>,
    /// Images that were not extracted, or that the filter may accept but cannot decide on.
    pub errors: Vec<ExtractError>,
}

/// Writes the device images that the filter accepts to files. If an image cannot be read, the others are still
/// extracted. If an output cannot be written, extraction stops.
pub fn extract(files: &[ScannedFile], options: &ExtractOptions) -> Result<Extraction, ExtractError> {
    let directory = match &options.destination {
        Destination::Directory(directory) | Destination::Libraries(directory) => directory.clone(),
        Destination::File(_) => PathBuf::new(),
    };
    let mut written = Written { directory, paths: Vec::new() };
    let result = super::extract(files, options, &FileSet::new(), &mut written)?;
    let ExtractResult { images, refused, skipped, unknown } = result;
    if let Destination::File(path) = &options.destination
        && images > refused.len()
    {
        written.paths.push(path.clone());
    }
    let unknown = unknown.into_iter().map(ExtractError::from);
    let errors = refused.into_iter().chain(skipped).chain(unknown).collect();
    Ok(Extraction { paths: written.paths, errors })
}

/// Collects the paths of the outputs.
struct Written {
    directory: PathBuf,
    paths: Vec<PathBuf>,
}

impl ExtractObserver for Written {
    fn start(&mut self, _size: u64) {}

    fn image(&mut self, extracted: &ExtractedFile<'_>) {
        self.paths.push(self.directory.join(extracted.name));
    }

    fn library(&mut self, name: &str) {
        self.paths.push(self.directory.join(name));
    }
}
