//! The bytes of an image by kernel.

use super::{Part, Size};
use crate::base::bytes::{apportion, size_of_range, total};
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
    let weights: Vec<u64> = kernels.iter().map(|kernel| kernel.size).collect();
    let owners = [None].into_iter().chain(kernels.iter().map(Some));
    owners.zip(shares(part, &weights, image_size)).map(|(kernel, size)| ImageShare { kernel, size }).collect()
}

/// Divides the stored bytes of an image among its sections like [`split`].
pub fn split_by_section<'a>(
    part: &Part<'_>,
    sections: &'a [(String, u64)],
    image_size: u64,
) -> Vec<(Option<&'a str>, Size)> {
    let weights: Vec<u64> = sections.iter().map(|(_, size)| *size).collect();
    let owners = [None].into_iter().chain(sections.iter().map(|(name, _)| Some(name.as_str())));
    owners.zip(shares(part, &weights, image_size)).collect()
}

/// Divides an image: the first share is for the bytes without an owner.
fn shares(part: &Part<'_>, owned: &[u64], image_size: u64) -> impl Iterator<Item = Size> {
    let in_owners = total(owned.iter().copied());
    let rest = size_of_range(&(in_owners..image_size));
    let weights: Vec<u64> = [rest].into_iter().chain(owned.iter().copied()).collect();
    let Size { stored, decompressed } = part.size;
    let sizes = apportion(stored, &weights).into_iter().zip(apportion(decompressed, &weights));
    sizes.map(|(stored, decompressed)| Size { stored, decompressed })
}
