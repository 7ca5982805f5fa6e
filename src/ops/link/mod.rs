//! Linking of device code: from the inputs of a host linker to a program that registers its device images.
//!
//! ```text
//! host linker's command line
//!    |  program_line: the words of the linker, in every form that its program accepts
//!    |  inputs: files and libraries, members of archives
//!    |  device_code: device images, including images of the old offload driver (bundled)
//!    v
//! groups: images of one target
//!    |  images: a device link for each, by the linker of the target; nothing where the image is linked already
//!    v
//! registration: one object for each offload kind, or its fat binary alone
//!    |  program: host linker, with these objects; trace: the files that it has read
//!    v
//! program, library or object
//!    |  guard: kernels of its entries in its images; account: state of each input
//!    v
//! result, or an error
//! ```

mod account;
mod bundled;
mod device;
mod device_code;
mod device_libraries;
mod device_symbols;
mod directives;
pub mod doctor;
mod elf_type;
mod error;
mod event;
mod extraction;
mod files;
mod groups;
mod guard;
mod host_entries;
mod host_line;
mod images;
mod inputs;
mod linked_entries;
mod linked_image;
mod missing_kernels;
mod options;
mod override_image;
mod program;
mod program_line;
mod program_names;
mod programs;
mod refusal;
mod registration;
mod relocatable;
mod report;
pub mod response_files;
mod taken;
mod trace;
mod unused_archives;
mod words;

use std::path::PathBuf;

pub use account::AccountedInput;
pub use device::{DeviceArguments, LlvmArgument, TargetArgument};
pub use error::{LinkError, Result};
pub use event::LinkEvent;
pub use host_line::{HostLine, HostWord, Meaning};
pub use inputs::find_library;
pub use linked_image::{ExtractedImage, LinkedImage};
pub use missing_kernels::MissingKernel;
pub use options::{EntryCheck, LinkOptions, Product, Spelling};
pub use programs::{CommandLine, ProgramPaths};
pub use refusal::RefusedInput;
pub use report::{LinkReport, LinkedTarget};
pub use response_files::ResponseFileError;
pub use unused_archives::UnusedArchive;
pub use words::joined;

use crate::embed::wrap::WrapError;
use device_code::DeviceCode;
use fatbin_core::base::error::Error;
use fatbin_core::host::{Host, ObjectFormat};
use fatbin_core::target::OffloadKind;
use files::Files;
use host_entries::HostEntries;
use images::LinkedImages;
use inputs::{HostFile, Inputs};
use override_image::OverrideImage;
use program::ProgramLink;
use registration::{HostCode, write_fat_binary, write_object};
use trace::TracedFiles;

