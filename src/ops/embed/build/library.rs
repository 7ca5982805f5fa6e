//! The static library with an object.

use std::path::Path;

use fatbin_core::base::archive::{self, LibraryFormat};
use fatbin_core::base::error::{Error, Result};
use fatbin_core::base::io::{Access, FileSet, Input, Output, OutputKind, OutputName, Sink};
use fatbin_core::host::{Host, ObjectFormat};

/// Writes a library in a directory, with the object that was written to a file.
pub fn write_library(object: &Path, host: Host, directory: &Path, library: &OutputName) -> Result<()> {
    let input = Input::open_file(object.to_owned(), Access::read())?;
    let name = object.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let mut sink = Sink::new([&input]);
    let members = [(name, input.view().data())].into_iter();
    let path = directory.join(library.as_path());
    archive::write_as(format(host), members, &mut sink).map_err(Error::io(&path, "write"))?;
    let place = FileSet::of_inputs([&input]).output_in(directory, library, OutputKind::Code)?;
    let mut output = Output::create(place)?;
    sink.write_to(&mut output)?;
    output.commit([&input])
}

/// rustc writes the same format for the host.
fn format(host: Host) -> LibraryFormat {
    match host.format() {
        ObjectFormat::MachO => LibraryFormat::Darwin,
        ObjectFormat::Coff if host.has_microsoft_names() => LibraryFormat::Coff,
        ObjectFormat::Elf | ObjectFormat::Coff => LibraryFormat::Gnu,
    }
}
