//! Extraction: for each `--image` the binaries that match it, into one file, into an archive, or each into a file of its own
//! with a generated name. Without `--image` nothing is extracted, and an `--image` that matches nothing is not an error.

use std::path::Path;

use super::image_argument::ImageArgument;
use super::{Result, create, format_error, open, stem};
use crate::archive;
use crate::cli::dropin::diagnostics::Diagnostics;
use crate::error::Error;
use crate::format::offload_binary::{OffloadBinaryEntry, image_kind_name};
use crate::format::{DeviceImage, ImageKind};
use crate::io::{Output, Sink};
use crate::llvm::KindNumbers;
use crate::scan::{self, Archives, InputSlice, OpenOptions, Source};

/// The tool's name for standard input.
const STANDARD_INPUT: &str = "<stdin>";

/// An entry of a binary, and the file that contains it.
#[derive(Clone, Copy)]
struct Found<'a> {
    part: &'a InputSlice,
    entry: &'a OffloadBinaryEntry<'a>,
}

/// Extracts the binaries in `input` that match `images`.
pub fn extract(
    input: &Path,
    images: &[ImageArgument],
    kinds: KindNumbers,
    into_archive: bool,
    diagnostics: Diagnostics,
) -> Result<()> {
    let parts = parts_with_binaries(input)?;
    let mut entries = Vec::new();
    for part in &parts {
        entries.extend(binaries(part)?.into_iter().map(|entry| (part, entry)));
    }
    for image in images {
        let found = entries.iter().map(|(part, entry)| Found { part, entry });
        let found: Vec<Found> = found.filter(|found| matches(found.entry, image, kinds)).collect();
        let Some(last) = found.last() else { continue };
        match image.file() {
            Some(file) if into_archive => library(&found, input, Path::new(file))?,
            None if into_archive => return Err("Image must have a 'file' argument.".to_owned()),
            Some(file) => {
                if found.len() > 1 {
                    diagnostics.warning(&format!("Multiple inputs match to a single file, '{file}'"));
                }
                let path = Path::new(file);
                let output = if file == "-" { Output::create(path) } else { create(path) };
                write(*last, output)?;
            }
            None => {
                for (index, found) in found.iter().enumerate() {
                    write(*found, create(Path::new(&generated_name(input, index, found.entry))))?;
                }
            }
        }
    }
    Ok(())
}

/// Returns the input, or the members of an archive, as far as they contain binaries: an archive may have more members than
/// files can be open at once. The first part that cannot be read is an error.
fn parts_with_binaries(input: &Path) -> Result<Vec<InputSlice>> {
    let opened = open(input).map_err(|error| format!("'{}': {}", input.display(), format_error(&error)))?;
    let mut parts = Ok(Vec::new());
    // The tool supports static libraries and no other archives.
    let options =
        OpenOptions { archives: Archives::Libraries, limits: crate::bytes::Limits::default(), access: opened.access() };
    scan::expand_input(opened, input, options, &mut |part| {
        let Ok(known) = &mut parts else { return };
        let part = part.map_err(|error| member_error(&error, input));
        match part.and_then(|part| Ok((!binaries(&part)?.is_empty()).then_some(part))) {
            Ok(part) => known.extend(part),
            Err(error) => parts = Err(error),
        }
    });
    parts
}

fn binaries(part: &InputSlice) -> Result<Vec<OffloadBinaryEntry<'_>>> {
    if DeviceImage::identify(part.view()).image_kind == ImageKind::Bitcode {
        return Err(Error::Bitcode { path: (&part.path).into() }.to_string());
    }
    scan::offload_binaries(part.view()).map_err(|error| format!("{}: {error}", part.path))
}

/// Returns the message for an error in a part of an archive. A missing member of a thin archive is named as in the archive.
fn member_error(error: &Error, archive: &Path) -> String {
    match error {
        Error::Io { path, .. } | Error::NotAFile { path, .. } => {
            let name = archive.parent().and_then(|directory| path.strip_prefix(directory).ok()).unwrap_or(path);
            format!("'{}': {}", name.display(), format_error(error))
        }
        other => other.to_string(),
    }
}

fn matches(entry: &OffloadBinaryEntry, image: &ImageArgument, kinds: KindNumbers) -> bool {
    image.offload_kind(kinds).is_none_or(|kind| kind == entry.offload_kind)
        && image.strings().all(|(key, value)| entry.string(key).unwrap_or_default() == value)
}

/// Returns the file name `<stem>-<triple>-<arch>.<index>.<kind>`. The binary may be untrusted, so separators in its text are
/// replaced.
fn generated_name(input: &Path, index: usize, entry: &OffloadBinaryEntry) -> String {
    let input = input.file_name().unwrap_or_default().to_string_lossy();
    let text = |key: &str| entry.string(key).unwrap_or_default().replace(['/', '\\'], "_");
    let kind = image_kind_name(entry.image_kind);
    format!("{}-{}-{}.{index}.{kind}", stem(&input), text("triple"), text("arch"))
}

fn write(found: Found, output: Result<Output, Error>) -> Result<()> {
    let write = |mut output: Output| {
        let mut sink = Sink::new([found.part.input()]);
        sink.push(found.entry.image.data());
        sink.write_to(&mut output)?;
        output.commit([found.part.input()])
    };
    output.and_then(write).map_err(|error| format_error(&error))
}

/// Writes a static library whose members have the name of the file that contains them.
fn library(found: &[Found], input: &Path, path: &Path) -> Result<()> {
    let members = found.iter().map(|found| (member_name(found.part, input), found.entry.image.data()));
    let write = |mut output: Output| {
        let mut sink = Sink::new(found.iter().map(|found| found.part.input()));
        archive::write(members, &mut sink).map_err(Error::io(path, "write"))?;
        sink.write_to(&mut output)?;
        output.commit(found.iter().map(|found| found.part.input()))
    };
    create(path).and_then(write).map_err(|error| format_error(&error))
}

fn member_name(part: &InputSlice, input: &Path) -> String {
    match &part.member {
        Some(member) => member.clone(),
        None if input == Path::new("-") => STANDARD_INPUT.to_owned(),
        None => input.to_string_lossy().into_owned(),
    }
}
