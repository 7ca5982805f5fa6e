//! An edit applied to an input: its file, or the files in it, are edited; the result is written, proven, and then gets its
//! name.

use std::path::Path;

use super::{Change, Edit, EditError, EditedFile, ImageFate, Proof, Result, edit_file};
use crate::bytes::Limits;
use crate::inventory::File;
use crate::io::{Access, Input, Output, Sink};
use crate::scan::{CacheBudget, InputSlice, Options, Scan};
use crate::target::Device;

/// An edit for each file of an input.
pub trait FileEdit: Sync {
    /// Returns the edit of a file.
    fn edit<'a>(&'a self, file: &'a File) -> Result<Box<dyn Edit + 'a>>;

    /// Returns the devices on which the runtimes must select the same images of this file as before.
    fn devices(&self, file: &File) -> Vec<Device>;
}

/// Options for applying an edit.
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions {
    /// Limits on the resources for reading the input.
    pub limits: Limits,
    /// Access to files.
    pub access: Access,
    /// Leaves holes in the file where images were, as far as the file system has holes.
    pub holes: bool,
}

/// The result of an edit.
#[derive(Debug)]
pub struct Applied {
    /// Size of the input, in bytes.
    pub size: u64,
    /// Size of the output, in bytes.
    pub new_size: u64,
    /// The files of the input, in its order.
    pub files: Vec<AppliedFile>,
}

/// A file of the input, and the edit of it.
#[derive(Debug)]
pub struct AppliedFile {
    /// The inventory before the edit.
    pub file: File,
    /// Decisions about the device images, in the order of the file.
    pub fates: Vec<ImageFate>,
    /// The proof.
    pub proof: Proof,
}

/// Edits an input into an output that is complete and not committed. `None` if there are no device images.
pub fn apply(input: Input, rule: &dyn FileEdit, options: ApplyOptions, output: &mut Output) -> Result<Option<Applied>> {
    let path = input.path().to_owned();
    let before = Scan::with_options(slice(&path, input.with_limits(options.limits)), Options::default(), cache())?;
    if before.file().device_images().next().is_none() && before.file().errors.is_empty() {
        return Ok(None);
    }
    let edited = edit_scan(&before, rule)?;
    let size = before.source().input().size();
    let mut sink = Sink::new([before.source().input()]);
    if !options.holes {
        sink = sink.without_holes();
    }
    edited.patches.push_to(before.source().input().view(), &mut sink);
    sink.write_to(output)?;
    let new_size = sink.size();
    drop(sink);
    let written = output.written(options.access)?.with_limits(options.limits);
    let after = Scan::with_options(slice(&path, written), Options::default(), cache())?;
    let devices = rule.devices(before.file());
    let proof = Change { before: &before, after: &after, edited: &edited }
        .prove(&devices)
        .map_err(|cause| EditError::Unproven { path: path.clone(), cause })?;
    before.source().input().check_unchanged()?;
    let fates = edited.fates;
    let file = AppliedFile { fates, proof, file: before.file().clone() };
    Ok(Some(Applied { size, new_size, files: vec![file] }))
}

/// Edits a scanned file, which must be intact: what cannot be read cannot be proven to be unchanged.
fn edit_scan<'a>(scan: &'a Scan<InputSlice>, rule: &dyn FileEdit) -> Result<EditedFile<'a>> {
    let file = scan.file();
    if let Some(error) = file.reported_errors().next() {
        return Err(error.into());
    }
    let edit = rule.edit(file)?;
    let view = crate::scan::Source::view(scan.source());
    edit_file(view, file, &*edit).map_err(|error| error.in_file(Path::new(&file.path)))
}

fn slice(path: &Path, input: Input) -> InputSlice {
    InputSlice::whole(path.to_string_lossy().into_owned(), input)
}

fn cache() -> Option<&'static CacheBudget> {
    None
}
