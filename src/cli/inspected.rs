//! Output of `inspect` that is written while images are inspected.

use std::io;

use super::terminal::TextOutput;
use crate::cli::report;
use crate::cli::report::InspectionDocument;
use crate::format::ImageKind;
use crate::scan::ScannedFile;
use crate::scan::filter::FoundImage;
use crate::scan::inventory::File;

/// A writer of images in their order.
pub trait ImageWriter {
    /// Writes an image with its text.
    fn image(&mut self, found: &FoundImage<'_>, text: &str);

    /// Writes what follows the last image. Returns the first error of any write.
    fn finish(&mut self) -> io::Result<()>;
}

/// Writes a table for each image. LTO-IR has none, and one line for all images of a file.
pub struct TableWriter<'a> {
    out: &'a mut TextOutput,
    scanned: &'a [ScannedFile],
    /// File with LTO-IR, and the number of such images so far.
    lto_ir: Option<(usize, usize)>,
    written: io::Result<()>,
}

impl<'a> TableWriter<'a> {
    /// Creates a writer.
    pub fn new(out: &'a mut TextOutput, scanned: &'a [ScannedFile]) -> Self {
        TableWriter { out, scanned, lto_ir: None, written: Ok(()) }
    }

    fn end_file(&mut self) {
        if let Some((file, count)) = self.lto_ir.take() {
            self.write(&report::lto_ir_line(&self.scanned[file].file().path, count));
        }
    }

    fn write(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = self.out.write(text);
        }
    }
}

impl ImageWriter for TableWriter<'_> {
    fn image(&mut self, found: &FoundImage<'_>, text: &str) {
        if self.lto_ir.is_some_and(|(file, _)| file != found.file) {
            self.end_file();
        }
        if found.nested.image.image_kind == ImageKind::Nvvm {
            self.lto_ir.get_or_insert((found.file, 0)).1 += 1;
        } else {
            self.write(text);
        }
    }

    fn finish(&mut self) -> io::Result<()> {
        self.end_file();
        std::mem::replace(&mut self.written, Ok(()))
    }
}

/// Writes the JSON document. Files are in the order of the inputs.
pub struct DocumentWriter<'a> {
    out: &'a mut TextOutput,
    scanned: &'a [ScannedFile],
    /// Files that were not begun. A scanned file has its index among the scanned files.
    order: Box<dyn Iterator<Item = (&'a File, Option<usize>)> + 'a>,
    /// The scanned file that was begun last and has not ended.
    current: Option<usize>,
    document: InspectionDocument,
    written: io::Result<()>,
}

impl<'a> DocumentWriter<'a> {
    /// Creates a writer of these files. A scanned file has its index in `scanned`.
    pub fn new(
        out: &'a mut TextOutput,
        scanned: &'a [ScannedFile],
        order: impl Iterator<Item = (&'a File, Option<usize>)> + 'a,
    ) -> Self {
        let document = InspectionDocument::new();
        DocumentWriter { out, scanned, order: Box::new(order), current: None, document, written: Ok(()) }
    }

    /// Ends the current file and begins the next, or returns `None` after the last.
    fn next_file(&mut self) -> Option<()> {
        if let Some(current) = self.current.take() {
            self.document.end_file(self.scanned[current].file());
        }
        let (file, index) = self.order.next()?;
        self.document.begin_file(file);
        self.current = index;
        if index.is_none() {
            self.document.end_file(file);
        }
        Some(())
    }

    fn write(&mut self) {
        let text = self.document.take();
        if self.written.is_ok() {
            self.written = self.out.write(&text);
        }
    }
}

impl ImageWriter for DocumentWriter<'_> {
    fn image(&mut self, found: &FoundImage<'_>, text: &str) {
        while self.current != Some(found.file) && self.next_file().is_some() {}
        self.document.image(text);
        self.write();
    }

    fn finish(&mut self) -> io::Result<()> {
        while self.next_file().is_some() {}
        self.document.end();
        self.write();
        std::mem::replace(&mut self.written, Ok(()))
    }
}
