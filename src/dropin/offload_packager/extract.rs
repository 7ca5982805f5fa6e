//! Extraction: for each `--image`, the matching binaries are written to one file, to an archive, or each to a separate
//! file with a generated name. Without `--image`, nothing is extracted; since LLVM 23, everything is. An `--image` that
//! matches nothing is not an error.

use std::ffi::OsStr;
use std::path::Path;

use object::read::{File, FileKind, Object, ObjectKind};

use super::image_argument::{ImageArgument, MEMBER};
use super::{Result, create, stem};
use crate::diagnostics::{Diagnostics, print};
use crate::files::{create_file, create_named, open, system_message};
use fatbin_core::base::archive;
use fatbin_core::base::bytes::{MAX_NESTING, ObjectBytes, View};
use fatbin_core::base::error::{Cause, Error, Malformed};
use fatbin_core::base::io::{FileSet, Output, OutputName, Sink};
use fatbin_core::format::bitcode::embedded::OFFLOADING;
use fatbin_core::format::offload_binary::{MAGIC, OffloadBinary, OffloadBinaryEntry, Version, image_kind_name};
use fatbin_core::scan::{self, InputSlice, OpenOptions, Source};
use fatbin_ops::embed::llvm::Release;

/// The tool's name for standard input.
const STANDARD_INPUT: &str = "<stdin>";

/// Maximum depth of binaries in binaries.
const MAX_DEPTH: usize = MAX_NESTING;

/// Extraction from a file.
pub struct Extraction<'a> {
    /// The file.
    pub input: &'a Path,
    /// Requested images.
    pub images: &'a [ImageArgument],
    /// Release of the tool.
    pub release: Release,
    /// Newest version of binaries that is read.
    pub newest: Version,
    /// True if the images are written to archives.
    pub into_archive: bool,
    pub diagnostics: Diagnostics<'a>,
}

/// An entry of a binary, and the file that contains it.
#[derive(Clone, Copy)]
struct Found<'a> {
    part: &'a InputSlice,
    entry: &'a OffloadBinaryEntry<'a>,
    /// Number of the entry in the file.
    place: usize,
}

