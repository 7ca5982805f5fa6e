//! Device code moved out of a file into others, and back: [`split`] and [`join`].
//!
//! The host file keeps its size, with zeros in place of the device code. An index has the location of the bytes of each
//! span of the original, and the SHA-256 of every file. So joining gives identical bytes or fails.

mod archives;
mod error;
mod files;
mod index;
mod join;
mod mode;
mod parts;
mod wrappers;
mod write;

pub use error::SplitError;
pub use join::join;

use std::path::{Path, PathBuf};

use crate::edit::signature::{Signatures, Treatment};
use fatbin_core::base::archive::{ArchiveFormat, MemberContent};
use fatbin_core::base::bytes::Limits;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::base::io::{Access, FileSet, Input};
use fatbin_core::format::kernel_store;
use fatbin_core::scan::inventory::WrapperKind;
use fatbin_core::scan::{CacheBudget, InputSlice, Options, Scan};
use write::SplitDirectory;

/// Result of splitting and joining.
pub type Result<T, E = SplitError> = std::result::Result<T, E>;

/// Files that device code is moved to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum SplitFormat {
    /// One file for each processor, with the bytes as they are stored.
    Files,
    /// One kpack archive for each target ID. HIP's runtime loads the code from the archives.
    Kpack {
        /// Level of zstd; `None` for uncompressed archives.
        compression_level: Option<i32>,
    },
}

/// Options for splitting and joining.
#[derive(Debug, Clone, Copy)]
pub struct SplitOptions {
    /// Limits on the resources for reading each input.
    pub limits: Limits,
    /// Access to files.
    pub access: Access,
}

/// Result of [`split`].
#[derive(Debug)]
pub enum SplitOutcome {
    /// The files that were written.
    Done(Split),
    /// The device code is in kpack archives already.
    AlreadySplit,
    /// The file has no device code.
    NoDeviceCode,
}

/// Files of a split.
#[derive(Debug)]
pub struct Split {
    /// The files, the host file first.
    pub files: Vec<SplitFile>,
    /// Signatures of the host file and of its members.
    pub signatures: Signatures,
}

/// A file that was written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SplitFile {
    /// Path of the file.
    pub path: PathBuf,
    /// Size in bytes.
    pub size: u64,
    /// Processors whose code it has; empty for the host file, and for the headers and tables of containers.
    pub archs: Vec<String>,
    /// Number of images or code objects.
    pub images: usize,
}

/// Moves the device code of a file to files in `directory`, and writes a copy of the file without it there. All files
/// are written, or none: joining them must give the original.
///
/// A signature of the file is valid again in the joined file. In the host file it is not.
pub fn split(
    input: Input,
    directory: &Path,
    format: SplitFormat,
    signed: Treatment,
    options: SplitOptions,
) -> Result<SplitOutcome> {
    let path = input.path().to_owned();
    if kernel_store::is_store(input.view()) {
        return Err(SplitError::Package { path });
    }
    if let Some(format) = ArchiveFormat::of(input.view()) {
        if !format.is_library() {
            return Err(SplitError::Package { path });
        }
        let mut members = format.members(input.view()).members.into_iter();
        if members.any(|member| matches!(member.content, MemberContent::Elsewhere(_))) {
            return Err(SplitError::ThinArchive { path });
        }
    }
    let slice = InputSlice::whole(FilePath::new(&path), input.with_limits(options.limits));
    let scan = Scan::with_options(slice, Options::default(), Some(&CacheBudget::default()))?;
    let file = scan.file();
    if let Some(error) = file.reported_errors().next() {
        return Err(error.into());
    }
    let has_wrapper = |kind| file.wrappers.iter().any(|wrapper| wrapper.kind == kind);
    if file.device_images().next().is_none() {
        let is_split = has_wrapper(WrapperKind::HipSplitByKpack);
        return Ok(if is_split { SplitOutcome::AlreadySplit } else { SplitOutcome::NoDeviceCode });
    }
    let set = FileSet::of_inputs([scan.source().input()]);
    let signatures = Signatures::new(signed);
    let mut place = SplitDirectory { path: directory, set, access: options.access, signatures };
    let planned = match format {
        SplitFormat::Files => files::split(&scan, &mut place),
        SplitFormat::Kpack { .. } if has_wrapper(WrapperKind::HipSplitByKpack) => {
            return Ok(SplitOutcome::AlreadySplit);
        }
        SplitFormat::Kpack { compression_level } => archives::split(&scan, &mut place, compression_level),
    };
    let planned = planned.map_err(|error| error.in_file(&path))?;
    let files = write::commit(planned, &place, scan.source().input()).map_err(|error| error.in_file(&path))?;
    let signatures = std::mem::replace(&mut place.signatures, Signatures::new(signed));
    Ok(SplitOutcome::Done(Split { files, signatures }))
}
