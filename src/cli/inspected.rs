//! Output of `inspect` that is written while images are inspected.

use std::io;
use std::iter::once;

use super::terminal::TextOutput;
use crate::report::{self, InspectionDocument};
use fatbin_core::scan::inventory::File;

/// An inspected image.
pub struct ImageText {
    pub text: String,
    pub is_lto_ir: bool,
}

/// Writes files and their images in order: the JSON document, or a table for each image. LTO-IR has no table, and one
/// line for all images of a file.
pub struct ImageWriter {
    out: TextOutput,
    document: Option<InspectionDocument>,
    /// Number of images of LTO-IR in the file so far.
    lto_ir: usize,
    /// Lines about entries without code, and about files without images, which follow all tables.
    metadata: String,
    without_images: String,
}

impl ImageWriter {
    pub fn new(out: TextOutput, is_json: bool) -> Self {
        let document = if is_json { Some(InspectionDocument::new()) } else { None };
        ImageWriter { out, document, lto_ir: 0, metadata: String::new(), without_images: String::new() }
    }

    pub fn begin(&mut self, file: &File) {
        self.lto_ir = 0;
        if let Some(document) = &mut self.document {
            document.begin_file(file);
        }
    }

    pub fn image(&mut self, image: &ImageText) -> io::Result<()> {
        if let Some(document) = &mut self.document {
            document.image(&image.text);
            return self.out.write(&document.take());
        }
        self.lto_ir += usize::from(image.is_lto_ir);
        if image.is_lto_ir { Ok(()) } else { self.out.write(&image.text) }
    }

    pub fn end(&mut self, file: &File) -> io::Result<()> {
        if let Some(document) = &mut self.document {
            document.end_file(file);
            return self.out.write(&document.take());
        }
        self.metadata += &report::metadata_lines(once(file));
        self.without_images += &report::without_images(once(file));
        if self.lto_ir == 0 { Ok(()) } else { self.out.write(&report::lto_ir_line(&file.path, self.lto_ir)) }
    }

    /// Writes what follows the last file.
    pub fn finish(mut self) -> io::Result<()> {
        self.out.write(&self.metadata)?;
        self.out.write(&self.without_images)?;
        if let Some(document) = &mut self.document {
            document.end();
            self.out.write(&document.take())?;
        }
        self.out.flush()
    }
}
