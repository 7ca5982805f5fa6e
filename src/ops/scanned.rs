//! A file between being listed and having its images taken out, looked into or judged.

use crate::error::Result;
use crate::inventory::File;
use crate::scan::{self, ClosedPart, LookAtNumber};

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
