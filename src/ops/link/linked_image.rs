//! The link of a device image, and its result.

use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::Result;
use super::inputs::DeviceInput;
use super::options::LinkOptions;
use super::programs::CommandLine;
use fatbin_core::base::bytes::View;
use fatbin_core::base::io::Input;
use fatbin_core::target::{OffloadKind, subarch};

/// A device image of a host file, and the file for it.
#[derive(Debug)]
pub struct ExtractedImage<'data> {
    /// The image.
    pub input: &'data DeviceInput<'data>,
    /// Path of the file.
    pub path: PathBuf,
}

/// The link of the images of one target.
#[derive(Debug)]
pub struct DeviceLink<'data> {
    /// Triple of the images.
    pub triple: &'data str,
    /// Processor of the images.
    pub arch: &'data str,
    /// File for the linked image.
    pub output: PathBuf,
    /// Host files with the images.
    pub host_files: Vec<&'data str>,
    /// Commands of the device linker; none if the image is linked already.
    pub commands: Vec<CommandLine>,
    /// Arguments for clang to link the images.
    pub for_clang: Vec<OsString>,
    /// Offload kinds that register the image.
    pub kinds: Vec<OffloadKind>,
    /// The image that is linked already.
    pub linked: Option<&'data DeviceInput<'data>>,
}

/// A linked device image.
#[derive(Debug, Clone)]
pub struct LinkedImage<'data> {
    /// Triple.
    pub triple: &'data str,
    /// Processor.
    pub arch: &'data str,
    /// Offload kinds that register the image.
    pub kinds: Vec<OffloadKind>,
    /// Host files with the images that were linked.
    pub host_files: Vec<&'data str>,
    /// Programs that linked the image; none if it was linked already.
    pub programs: Vec<PathBuf>,
    /// File of the image.
    pub path: PathBuf,
    /// The image; absent in a dry run.
    pub bytes: Option<ImageBytes<'data>>,
}

impl LinkedImage<'_> {
    /// ID of the image in a HIP bundle.
    pub fn hip_id(&self, options: &LinkOptions) -> Result<String> {
        let arch = subarch::stated_arch(self.triple, Some(self.arch));
        let triple = options.id_style.triple(self.triple, arch)?;
        Ok(format!("{}-{triple}--{}", options.release.linker.hip, arch.unwrap_or_default()))
    }
}

/// Bytes of a linked image, and the file that holds them.
#[derive(Debug, Clone)]
pub enum ImageBytes<'data> {
    /// The only image of its target. It is linked already.
    Unchanged(&'data DeviceInput<'data>),
    /// Output of a device linker.
    File(Arc<Input>),
}

impl ImageBytes<'_> {
    /// The image.
    pub fn view(&self) -> View<'_> {
        match self {
            ImageBytes::Unchanged(image) => image.entry.image,
            ImageBytes::File(input) => input.view(),
        }
    }

    /// The file that holds the image.
    pub fn input(&self) -> &Input {
        match self {
            ImageBytes::Unchanged(image) => image.file.input(),
            ImageBytes::File(input) => input,
        }
    }
}
