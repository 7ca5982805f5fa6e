//! The bytes of an image by kernel.

use super::{Part, Size};
use crate::base::bytes::apportion;
use crate::image::KernelBytes;

/// A share of an image: the bytes of a kernel, or all bytes that belong to no kernel.
#[derive(Debug, Clone, Copy)]
pub struct ImageShare<'a> {
    /// The kernel.
    pub kernel: Option<&'a KernelBytes>,
    /// Its share.
    pub size: Size,
}

/// Divides the stored bytes of an image among its kernels, in proportion to their bytes in the decompressed image. The
/// shares add up to the size of the part.
pub fn split<'a>(part: &Part<'_>, kernels: &'a [KernelBytes], image_size: u64) -> Vec<ImageShare<'a>> {
    let in_kernels = kernels.iter().map(|kernel| kernel.size).fold(0, u64::saturating_add);
    let rest = image_size.max(in_kernels).saturating_sub(in_kernels);
    let weights: Vec<u64> = [rest].into_iter().chain(kernels.iter().map(|kernel| kernel.size)).collect();
    let Size { stored, decompressed } = part.size;
    let sizes = apportion(stored, &weights).into_iter().zip(apportion(decompressed, &weights));
    let owners = [None].into_iter().chain(kernels.iter().map(Some));
    let shares = owners.zip(sizes);
    let shares =
        shares.map(|(kernel, (stored, decompressed))| ImageShare { kernel, size: Size { stored, decompressed } });
    shares.collect()
}
