//! An edit applied to an input: its file, or the files in it, are edited; the result is written, proven, and then gets its
//! name.

use std::path::Path;

use super::{Change, Edit, EditError, EditedFile, Proof, Result, edit_file};
use crate::bytes::Limits;
use crate::inventory::File;
use crate::io::{Access, Input, Output, Sink};
use crate::scan::{CacheBudget, InputSlice, Options, Scan, Source};
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

/// Result of an edit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Applied {
    /// Size of the input, in bytes.
    pub size: u64,
    /// Size of the result, in bytes.
    pub new_size: u64,
}

/// A file of the input, and its edit.
#[derive(Debug, Clone, Copy)]
pub struct EditedInput<'a> {
    /// The file before the edit.
    pub scan: &'a Scan<InputSlice>,
    /// The edit.
    pub edited: &'a EditedFile<'a>,
    /// The inventory after the edit; absent if nothing was written.
    pub new_file: Option<&'a File>,
    /// The proof; absent if nothing was written.
    pub proof: Option<&'a Proof>,
}

/// Edits an input into an output that is complete and not committed, or only plans the edit. Calls `visit` with each file of the
/// input. Returns `None` if there are no device images.
pub fn apply(
    input: Input,
    rule: &dyn FileEdit,
    options: ApplyOptions,
    output: Option<&mut Output>,
    visit: &mut dyn FnMut(EditedInput<'_>),
) -> Result<Option<Applied>> {
    let path = input.path().to_owned();
    let before = scan(&path, input.with_limits(options.limits))?;
    if before.file().device_images().next().is_none() && !before.file().is_incomplete() {
        return Ok(None);
    }
    let edited = edit_scan(&before, rule)?;
    let input = before.source().input();
    let applied = Applied { size: input.size(), new_size: edited.patches.new_size(input.size()) };
    let Some(output) = output else {
        visit(EditedInput { scan: &before, edited: &edited, new_file: None, proof: None });
        return Ok(Some(applied));
    };
    let mut sink = Sink::new([input]);
    if !options.holes {
        sink = sink.without_holes();
    }
    edited.patches.push_to(input.view(), &mut sink);
    sink.write_to(output)?;
    let after = scan(&path, output.written(options.access)?.with_limits(options.limits))?;
    let change = Change { before: &before, after: &after, edited: &edited };
    let proof = change.prove(&rule.devices(before.file()));
    let proof = proof.map_err(|cause| EditError::Unproven { path: path.clone(), cause })?;
    input.check_unchanged()?;
    visit(EditedInput { scan: &before, edited: &edited, new_file: Some(after.file()), proof: Some(&proof) });
    Ok(Some(applied))
}

fn scan(path: &Path, input: Input) -> Result<Scan<InputSlice>> {
    let slice = InputSlice::whole(path.to_string_lossy().into_owned(), input);
    Ok(Scan::with_options(slice, Options::default(), Some(&CacheBudget::default()))?)
}

/// Edits a scanned file, which must be intact: what cannot be read cannot be proven to be unchanged.
fn edit_scan<'a>(scan: &'a Scan<InputSlice>, rule: &dyn FileEdit) -> Result<EditedFile<'a>> {
    let file = scan.file();
    if let Some(error) = file.reported_errors().next() {
        return Err(error.into());
    }
    let edit = rule.edit(file)?;
    edit_file(scan.source().view(), file, &*edit).map_err(|error| error.in_file(Path::new(&file.path)))
}
