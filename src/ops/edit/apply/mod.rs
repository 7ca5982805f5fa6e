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
use std::sync::Arc;

pub use part::Part;

use super::signature::{Signatures, Treatment};
use super::{Edit, EditError, EditedFile, Proof, Result};
use fatbin_core::base::bytes::{Limits, MAX_NESTING};
use fatbin_core::base::error::Error;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::{Access, Input, Output, Sink};
use fatbin_core::base::signature::Signature;
use fatbin_core::scan::Scan;
use fatbin_core::scan::inventory::File;
use fatbin_core::target::Device;
use tree::Edits;

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
    /// The result replaces the input.
    pub in_place: bool,
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
    /// Paths of the files whose ad hoc signatures are renewed.
    pub renewed_signatures: Vec<String>,
    /// Wheels without a record, with their metadata directories.
    pub without_record: Vec<(String, String)>,
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
    signatures: RefCell<Signatures>,
    without_record: RefCell<Vec<(String, String)>>,
}

impl<'a> Job<'a> {
    fn new(
        rule: &'a dyn FileEdit,
        options: ApplyOptions,
        directory: PathBuf,
        visit: &'a mut dyn FnMut(EditedInput<'_>),
    ) -> Self {
        let treatment = if options.breaks_signatures { Treatment::Removed } else { Treatment::Refused };
        Job {
            rule,
            options,
            directory,
            visit: RefCell::new(visit),
            split_hosts: RefCell::default(),
            signatures: RefCell::new(Signatures::new(treatment)),
            without_record: RefCell::default(),
        }
    }

    /// Edits an input. `write` writes the result, which is then proven. Returns whether the input has device images.
    fn run(&self, input: &Input, write: &mut dyn FnMut(&Edits<'_>) -> Result<Input>) -> Result<bool> {
        let path = FilePath::new(input.path());
        let has_images = self.edit(input, &path, MAX_NESTING, &mut |edits| {
            if self.options.in_place && !edits.patches.is_empty() {
                self.signatures.borrow_mut().check_replaced(input.path())?;
            }
            let written = write(&edits)?.with_limits(self.options.limits);
            self.prove(&edits, input, &written, &path)
        })?;
        input.check_unchanged()?;
        if !has_images && let Some(SplitHost { path, archives }) = self.split_hosts.borrow_mut().pop() {
            return Err(EditError::SplitHost { path: path.into(), archives: archives.join(", ") });
        }
        Ok(has_images)
    }
}

/// Edits an input in memory. Returns `None` if it has no device images.
pub fn apply_in_memory(
    input: Input,
    rule: &dyn FileEdit,
    options: ApplyOptions,
    visit: &mut dyn FnMut(EditedInput<'_>),
) -> Result<Option<Vec<u8>>> {
    let input = input.with_limits(options.limits);
    let mut bytes = Arc::default();
    let job = Job::new(rule, options, std::env::temp_dir(), visit);
    let has_images = job.run(&input, &mut |edits| {
        let mut new = Vec::new();
        edits.patches.copy_to(input.view(), &mut new).map_err(Error::io(input.path(), "write"))?;
        bytes = Arc::new(new);
        Ok(Input::from_bytes(input.path(), Shared(Arc::clone(&bytes))))
    })?;
    Ok(has_images.then(|| Arc::try_unwrap(bytes).unwrap_or_else(|shared| shared.to_vec())))
}

/// New bytes, while they are proven.
struct Shared(Arc<Vec<u8>>);

impl AsRef<[u8]> for Shared {
    fn as_ref(&self) -> &[u8] {
        &self.0
    }
}

/// Edits an input into an output that is complete and not committed. Calls `visit` with each file with device images.
/// Returns `None` if no file has any. If the device code is in kpack archives instead, this is an error.
pub fn apply(
    input: Input,
    rule: &dyn FileEdit,
    options: ApplyOptions,
    output: &mut Output,
    visit: &mut dyn FnMut(EditedInput<'_>),
) -> Result<Option<Applied>> {
    let input = input.with_limits(options.limits);
    let job = Job::new(rule, options, output.directory(), visit);
    let mut new_size = 0;
    let has_images = job.run(&input, &mut |edits| {
        let mut sink = Sink::new([Some(&input), edits.packed].into_iter().flatten());
        if !options.holes {
            sink = sink.without_holes();
        }
        edits.patches.push_to(input.view(), &mut sink);
        sink.write_to(output)?;
        new_size = sink.size();
        Ok(output.written(options.access)?)
    })?;
    let split_hosts = job.split_hosts.take();
    let Signatures { broken: broken_signatures, renewed: renewed_signatures, .. } = job.signatures.into_inner();
    let without_record = job.without_record.take();
    let size = input.size();
    Ok(has_images.then_some(Applied {
        size,
        new_size,
        split_hosts,
        broken_signatures,
        renewed_signatures,
        without_record,
    }))
}
