//! The stored bytes of an image, divided among what it holds.

use super::{Part, Size};
use fatbin_core::base::bytes::{apportion, size_of_range, total};
use fatbin_core::image::KernelBytes;

/// Divides the stored bytes of an image in proportion to bytes of the decompressed image. The shares add up to the size
/// of the part.
pub fn split(part: &Part<'_>, decompressed_sizes: &[u64]) -> Vec<Size> {
    let stored = apportion(part.size.stored, decompressed_sizes);
    let decompressed = apportion(part.size.decompressed, decompressed_sizes);
    stored.into_iter().zip(decompressed).map(|(stored, decompressed)| Size { stored, decompressed }).collect()
}

/// Returns the shares of the kernels of an image.
pub fn split_by_kernel(part: &Part<'_>, kernels: &[KernelBytes], image_size: u64) -> Vec<Size> {
    let in_kernels = total(kernels.iter().map(|kernel| kernel.size));
    let outside = size_of_range(&(in_kernels..image_size));
    let sizes: Vec<u64> = [outside].into_iter().chain(kernels.iter().map(|kernel| kernel.size)).collect();
    split(part, &sizes).split_off(1)
}
