//! Images that hold no kernel, or only kernels without a body: a runtime may select one, and then nothing of its module
//! runs.
//!
//! nvcc 13.5 links machine code without kernels for sm_75 into every program with device links, and code behind
//! `#if __CUDA_ARCH__` may be empty for some architectures.

use std::collections::BTreeMap;

use super::{ImageRef, Scan};
use crate::base::codec::Codec;
use crate::format::ImageKind;
use crate::image::{self, KernelContent};
use crate::scan::inventory::{Image, NestedImage};
use crate::scan::source::Source;
use crate::target::Platform;

/// Maximum decompressed size of the images that are read, in bytes. Images without kernels are small: they have
/// functions and variables at most, and 1 to 4 KiB in the programs of nvcc and hipcc that were measured. The images of a
/// library take hundreds of megabytes.
const MAX_SIZE: u64 = 128 << 10;

impl<S: Source> Scan<S> {
    /// Records which images hold no kernel or only stubs.
    pub(crate) fn with_contents(mut self) -> Self {
        let contents = self.contents();
        if !contents.is_empty() {
            self.file_mut().set_contents(&contents);
        }
        self
    }

    /// Reads small images, and returns what those hold that do not hold kernels, by index.
    #[doc(hidden)]
    pub fn contents(&self) -> BTreeMap<usize, KernelContent> {
        let images: Vec<NestedImage<'_>> = self.file().nested_images().filter(|it| is_read(it.image)).collect();
        let mut contents = BTreeMap::new();
        self.map_images(&images, |_, image| content(image), &mut |index, content| {
            if content != KernelContent::Kernels {
                contents.extend(images.get(index).map(|nested| (nested.index, content)));
            }
        });
        contents
    }
}

impl Image {
    /// Returns whether a complete inspection decides whether the image holds no kernel or only stubs.
    #[doc(hidden)]
    pub fn has_content(&self) -> bool {
        is_read(self)
    }
}

/// Returns whether an image is small machine code or PTX of a GPU. Code that must be linked has its kernels elsewhere.
fn is_read(image: &Image) -> bool {
    let is_code = match Platform::of(image.triple.as_deref(), image.arch.as_deref()) {
        Some(Platform::Nvidia) => matches!(image.image_kind, ImageKind::Elf | ImageKind::Ptx),
        Some(Platform::Amd) => image.image_kind == ImageKind::Elf && !image.is_unlinked,
        _ => false,
    };
    is_code && image.decompressed_size().is_some_and(|size| size <= MAX_SIZE)
}

fn content(image: &ImageRef<'_>) -> KernelContent {
    if image.codec == Some(Codec::Opaque) || image.unknown_kind().is_some() {
        return KernelContent::Kernels;
    }
    image.read().map_or(KernelContent::Kernels, |bytes| image::kernel_content(image.image_kind, bytes.view()))
}
