//! An image that replaces the images in the inputs.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{LinkError, Result};
use super::linked_image::{ImageBytes, LinkedImage};
use super::options::LinkOptions;
use fatbin_core::base::io::Input;
use fatbin_core::format::DeviceImage;
use fatbin_core::target::OffloadKind;

/// An image, and the target that it states.
#[derive(Debug)]
pub struct OverrideImage {
    kind: OffloadKind,
    path: PathBuf,
    input: Arc<Input>,
    triple: String,
    arch: String,
}

/// Opens an image.
pub fn open(kind: OffloadKind, path: &Path, options: &LinkOptions) -> Result<OverrideImage> {
    let input = Input::open_file(path.to_owned(), options.access)?.with_limits(options.limits);
    let image = DeviceImage::identify(input.view());
    let triple = image.triple.ok_or_else(|| LinkError::UnknownTarget { path: path.to_owned() })?.into_owned();
    let arch = image.arch.unwrap_or_default();
    Ok(OverrideImage { kind, path: path.to_owned(), input: input.into(), triple, arch })
}

impl OverrideImage {
    /// The image as the result of a device link.
    pub fn linked(&self) -> LinkedImage<'_> {
        LinkedImage {
            triple: &self.triple,
            arch: &self.arch,
            kinds: vec![self.kind],
            host_files: Vec::new(),
            programs: Vec::new(),
            path: self.path.clone(),
            bytes: Some(ImageBytes::File(Arc::clone(&self.input))),
        }
    }
}
