//! Images that hold no kernel: a runtime may select one, and then nothing of its module runs.
//!
//! nvcc 13.5 links machine code without kernels for sm_75 into every program with device links, and code behind
//! `#if __CUDA_ARCH__` may be empty for some architectures.

use std::collections::BTreeSet;

use super::{ImageRef, Scan};
use crate::base::codec::Codec;
use crate::format::ImageKind;
use crate::image;
use crate::scan::inventory::{Image, NestedImage};
use crate::scan::source::Source;
use crate::target::Platform;

/// Maximum decompressed size of the images that are read, in bytes. Images without kernels are small: they have
/// functions and variables at most, and 1 to 4 KiB in the programs of nvcc and hipcc that were measured. The images of a
/// library take hundreds of megabytes.
const MAX_SIZE: u64 = 128 << 10;

impl<S: Source> Scan<S> {
    /// Records which images hold no kernel.
    pub(crate) fn with_images_without_kernels(mut self) -> Self {
        let empty = self.images_without_kernels();
        if !empty.is_empty() {
            self.file_mut().mark_without_kernels(&empty);
        }
        self
    }

    /// Reads small images, and returns the indices of those that hold no kernel.
    #[doc(hidden)]
    pub fn images_without_kernels(&self) -> BTreeSet<usize> {
        let images: Vec<NestedImage<'_>> = self.file().nested_images().filter(|it| is_read(it.image)).collect();
        let mut empty = BTreeSet::new();
        self.map_images(&images, |_, image| holds_no_kernel(image), &mut |index, holds_none| {
            if holds_none {
                empty.extend(images.get(index).map(|nested| nested.index));
            }
        });
        empty
    }
}

impl Image {
    /// Returns whether the image may be found to hold no kernel by a complete inspection.
    #[doc(hidden)]
    pub fn may_hold_no_kernel(&self) -> bool {
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

fn holds_no_kernel(image: &ImageRef<'_>) -> bool {
    let is_readable = image.codec != Some(Codec::Opaque) && image.unknown_kind().is_none();
    is_readable && image.read().is_ok_and(|bytes| image::holds_no_kernel(image.image_kind, bytes.view()))
}
