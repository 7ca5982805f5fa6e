//! An edit applied to an input: its file, or the files in it, are edited; the result is written, proven, and then gets
//! its name.
//!
//! ```text
//! tree: the files of the input, members of static libraries and of zip files included --> patches of the input
//!    |  written to the output
//!    v
//! prove: the written files are scanned and compared
//! ```

mod part;
mod prove;
mod split_host;
mod tree;

use std::cell::RefCell;
use std::path::PathBuf;

pub use part::Part;

use super::signature::Signature;
use super::{Edit, EditError, EditedFile, Proof, Result};
use crate::base::bytes::{Limits, MAX_NESTING};
use crate::base::io::{Access, Input, Output, Sink};
use crate::scan::Scan;
use crate::scan::inventory::File;
use crate::target::Device;

/// An edit for each file of an input.
pub trait FileEdit: Sync {
    /// Returns the edit of a file.
    fn edit<'a>(&'a self, file: &'a File) -> Result<Box<dyn Edit + 'a>>;

    /// Devices where the runtimes must select the same images of this file as before.
    fn devices(&self, file: &File) -> Vec<Device>;

    /// Number of devices that the images of this file are judged on.
    fn judged_devices(&self, file: &File) -> usize {
        self.devices(file).len()
    }

    /// Returns whether new images may have other targets than the images that they replace.
    fn changes_targets(&self) -> bool {
        false
    }
}

/// Options for applying an edit.
#[derive(Debug, Clone, Copy)]
pub struct ApplyOptions {
    /// Limits on the resources for reading the input.
    pub limits: Limits,
    /// Access to files.
    pub access: Access,
    /// Leaves holes in the file where images were, if the file system supports holes.
    pub holes: bool,
    /// Cuts free bytes out of linked files if nothing depends on the offsets of the bytes after them.
    pub shrinks: bool,
    /// Changes signed files, and removes their signatures.
    pub breaks_signatures: bool,
}

/// A file of the input whose device code is in kpack archives, and therefore not in the input.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitHost {
    /// Path of the file, `ARCHIVE!MEMBER` for a member of an archive.
    pub path: String,
    /// Paths of the archives; with `@GFXARCH@` in place of the target IDs if none is on disk.
    pub archives: Vec<String>,
}

/// Result of an edit.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Applied {
    /// Size of the input, in bytes.
    pub size: u64,
    /// Size of the result, in bytes.
    pub new_size: u64,
    /// Files whose device code is elsewhere.
    pub split_hosts: Vec<SplitHost>,
    /// Paths of the files whose signatures the edit breaks, with these.
    pub broken_signatures: Vec<(String, Signature)>,
}

/// A file of the input with device images, and its edit.
#[derive(Debug, Clone, Copy)]
pub struct EditedInput<'a> {
    /// The file before the edit.
    pub scan: &'a Scan<Part<'a>>,
    /// The edit.
    pub edited: &'a EditedFile,
    /// The inventory after the edit.
    pub new_file: &'a File,
    /// The proof.
    pub proof: &'a Proof,
}

/// Work on one input.
struct Job<'a> {
    rule: &'a dyn FileEdit,
    options: ApplyOptions,
    /// Directory for temporary files.
    directory: PathBuf,
    visit: RefCell<&'a mut dyn FnMut(EditedInput<'_>)>,
    split_hosts: RefCell<Vec<SplitHost>>,
    broken_signatures: RefCell<Vec<(String, Signature)>>,
}

/// Edits an input into an output that is complete and not committed. Calls `visit` with each file with device images. Returns `None` if no file has any. If the device code is in kpack archives instead, this is
/// an error.
pub fn apply(
    input: Input,
    rule: &dyn FileEdit,
    options: ApplyOptions,
    output: &mut Output,
    visit: &mut dyn FnMut(EditedInput<'_>),
) -> Result<Option<Applied>> {
    let input = input.with_limits(options.limits);
    let path = input.path().to_string_lossy().into_owned();
    let job = Job {
        rule,
        options,
        directory: output.directory(),
        visit: RefCell::new(visit),
        split_hosts: RefCell::default(),
        broken_signatures: RefCell::default(),
    };
    let mut new_size = 0;
    let has_images = job.edit(&input, &path, MAX_NESTING, &mut |edits| {
        let mut sink = Sink::new([Some(&input), edits.packed].into_iter().flatten());
        if !options.holes {
            sink = sink.without_holes();
        }
        edits.patches.push_to(input.view(), &mut sink);
        sink.write_to(output)?;
        new_size = sink.size();
        job.prove(&edits, &input, &output.written(options.access)?.with_limits(options.limits), &path)
    })?;
    input.check_unchanged()?;
    let mut split_hosts = job.split_hosts.take();
    if !has_images && let Some(SplitHost { path, archives }) = split_hosts.pop() {
        return Err(EditError::SplitHost { path: path.into(), archives: archives.join(", ") });
    }
    let broken_signatures = job.broken_signatures.take();
    Ok(has_images.then_some(Applied { size: input.size(), new_size, split_hosts, broken_signatures }))
}
