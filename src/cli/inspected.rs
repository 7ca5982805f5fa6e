//! Output of `inspect` that is written while images are inspected.

use std::io;
use std::iter::once;

use super::terminal::TextOutput;
use crate::base::error::Error;
use crate::cli::report::{self, InspectionDocument};
use crate::scan::inventory::File;

/// An inspected image.
pub struct ImageText {
    pub text: String,
    pub is_lto_ir: bool,
    /// Errors in the image.
    pub errors: Vec<Error>,
}

/// A writer of files and their images, in order.
pub trait FileWriter {
    fn begin(&mut self, file: &File);

    fn image(&mut self, image: &ImageText);

    /// Ends a file. Returns the first error of any write.
    fn end(&mut self, file: &File) -> io::Result<()>;

    /// Writes what follows the last file.
    fn finish(&mut self) -> io::Result<()>;
}

/// Standard output, until it cannot be written.
struct Output {
    out: TextOutput,
    written: io::Result<()>,
}

impl Output {
    fn write(&mut self, text: &str) {
        if self.written.is_ok() {
            self.written = self.out.write(text);
        }
    }

    fn result(&mut self) -> io::Result<()> {
        std::mem::replace(&mut self.written, Ok(()))
    }

    fn finish(&mut self) -> io::Result<()> {
        self.result().and_then(|()| self.out.flush())
    }
}

/// Writes a table for each image. LTO-IR has none, and one line for all images of a file.
pub struct TableWriter {
    output: Output,
    /// Number of images of LTO-IR in the file so far.
    lto_ir: usize,
    /// Lines about entries without code, and about files without images, which follow all tables.
    metadata: String,
    without_images: String,
}

impl TableWriter {
    pub fn new(out: TextOutput) -> Self {
        let output = Output { out, written: Ok(()) };
        TableWriter { output, lto_ir: 0, metadata: String::new(), without_images: String::new() }
    }
}

impl FileWriter for TableWriter {
    fn begin(&mut self, _file: &File) {
        self.lto_ir = 0;
    }

    fn image(&mut self, image: &ImageText) {
        if image.is_lto_ir {
            self.lto_ir += 1;
        } else {
            self.output.write(&image.text);
        }
    }

    fn end(&mut self, file: &File) -> io::Result<()> {
        if self.lto_ir > 0 {
            self.output.write(&report::lto_ir_line(&file.path, self.lto_ir));
        }
        self.metadata += &report::metadata_lines(once(file));
        self.without_images += &report::without_images(once(file));
        self.output.result()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.output.write(&self.metadata);
        self.output.write(&self.without_images);
        self.output.finish()
    }
}

/// Writes the JSON document.
pub struct DocumentWriter {
    output: Output,
    document: InspectionDocument,
}

impl DocumentWriter {
    pub fn new(out: TextOutput) -> Self {
        DocumentWriter { output: Output { out, written: Ok(()) }, document: InspectionDocument::new() }
    }
}

impl FileWriter for DocumentWriter {
    fn begin(&mut self, file: &File) {
        self.document.begin_file(file);
    }

    fn image(&mut self, image: &ImageText) {
        self.document.image(&image.text);
        self.output.write(&self.document.take());
    }

    fn end(&mut self, file: &File) -> io::Result<()> {
        self.document.end_file(file);
        self.output.write(&self.document.take());
        self.output.result()
    }

    fn finish(&mut self) -> io::Result<()> {
        self.document.end();
        self.output.write(&self.document.take());
        self.output.finish()
    }
}
