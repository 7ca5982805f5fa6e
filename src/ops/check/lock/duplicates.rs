//! Growth by duplication: images and kernels with more copies than in the previous build.

use std::borrow::Cow;
use std::cmp::Reverse;
use std::collections::BTreeMap;

use super::{Hash, Lock, LockedImage, LockedKernel};
use fatbin_core::image::stable_name;

/// Code that the new build has more copies of than the old one.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Duplicate<'a> {
    /// Architecture.
    pub arch: Option<&'a str>,
    /// The kernel; `None` for a whole image.
    pub kernel: Option<&'a LockedKernel>,
    /// Copies in the old build, at least one.
    pub old: usize,
    /// Copies in the new build, at least two.
    pub new: usize,
    /// Size of the added copies in bytes, decompressed.
    pub bytes: u64,
}

/// Copies of an image or a kernel in two builds.
struct Copies<T> {
    first: T,
    old: usize,
    new: usize,
}

impl<T> Copies<T> {
    fn new(first: T) -> Self {
        Copies { first, old: 0, new: 0 }
    }

    fn add(&mut self, is_new: bool) {
        let count = if is_new { &mut self.new } else { &mut self.old };
        *count = count.saturating_add(1);
    }

    /// Number of added copies; zero if the old build did not have the code.
    fn added(&self) -> usize {
        if self.old > 0 { self.new.saturating_sub(self.old) } else { 0 }
    }
}

/// Name without generated parts, architecture and figures: kernels that agree in these are taken for copies.
type KernelKey<'a> = (Cow<'a, str>, Option<&'a str>, &'a [Option<u64>]);

/// Returns the code that `new` has more copies of than `old`, the largest growth first. Kernels of images that are
/// copies themselves are not counted again.
pub fn duplicates<'a>(old: &'a Lock, new: &'a Lock) -> Vec<Duplicate<'a>> {
    let mut images: BTreeMap<Hash, Copies<&LockedImage>> = BTreeMap::new();
    let mut kernels: BTreeMap<KernelKey<'a>, Copies<&LockedKernel>> = BTreeMap::new();
    for (lock, is_new) in [(old, false), (new, true)] {
        for image in lock.images() {
            if let Some(code) = image.code.or(image.sha256) {
                let copies = images.entry(code).or_insert_with(|| Copies::new(image));
                copies.add(is_new);
                if copies.added() > 0 {
                    continue;
                }
            }
            for kernel in image.kernels.iter().filter(|kernel| kernel.code_size().is_some()) {
                let key = (stable_name(kernel.name.as_str()), image.target.arch.as_deref(), &kernel.usage.figures[..]);
                kernels.entry(key).or_insert_with(|| Copies::new(kernel)).add(is_new);
            }
        }
    }
    let images = images.into_values().map(|copies| {
        let size = copies.first.size.unwrap_or(0);
        duplicate(&copies, copies.first.target.arch.as_deref(), None, size)
    });
    let kernels = kernels.into_iter().map(|((_, arch, _), copies)| {
        duplicate(&copies, arch, Some(copies.first), copies.first.code_size().unwrap_or(0))
    });
    let mut found: Vec<Duplicate<'_>> = images.chain(kernels).filter(|it| it.old > 0 && it.new > it.old).collect();
    found.sort_by_key(|it| (Reverse(it.bytes), it.arch, it.kernel.map(|kernel| kernel.name.as_str())));
    found
}

fn duplicate<'a, T>(
    copies: &Copies<T>,
    arch: Option<&'a str>,
    kernel: Option<&'a LockedKernel>,
    size: u64,
) -> Duplicate<'a> {
    let bytes = size.saturating_mul(copies.added() as u64);
    Duplicate { arch, kernel, old: copies.old, new: copies.new, bytes }
}
