//! Result of a link.

use std::path::PathBuf;

use super::account::AccountedInput;
use super::linked_image::LinkedImage;
use super::missing_kernels::MissingKernel;
use super::unused_archives::UnusedArchive;
use fatbin_core::target::OffloadKind;

/// Result of a link.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct LinkReport {
    /// Output of the host linker, or the fat binary; `None` for a program that links nothing.
    pub output: Option<PathBuf>,
    /// Targets, by first occurrence.
    pub targets: Vec<LinkedTarget>,
    /// Archives whose device images were all left out of the link.
    pub unused_archives: Vec<UnusedArchive>,
    /// Kernels that host objects use but no image has.
    pub missing_kernels: Vec<MissingKernel>,
    /// State of the inputs with device code or offload entries.
    pub inputs: Vec<AccountedInput>,
}

/// A target of the device code.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct LinkedTarget {
    /// Triple.
    pub triple: String,
    /// Processor.
    pub arch: String,
    /// Offload kinds that register the image.
    pub kinds: Vec<OffloadKind>,
    /// Host files with the images that were linked.
    pub host_files: Vec<String>,
    /// Programs that linked the image; none if it was linked already.
    pub programs: Vec<PathBuf>,
    /// Size of the image in bytes; `None` in a dry run.
    pub size: Option<u64>,
}

impl LinkedTarget {
    /// Describes a linked image.
    pub fn new(image: &LinkedImage<'_>) -> Self {
        LinkedTarget {
            triple: image.triple.to_owned(),
            arch: image.arch.to_owned(),
            kinds: image.kinds.clone(),
            host_files: image.host_files.iter().map(|&path| path.to_owned()).collect(),
            programs: image.programs.clone(),
            size: image.bytes.as_ref().map(|bytes| bytes.view().size()),
        }
    }
}
