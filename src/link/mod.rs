//! Linking of device code: from the inputs of a host linker to a program that registers its device images.
//!
//! ```text
//! host linker's command line
//!    |  inputs: files and libraries, members of archives -> device images
//!    v
//! groups: images of one target
//!    |  images: a device link for each, by the linker of the target; nothing where the image is linked already
//!    v
//! registration: one object for each offload kind, or its fat binary alone
//!    |  host linker, with these objects
//!    v
//! program, library or object
//! ```

mod device;
mod device_symbols;
mod elf_type;
mod error;
mod event;
mod extraction;
mod files;
mod groups;
mod host_line;
mod images;
mod inputs;
mod linked_image;
mod missing_kernels;
mod options;
mod override_image;
mod programs;
mod registration;
mod relocatable;
mod report;
mod unused_archives;
mod words;

use std::ffi::OsStr;
use std::path::PathBuf;

pub use device::{DeviceArguments, LlvmArgument, TargetArgument};
pub use error::{LinkError, Result};
pub use event::LinkEvent;
pub use host_line::{HostLine, HostWord, Meaning};
pub use inputs::find_library;
pub use linked_image::{ExtractedImage, LinkedImage};
pub use missing_kernels::MissingKernel;
pub use options::{EntryCheck, LinkOptions, Product, Spelling};
pub use programs::{CommandLine, ProgramPaths};
pub use report::{LinkReport, LinkedTarget};
pub use unused_archives::UnusedArchive;
pub use words::joined;

use crate::embed::wrap::WrapError;
use crate::host::{Host, ObjectFormat};
use crate::target::OffloadKind;
use files::Files;
use images::LinkedImages;
use inputs::{HostFile, Inputs};
use override_image::OverrideImage;
use registration::{write_fat_binary, write_object};

/// Links device code and the program that contains it.
pub fn link(options: &LinkOptions, report: &mut dyn FnMut(&LinkEvent<'_>)) -> Result<LinkReport> {
    check_relocatable(options)?;
    let Inputs { files: opened, libraries } = inputs::open(options)?;
    let mut files = Files::create(options)?;
    let overriding = options.override_image.as_ref();
    let overriding = overriding.map(|(kind, path)| override_image::open(*kind, path, options)).transpose()?;
    let found = if overriding.is_some() { Vec::new() } else { inputs::device_inputs(&opened)? };
    let LinkedImages { mut images, unused_archives } = images::link(&found, &libraries, options, &mut files, report)?;
    images.extend(overriding.as_ref().map(OverrideImage::linked));
    let missing_kernels = missing_kernels(&opened, &images, options, report)?;
    let kinds = kinds(&images);
    if options.product == Product::FatBinary {
        check_fat_binary(&kinds, options)?;
    }
    let mut objects = Vec::new();
    for &kind in &kinds {
        let mut own: Vec<LinkedImage<'_>> =
            images.iter().filter(|image| image.kinds.contains(&kind)).cloned().collect();
        // The order of clang-linker-wrapper: descending by the texts.
        own.sort_by(|one, other| (other.triple, other.arch).cmp(&(one.triple, one.arch)));
        match options.product {
            Product::Program => objects.push(write_object(kind, &own, options, &mut files, report)?),
            Product::FatBinary => write_fat_binary(kind, &own, options, &mut files, report)?,
        }
    }
    if options.product == Product::Program {
        link_program(&opened, &kinds, &objects, options, report)?;
    }
    let targets = images.iter().map(LinkedTarget::new).collect();
    Ok(LinkReport { output: options.output().to_owned(), targets, unused_archives, missing_kernels })
}

/// Checks that an object as the output is supported on the host.
fn check_relocatable(options: &LinkOptions) -> Result<()> {
    if !options.line.is_relocatable() || options.product == Product::FatBinary {
        return Ok(());
    }
    match Host::from_triple(&options.host).map_err(WrapError::from)?.format() {
        ObjectFormat::Elf => Ok(()),
        format => Err(LinkError::Relocatable { host: options.host.clone(), format }),
    }
}

/// Returns the kernels that host objects use and no image has, after reporting them.
fn missing_kernels(
    opened: &[HostFile],
    images: &[LinkedImage<'_>],
    options: &LinkOptions,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<Vec<MissingKernel>> {
    // A fat binary is for objects that are linked later.
    if options.entry_check == EntryCheck::Off || options.product == Product::FatBinary {
        return Ok(Vec::new());
    }
    let missing = missing_kernels::find(opened, images)?;
    if let (EntryCheck::Deny, [MissingKernel { path, kind, name }, others @ ..]) = (options.entry_check, &missing[..]) {
        let (path, name, kind) = (path.clone(), name.clone(), kind.name());
        return Err(LinkError::MissingKernels { path, name, kind, others: others.len() });
    }
    for kernel in &missing {
        report(&LinkEvent::MissingKernel(kernel));
    }
    Ok(missing)
}

/// Runs the host linker with the objects that register images.
fn link_program(
    opened: &[HostFile],
    kinds: &[OffloadKind],
    objects: &[PathBuf],
    options: &LinkOptions,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<()> {
    let arguments = match options.spelling {
        Spelling::AsWritten => {
            let device_files: Vec<&OsStr> = opened.iter().filter_map(HostFile::device_file).collect();
            options.line.with_objects(objects, &|input| device_files.contains(&input))
        }
        Spelling::Respelled => options.line.respelled(objects),
    };
    let command = CommandLine { program: options.linker.clone(), arguments };
    report(&LinkEvent::Host(&command));
    if !options.is_dry_run && options.reserves_output {
        let (printed, ended) = command.run_and_capture()?;
        report(&LinkEvent::Printed(&printed));
        ended?;
    } else if !options.is_dry_run {
        command.run()?;
    }
    if options.line.is_relocatable() {
        let entry_sections = kinds.iter().map(|&kind| options.release.wrapper.entry_section(kind)).collect();
        let output = options.output();
        // A dry run has no object.
        let hash = relocatable::hash(Some(output).filter(|_| !options.is_dry_run), options.access)?;
        report(&LinkEvent::Isolate { output, entry_sections: &entry_sections, hash });
        if !options.is_dry_run {
            relocatable::isolate(output, &entry_sections, hash, options.access)?;
        }
    }
    Ok(())
}

/// Checks that the images are for one fat binary. clang-linker-wrapper writes one after another to the same file.
fn check_fat_binary(kinds: &[OffloadKind], options: &LinkOptions) -> Result<()> {
    match kinds {
        [] if options.requires_images => Err(LinkError::NoImages),
        [] | [_] => Ok(()),
        [one, other, ..] => Err(LinkError::SeveralKinds { one: one.name(), other: other.name() }),
    }
}

/// Returns the offload kinds of the images, in the order in which they appear.
fn kinds(images: &[LinkedImage<'_>]) -> Vec<OffloadKind> {
    let mut kinds = Vec::new();
    for kind in images.iter().flat_map(|image| &image.kinds) {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    kinds
}
