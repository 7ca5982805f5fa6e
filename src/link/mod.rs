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
mod elf_type;
mod error;
mod files;
mod groups;
mod host_line;
mod images;
mod inputs;
mod programs;
mod registration;
mod relocatable;
mod words;

use std::collections::BTreeSet;
use std::ffi::OsStr;
use std::path::{Path, PathBuf};

pub use device::{DeviceArguments, LlvmArgument, TargetArgument};
pub use error::{LinkError, Result};
pub use host_line::HostLine;
pub use images::{DeviceLink, LinkedImage};
pub use programs::{CommandLine, ProgramPaths};

use crate::bytes::Limits;
use crate::codec::Compression;
use crate::format::ccob;
use crate::io::Access;
use crate::llvm::Release;
use crate::target::OffloadKind;
use files::Files;
use inputs::{HostFile, Inputs};
use registration::{write_fat_binary, write_object};

/// Command line of a host linker, and the properties of the device code in its output.
#[derive(Debug, Clone)]
pub struct LinkOptions {
    /// The host linker, or a compiler that calls it.
    pub linker: PathBuf,
    /// Its arguments.
    pub line: HostLine,
    /// Spelling of the arguments that the linker gets.
    pub spelling: Spelling,
    /// Output of the link.
    pub product: Product,
    /// Triple of the host.
    pub host: String,
    /// Release of LLVM whose runtime registers the images.
    pub release: Release,
    /// Processors for which members of archives are linked even if no other image is for them.
    pub requested: Vec<String>,
    /// Arguments for the device linkers.
    pub device: DeviceArguments,
    /// Places of the device linkers.
    pub programs: ProgramPaths,
    /// True if a fat binary without images is an error; otherwise none is written.
    pub requires_images: bool,
    /// Compression of HIP's bundles.
    pub compression: Option<(Compression, ccob::Version)>,
    /// Maximum number of device linkers that run at the same time.
    pub jobs: usize,
    /// True if files between the steps are kept, in the working directory.
    pub keeps_files: bool,
    /// True if no program is called and nothing is written.
    pub is_dry_run: bool,
    /// Access to inputs.
    pub access: Access,
    /// Limits on reading each input.
    pub limits: Limits,
}

impl LinkOptions {
    /// Returns the output of the host linker.
    fn output(&self) -> &Path {
        self.line.output().map_or(Path::new("a.out"), Path::new)
    }
}

/// Spelling of a host linker's arguments.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Spelling {
    /// That of the user; objects precede the first library.
    AsWritten,
    /// That of clang-linker-wrapper; objects follow every output.
    Respelled,
}

/// Output of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Product {
    /// The output of the host linker.
    Program,
    /// The fat binary that would be registered; the host linker is not called.
    FatBinary,
}

/// A step of a link before it runs, or what it has printed.
#[derive(Debug)]
pub enum Step<'a> {
    /// The images of a target are linked.
    Device(&'a DeviceLink<'a>),
    /// The device linkers of a target have printed this.
    Printed(&'a str),
    /// The images of an offload kind are combined in a file, or inside the object that registers them.
    FatBinary {
        /// The offload kind.
        kind: OffloadKind,
        /// The images, in the order of the file.
        images: &'a [LinkedImage<'a>],
        /// Path of the file, whether or not it is written.
        path: &'a Path,
    },
    /// The program is linked.
    Host(&'a CommandLine),
    /// Sections of the output, an object, are renamed.
    Isolate {
        /// Path of the output.
        output: &'a Path,
        /// Sections of entries.
        entry_sections: &'a BTreeSet<&'static str>,
        /// Hash of the output, which is added to the names.
        hash: u64,
    },
}

/// Links device code and the program that contains it.
pub fn link(options: &LinkOptions, report: &mut dyn FnMut(&Step<'_>)) -> Result<()> {
    let Inputs { files: opened, libraries } = inputs::open(options)?;
    let found = inputs::device_inputs(&opened)?;
    let mut files = Files::create(options)?;
    let linked = images::link(&found, &libraries, options, &mut files, report)?;
    let mut objects = Vec::new();
    let kinds = kinds(&linked);
    if options.product == Product::FatBinary {
        check_fat_binary(&kinds, options)?;
    }
    for &kind in &kinds {
        let mut own: Vec<LinkedImage<'_>> =
            linked.iter().filter(|image| image.kinds.contains(&kind)).cloned().collect();
        // The order of clang-linker-wrapper: descending by the texts.
        own.sort_by(|one, other| (other.triple, other.arch).cmp(&(one.triple, one.arch)));
        match options.product {
            Product::Program => objects.push(write_object(kind, &own, options, &mut files, report)?),
            Product::FatBinary => write_fat_binary(kind, &own, options, &mut files, report)?,
        }
    }
    if options.product == Product::Program {
        let arguments = match options.spelling {
            Spelling::AsWritten => {
                let device_files: Vec<&OsStr> = opened.iter().filter_map(HostFile::device_file).collect();
                options.line.with_objects(&objects, &|input| device_files.contains(&input))
            }
            Spelling::Respelled => options.line.respelled(&objects),
        };
        let command = CommandLine { program: options.linker.clone(), arguments };
        report(&Step::Host(&command));
        if !options.is_dry_run {
            command.run()?;
        }
        if options.line.is_relocatable() {
            let entry_sections = kinds.iter().map(|&kind| options.release.wrapper.entry_section(kind)).collect();
            let output = options.output();
            let hash = relocatable::hash(output, options.access)?;
            report(&Step::Isolate { output, entry_sections: &entry_sections, hash });
            if !options.is_dry_run {
                relocatable::isolate(output, &entry_sections, hash, options.access)?;
            }
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
