//! Device code that is linked only where it is used, such as OpenMP's device runtime.
//!
//! A member of an archive is a library if its host object has no offload entries: the host names none of its symbols.

use std::collections::BTreeSet;
use std::path::Path;

use super::device_symbols;
use super::error::Result;
use super::inputs::DeviceInput;
use crate::embed::wrap::host_entries;
use fatbin_core::format::{DeviceImage, ImageKind};

/// The libraries in bitcode among the images of a link.
#[derive(Debug, Default)]
pub struct DeviceLibraries {
    /// Numbers of the images.
    pub images: BTreeSet<usize>,
    /// Names of the symbols that they define.
    pub defined: BTreeSet<String>,
}

/// Finds the libraries. What an image other than bitcode uses is no library, because clang would drop the used symbol.
/// If the symbols of such an image are unknown, there are none.
pub fn find(images: &[&DeviceInput<'_>]) -> Result<DeviceLibraries> {
    let mut used = BTreeSet::new();
    for image in images.iter().filter(|image| !is_bitcode(image)) {
        let Some(symbols) = device_symbols::read(image)? else { return Ok(DeviceLibraries::default()) };
        used.extend(symbols.into_iter().filter(|symbol| symbol.is_undefined).map(|symbol| symbol.name));
    }
    let mut libraries = DeviceLibraries::default();
    for (number, image) in images.iter().enumerate() {
        if !is_bitcode(image) || !image.file.is_lazy() || has_entries(image)? {
            continue;
        }
        let symbols = device_symbols::read(image)?.unwrap_or_default();
        let defined: Vec<String> =
            symbols.into_iter().filter(|symbol| !symbol.is_undefined).map(|symbol| symbol.name).collect();
        if !defined.iter().any(|name| used.contains(name)) {
            libraries.images.insert(number);
            libraries.defined.extend(defined);
        }
    }
    // Libraries alone have no users.
    if libraries.images.len() == images.len() { Ok(DeviceLibraries::default()) } else { Ok(libraries) }
}

fn is_bitcode(image: &DeviceInput<'_>) -> bool {
    DeviceImage::identify(image.entry.image).image_kind == ImageKind::Bitcode
}

fn has_entries(image: &DeviceInput<'_>) -> Result<bool> {
    Ok(!host_entries::read(image.file.view(), Path::new(image.file.path()))?.is_empty())
}
