//! Stripping: debug information, and symbols that nothing reads, are removed from the images of a file.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};

use super::{Edit, EditedImage, FileEdit, ImageEdit, Result};
use crate::analyze::select::NamedDevice;
use fatbin_core::base::bytes::{Budget, Limits, View};
use fatbin_core::format::ImageKind;
use fatbin_core::host::rewrite::device_elf::without;
use fatbin_core::scan::inventory::File;
use fatbin_core::target::Device;

pub use fatbin_core::host::rewrite::device_elf::Stripped;

/// Size of an image before and after it was stripped, uncompressed and in bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct StrippedImage {
    /// Size before.
    pub size: u64,
    /// Size after.
    pub new_size: u64,
}

/// Removes DWARF, line tables and sources from cubins and AMD code objects, and symbols from AMD code objects.
#[derive(Debug)]
pub struct Strip {
    limits: Limits,
    parts: Stripped,
    /// Images of the current file, by their index. An image is decided about again if its container is compressed
    /// several times.
    stripped: Mutex<BTreeMap<usize, StrippedImage>>,
}

impl Strip {
    /// Creates an edit that removes these parts, and applies these limits to reading each image.
    pub fn new(limits: Limits, parts: Stripped) -> Self {
        Strip { limits, parts, stripped: Mutex::default() }
    }

    /// What the edit removes.
    pub fn parts(&self) -> Stripped {
        self.parts
    }

    /// Returns the images of the last file that lost something.
    pub fn images(&self) -> Vec<StrippedImage> {
        self.stripped.lock().unwrap_or_else(PoisonError::into_inner).values().copied().collect()
    }
}

impl FileEdit for Strip {
    fn edit<'a>(&'a self, _file: &'a File) -> Result<Box<dyn Edit + 'a>> {
        self.stripped.lock().unwrap_or_else(PoisonError::into_inner).clear();
        Ok(Box::new(self))
    }

    /// All devices that the file has images for: no selection changes.
    fn devices(&self, file: &File) -> Vec<Device> {
        NamedDevice::of_file(file).into_iter().flat_map(|device| device.devices).collect()
    }
}

impl Edit for &Strip {
    fn image(&self, image: &EditedImage<'_>) -> Result<ImageEdit> {
        let Some(index) = image.index else { return Ok(ImageEdit::Keep) };
        if image.image.image_kind != ImageKind::Elf {
            return Ok(ImageEdit::Keep);
        }
        let bytes = (image.bytes)()?;
        let budget = Budget::new(self.limits, bytes.len() as u64);
        let Some(new) = without(View::with_budget(&bytes, &budget), self.parts)? else { return Ok(ImageEdit::Keep) };
        let stripped = StrippedImage { size: bytes.len() as u64, new_size: new.len() as u64 };
        self.stripped.lock().unwrap_or_else(PoisonError::into_inner).insert(index, stripped);
        Ok(ImageEdit::Replace(new))
    }
}
