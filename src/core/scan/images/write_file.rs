//! Writing an image to a file.

use std::path::Path;

use super::ImageRef;
use crate::base::error::Result;
use crate::base::io::{FileSet, Output, OutputKind};

impl ImageRef<'_> {
    /// Writes the bytes to a file. An existing file is replaced when the new one is complete.
    pub fn write_file(&self, path: &Path) -> Result<()> {
        Output::of_bytes(FileSet::new().output(path, OutputKind::Code)?, &self.bytes()?)
    }
}