impl Extraction<'_> {
    /// Extracts the entries that match the requested images. Without requested images, LLVM 23 and later extract all.
    pub fn run(&self) -> Result<()> {
        let parts = self.parts_with_binaries()?;
        let mut binaries = Vec::new();
        for part in &parts {
            binaries.extend(self.binaries(part)?.into_iter().map(|binary| (part, binary)));
        }
        let mut buffers = Vec::new();
        for (part, binary) in &binaries {
            buffers.push(binary.decompress().map_err(|error| format!("{}: {error}", part.path))?);
        }
        let mut entries = Vec::new();
        for ((part, binary), buffer) in binaries.iter().zip(&buffers) {
            let own = binary.entries_from(buffer.as_deref()).map_err(|error| format!("{}: {error}", part.path))?;
            entries.extend(own.into_iter().map(|entry| (*part, entry)));
        }
        let all: Vec<Found> =
            entries.iter().enumerate().map(|(place, (part, entry))| Found { part, entry, place }).collect();
        if self.images.is_empty() && self.release.packager.extracts_all {
            return self.generate_files(&all);
        }
        for image in self.images {
            let found: Vec<Found> = all.iter().copied().filter(|found| self.matches(found, image)).collect();
            self.extract(image, &found)?;
        }
        Ok(())
    }

    /// Extracts the entries for a requested image. Images that match nothing are not an error.
    fn extract(&self, image: &ImageArgument, found: &[Found<'_>]) -> Result<()> {
        let Some(last) = found.last() else { return Ok(()) };
        match image.file() {
            Some(file) if self.into_archive => library(found, self.input, Path::new(file)),
            None if self.into_archive => Err("Image must have a 'file' argument.".to_owned()),
            Some(file) => {
                if found.len() > 1 {
                    self.diagnostics.warning(&format!("Multiple inputs match to a single file, '{file}'"));
                }
                write(*last, create(Path::new(file)))
            }
            None => self.generate_files(found),
        }
    }

    /// Extracts each entry to a file with a generated name.
    fn generate_files(&self, found: &[Found<'_>]) -> Result<()> {
        let mut index = 0;
        found.iter().try_for_each(|found| self.generate_file(*found, &mut index, 0))
    }

    /// Extracts an entry to a file with a generated name. Releases since LLVM 23 print the name. If the entry contains
    /// a binary, they extract the entries of that binary instead.
    fn generate_file(&self, found: Found<'_>, index: &mut usize, depth: usize) -> Result<()> {
        let extracts_all = self.release.packager.extracts_all;
        if !extracts_all || !found.entry.image.starts_with(&MAGIC) {
            let number = if self.release.packager.numbers_all { found.place } else { *index };
            let name = self.generated_name(number, found.entry);
            *index += 1;
            write(found, create_named(&FileSet::new(), Path::new(""), &name))?;
            if extracts_all {
                print(&format!("Extracted: {name}\n"), 0);
            }
            return Ok(());
        }
        let Found { part, place, .. } = found;
        let image = found.entry.image;
        let in_part = |error: Malformed| format!("{}: {error}", part.path);
        if depth == MAX_DEPTH {
            let cause = Cause::NestedTooDeep { limit: MAX_DEPTH };
            return Err(in_part(image.malformed("container in containers", 0, cause)));
        }
        for binary in scan::offload_binaries(image, self.newest).map_err(in_part)? {
            let buffer = binary.decompress().map_err(in_part)?;
            for entry in binary.entries_from(buffer.as_deref()).map_err(in_part)? {
                self.generate_file(Found { part, entry: &entry, place }, index, depth + 1)?;
            }
        }
        Ok(())
    }

    /// Parts that contain binaries: the input, or members of an archive. An archive may have more members than files
    /// can be open at once. The first part that cannot be read is an error.
    fn parts_with_binaries(&self) -> Result<Vec<InputSlice>> {
        let input = self.input;
        let opened = open(input).map_err(|error| format!("'{}': {}", input.display(), system_message(&error)))?;
        let mut parts = Ok(Vec::new());
        // The tool supports static libraries and no other archives.
        let limits = fatbin_core::base::bytes::Limits::default();
        let options = OpenOptions::libraries(opened.access()).with_limits(limits);
        scan::expand_input(opened, input, options, &mut |part| {
            let Ok(known) = &mut parts else { return };
            let part = part.and_then(|part| part.decode_sections(&|name| name == OFFLOADING));
            let part = part.map_err(|error| member_error(&error, input));
            match part.and_then(|part| Ok((!self.binaries(&part)?.is_empty()).then_some(part))) {
                Ok(part) => known.extend(part),
                Err(error) => parts = Err(error),
            }
        });
        parts
    }

    fn binaries<'part>(&self, part: &'part InputSlice) -> Result<Vec<OffloadBinary<'part>>> {
        if self.release.packager.extracts_all && is_shared_object(part.view()) {
            return Ok(Vec::new());
        }
        scan::offload_binaries(part.view(), self.newest).map_err(|error| format!("{}: {error}", part.path))
    }

    fn matches(&self, found: &Found<'_>, image: &ImageArgument) -> bool {
        let entry = found.entry;
        let is_match = |(key, value): (&str, &str)| match key {
            MEMBER if self.release.packager.has_members => {
                Path::new(&member_name(found.part, self.input)).file_name() == Some(OsStr::new(value))
            }
            _ => entry.string(key).unwrap_or_default() == value,
        };
        image.offload_kind(self.release.kinds).is_none_or(|kind| kind == entry.offload_kind)
            && image.strings().all(is_match)
    }

    /// File name `<stem>-<triple>-<arch>.<index>.<kind>`. Since LLVM 23, an entry without an architecture has no
    /// `-<arch>`. The binary may be untrusted, so its text does not form paths.
    fn generated_name(&self, index: usize, entry: &OffloadBinaryEntry<'_>) -> OutputName {
        let input = self.input.file_name().unwrap_or_default().to_string_lossy();
        let text = |key: &str| entry.string(key).unwrap_or_default().replace('\\', "_");
        let arch = match text("arch") {
            none if none.is_empty() && self.release.packager.extracts_all => none,
            arch => format!("-{arch}"),
        };
        let kind = image_kind_name(entry.image_kind);
        OutputName::of(format!("{}-{}{arch}.{index}.{kind}", stem(&input), text("triple")))
    }
}

/// The images of an ELF file for the dynamic linker are linked already.
fn is_shared_object(view: View<'_>) -> bool {
    let is_elf = matches!(FileKind::parse(view.data()), Ok(FileKind::Elf32 | FileKind::Elf64));
    is_elf && File::parse(ObjectBytes(view)).is_ok_and(|file| file.kind() == ObjectKind::Dynamic)
}

/// Message for an error in a part of an archive. A missing member of a thin archive is named as in the archive.
fn member_error(error: &Error, archive: &Path) -> String {
    match error {
        Error::Io { path, .. } | Error::NotAFile { path, .. } => {
            let name = archive.parent().and_then(|directory| path.strip_prefix(directory).ok()).unwrap_or(path);
            format!("'{}': {}", name.display(), system_message(error))
        }
        other => other.to_string(),
    }
}

fn write(found: Found, output: Result<Output, Error>) -> Result<()> {
    let written = output.and_then(|output| output.commit_bytes(found.part.input(), found.entry.image.data()));
    written.map_err(|error| system_message(&error))
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
    create_file(&FileSet::new(), path).and_then(write).map_err(|error| system_message(&error))
}

fn member_name(part: &InputSlice, input: &Path) -> String {
    match part.path.member() {
        Some(member) => member.to_owned(),
        None if input == Path::new("-") => STANDARD_INPUT.to_owned(),
        None => input.to_string_lossy().into_owned(),
    }
}