/// Links device code and the program that contains it.
pub fn link(options: &LinkOptions, report: &mut dyn FnMut(&LinkEvent<'_>)) -> Result<LinkReport> {
    if options.is_unchanged() {
        return run_unchanged(options, report);
    }
    check_relocatable(options)?;
    let found = match attempt(options, &[], report)? {
        Attempt::Linked(linked) => return Ok(*linked),
        Attempt::Found(found) => found,
    };
    report(&LinkEvent::Found(&found));
    match attempt(options, &found, report)? {
        Attempt::Linked(linked) => Ok(*linked),
        Attempt::Found(found) => {
            remove_output(options)?;
            Err(LinkError::FoundByLinker { path: found.into_iter().next().unwrap_or_default() })
        }
    }
}

/// Runs a program that links nothing. Device code of a library stays in its objects.
fn run_unchanged(options: &LinkOptions, report: &mut dyn FnMut(&LinkEvent<'_>)) -> Result<LinkReport> {
    let arguments = options.line.words.iter().flat_map(|word| word.written.iter().cloned()).collect();
    let command = CommandLine { program: options.linker.clone(), arguments };
    report(&LinkEvent::Host(&command));
    if !options.is_dry_run {
        let (printed, ended) = command.run_and_capture()?;
        report(&LinkEvent::HostPrinted(&printed));
        ended?;
    }
    Ok(LinkReport::default())
}

/// Result of a link.
enum Attempt {
    /// The program is linked.
    Linked(Box<LinkReport>),
    /// The host linker has found these files with device code by itself.
    Found(Vec<PathBuf>),
}

/// Links, with the device code of `further` files that the host linker finds by itself.
fn attempt(options: &LinkOptions, further: &[PathBuf], report: &mut dyn FnMut(&LinkEvent<'_>)) -> Result<Attempt> {
    let Inputs { files: opened, libraries, .. } = inputs::open(options, further)?;
    let mut files = Files::create(options)?;
    let overriding = options.override_image.as_ref();
    let overriding = overriding.map(|(kind, path)| override_image::open(*kind, path, options)).transpose()?;
    let code = if overriding.is_some() { DeviceCode::default() } else { device_code::find(&opened, options)? };
    check_refused(&code.refused, options, report)?;
    let libraries = inputs::device_libraries(&libraries, &code.inputs, options.spelling);
    let LinkedImages { mut images, unused_archives, used } =
        images::link(&code.inputs, &libraries, options, &mut files, report)?;
    images.extend(overriding.as_ref().map(OverrideImage::linked));
    let account = |traced: Option<&TracedFiles>| account::account(&opened, &code, &used, traced);
    let mut missing_kernels = missing_kernels(&opened, &images, options)?;
    report_missing(&missing_kernels, &account, options, report)?;
    let kinds = kinds(&images);
    let entries = host_entries(&kinds, &opened, &code, options, report)?;
    let host = HostCode { entries: &entries, old_hip: &code.old_hip };
    let objects = write_objects(&kinds, &images, &host, options, &mut files, report)?;
    let mut traced = None;
    if options.product == Product::Program {
        let program = ProgramLink { options, opened: &opened, kinds: &kinds, entries: &entries, objects: &objects };
        traced = program.run(&mut files, report)?;
        let found = guard::found_by_linker(traced.as_ref(), &opened, &objects, options)?;
        match options.spelling {
            _ if found.is_empty() => {}
            Spelling::AsWritten => return Ok(Attempt::Found(found)),
            // The tool does not link what only the linker finds.
            Spelling::Respelled => report(&LinkEvent::Found(&found)),
        }
        if !options.is_dry_run && options.entry_check != EntryCheck::Off {
            let linked = Linked { opened: &opened, code: &code, images: &images, kinds: &kinds, entries: &entries };
            let account = || account(traced.as_ref());
            let further = match linked.check(&missing_kernels, &account, options, report) {
                Ok(further) => further,
                Err(error) => {
                    remove_output(options)?;
                    return Err(error);
                }
            };
            missing_kernels.extend(further);
        }
    }
    let inputs = account(traced.as_ref())?;
    report(&LinkEvent::Account(&inputs));
    let targets = images.iter().map(LinkedTarget::new).collect();
    let output = Some(options.output().to_owned());
    Ok(Attempt::Linked(Box::new(LinkReport { output, targets, unused_archives, missing_kernels, inputs })))
}

/// Writes the objects that register the images of each kind, or the fat binary alone.
fn write_objects(
    kinds: &[OffloadKind],
    images: &[LinkedImage<'_>],
    host: &HostCode<'_>,
    options: &LinkOptions,
    files: &mut Files,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<Vec<PathBuf>> {
    if options.product == Product::FatBinary {
        check_fat_binary(kinds, options)?;
    }
    let mut objects = Vec::new();
    for &kind in kinds {
        let mut own: Vec<LinkedImage<'_>> =
            images.iter().filter(|image| image.kinds.contains(&kind)).cloned().collect();
        // The order of clang-linker-wrapper: descending by the texts.
        own.sort_by(|one, other| (other.triple, other.arch).cmp(&(one.triple, one.arch)));
        match options.product {
            Product::Program => objects.push(write_object(kind, &own, host, options, files, report)?),
            Product::FatBinary => write_fat_binary(kind, &own, options, files, report)?,
        }
    }
    Ok(objects)
}

/// What was linked into the output.
#[derive(Debug, Clone, Copy)]
struct Linked<'a> {
    opened: &'a [HostFile],
    code: &'a DeviceCode<'a>,
    images: &'a [LinkedImage<'a>],
    kinds: &'a [OffloadKind],
    entries: &'a HostEntries,
}

impl Linked<'_> {
    /// Checks the file that the host linker has written. Returns further kernels that no image has; `known` ones are
    /// reported already.
    fn check(
        self,
        known: &[MissingKernel],
        account: &dyn Fn() -> Result<Vec<AccountedInput>>,
        options: &LinkOptions,
        report: &mut dyn FnMut(&LinkEvent<'_>),
    ) -> Result<Vec<MissingKernel>> {
        let Linked { opened, code, images, kinds, entries } = self;
        let output = guard::LinkedOutput::open(options.output(), entries, options)?;
        let mut missing = Vec::new();
        if let Some(output) = &output {
            missing = output.missing_kernels(opened, images)?;
            missing.retain(|kernel| known.iter().all(|known| known.name != kernel.name));
        }
        report_missing(&missing, &|_| account(), options, report)?;
        if let Some(output) = &output {
            report_unknown(guard::unknown_image(output, opened), options, report)?;
        }
        if known.is_empty() && missing.is_empty() {
            report_lost(&guard::lost(account()?, opened, code, images), options, report)?;
        }
        if let Some(output) = &output {
            report_unregistered(&output.unregistered(kinds, opened)?, options, report)?;
        }
        Ok(missing)
    }
}

/// Finds the entries that the objects for `kinds` have to register.
fn host_entries(
    kinds: &[OffloadKind],
    opened: &[HostFile],
    code: &DeviceCode<'_>,
    options: &LinkOptions,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<HostEntries> {
    if options.product == Product::FatBinary {
        return Ok(HostEntries::default());
    }
    let (entries, refused) = host_entries::find(kinds, opened, code, options)?;
    check_refused(&refused, options, report)?;
    Ok(entries)
}

/// Reports device code that cannot be linked. It is an error, unless missing kernels are not errors.
fn check_refused(
    refused: &[RefusedInput],
    options: &LinkOptions,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<()> {
    match (options.entry_check, refused) {
        (EntryCheck::Deny, [first, ..]) => return Err(LinkError::Refused(first.clone())),
        (EntryCheck::Deny | EntryCheck::Warn, _) => refused.iter().for_each(|it| report(&LinkEvent::Refused(it))),
        (EntryCheck::Off, _) => {}
    }
    Ok(())
}

/// Removes the output if a link fails after the host linker has written it. Otherwise a build tool takes the existing
/// output for a linked program.
fn remove_output(options: &LinkOptions) -> Result<()> {
    let output = options.output();
    if output.is_file() {
        std::fs::remove_file(output).map_err(Error::io(output, "remove"))?;
    }
    Ok(())
}

/// Checks that an object as the output is supported on the host.
fn check_relocatable(options: &LinkOptions) -> Result<()> {
    if !options.line.is_relocatable() || options.product == Product::FatBinary {
        return Ok(());
    }
    match options.host.parse::<Host>().map_err(WrapError::from)?.format() {
        ObjectFormat::Elf => Ok(()),
        format => Err(LinkError::Relocatable { host: options.host.clone(), format }),
    }
}

fn missing_kernels(
    opened: &[HostFile],
    images: &[LinkedImage<'_>],
    options: &LinkOptions,
) -> Result<Vec<MissingKernel>> {
    // A fat binary is for objects that are linked later.
    if options.entry_check == EntryCheck::Off || options.product == Product::FatBinary {
        return Ok(Vec::new());
    }
    missing_kernels::find(opened, images)
}

/// Reports kernels that no image has. They are an error with [`EntryCheck::Deny`].
fn report_missing(
    missing: &[MissingKernel],
    account: &dyn Fn(Option<&TracedFiles>) -> Result<Vec<AccountedInput>>,
    options: &LinkOptions,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<()> {
    if let (EntryCheck::Deny, [MissingKernel { path, kind, name }, others @ ..]) = (options.entry_check, missing) {
        let path = path.clone();
        let name = name.clone();
        let kind = kind.name();
        let not_linked = account(None)?.iter().filter_map(AccountedInput::loss).collect();
        return Err(LinkError::MissingKernels { path, name, kind, others: others.len(), not_linked });
    }
    for kernel in missing {
        report(&LinkEvent::MissingKernel(kernel));
    }
    Ok(())
}

/// Reports inputs whose images are lost. They are an error with [`EntryCheck::Deny`].
fn report_lost(lost: &[AccountedInput], options: &LinkOptions, report: &mut dyn FnMut(&LinkEvent<'_>)) -> Result<()> {
    if let (EntryCheck::Deny, Some(input)) = (options.entry_check, lost.iter().find_map(AccountedInput::loss)) {
        return Err(LinkError::NotLinked { input });
    }
    for input in lost {
        report(&LinkEvent::Lost(input));
    }
    Ok(())
}

/// Reports an image that no runtime loads. It is an error with [`EntryCheck::Deny`].
fn report_unknown(
    image: Option<(String, String)>,
    options: &LinkOptions,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<()> {
    match (options.entry_check, image) {
        (EntryCheck::Deny, Some((path, target))) => return Err(LinkError::UnknownImage { path, target }),
        (_, Some((path, target))) => report(&LinkEvent::UnknownImage(&path, &target)),
        (_, None) => {}
    }
    Ok(())
}

/// Reports kernels that the output does not register. They are an error with [`EntryCheck::Deny`].
fn report_unregistered(
    kernels: &[MissingKernel],
    options: &LinkOptions,
    report: &mut dyn FnMut(&LinkEvent<'_>),
) -> Result<()> {
    if let (EntryCheck::Deny, [MissingKernel { path, kind, name }, others @ ..]) = (options.entry_check, kernels) {
        let (path, name, kind) = (path.clone(), name.clone(), kind.name());
        return Err(LinkError::Unregistered { path, name, kind, others: others.len() });
    }
    for kernel in kernels {
        report(&LinkEvent::Unregistered(kernel));
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

/// Offload kinds of the images, in order of first appearance.
fn kinds(images: &[LinkedImage<'_>]) -> Vec<OffloadKind> {
    let mut kinds = Vec::new();
    for kind in images.iter().flat_map(|image| &image.kinds) {
        if !kinds.contains(kind) {
            kinds.push(*kind);
        }
    }
    kinds
}
