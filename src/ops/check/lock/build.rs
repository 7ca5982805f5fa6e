//! Building locks from inspected images.

use sha2::{Digest, Sha256};

use super::{Hash, KernelPool, KernelUsage, LockedFile, LockedImage, LockedKernel, LockedParts, LockedTarget};
use fatbin_core::base::bytes::total;
use fatbin_core::base::codec::Codec;
use fatbin_core::image::{ImageDigests, ImageParts, Inspection, Kernel};
use fatbin_core::scan::inventory::{Container, File, Image};

/// Contents of an image.
#[derive(Debug)]
pub struct ImageContents<'a> {
    /// Kernels and debug information. Demangled names are not needed.
    pub inspection: &'a Inspection,
    /// Hashes of the code of its kernels, in their order, if they are known.
    pub kernel_codes: &'a [Option<Hash>],
    /// Hash of the decompressed image.
    pub sha256: Option<Hash>,
    /// Hashes of its code and of all other bytes.
    pub digests: Option<ImageDigests>,
    /// Parts that differ between builds of one source, if they were analyzed.
    pub parts: Option<ImageParts>,
}

/// Returns the lock entry of a file with these images. The images are in the order of the file.
pub fn locked_file(file: &File, images: Vec<LockedImage>) -> LockedFile {
    let stored = total(file.containers.iter().map(|container| container.size));
    let path = file.path.replace(std::path::MAIN_SEPARATOR, "/");
    let order = Some(order(&images));
    LockedFile { path, size: Some(file.size), stored: Some(stored), images, order }
}

/// Returns the hash of the code of the images, in their order.
fn order(images: &[LockedImage]) -> Hash {
    let mut hash = Sha256::new();
    for image in images {
        hash.update(image.code.or(image.sha256).unwrap_or_default());
    }
    hash.finalize().into()
}

/// Returns the lock entry of an image in these containers, outermost first.
pub fn locked_image(
    image: &Image,
    containers: &[&Container],
    contents: ImageContents<'_>,
    pool: &mut KernelPool,
) -> LockedImage {
    let ImageContents { inspection, kernel_codes, sha256, digests, parts } = contents;
    let types: Vec<&str> = containers.iter().map(|container| container.container_type.name()).collect();
    let own_codec = image.codec.filter(|&codec| codec != Codec::None);
    let codec = own_codec.or(containers.iter().rev().find_map(|container| container.codec));
    let codes = kernel_codes.iter().copied().chain(std::iter::repeat(None));
    LockedImage {
        target: LockedTarget {
            arch: image.arch.clone(),
            kind: image.kind.map(|kind| kind.name().to_owned()),
            image: image.image_kind.name().to_owned(),
            triple: image.triple.clone(),
        },
        kernels: inspection.kernels.iter().zip(codes).map(|(kernel, code)| locked_kernel(kernel, code, pool)).collect(),
        container_path: Some(types.join(">")),
        codec: codec.map(|codec| codec.name().to_owned()),
        stored: image.size,
        size: image.decompressed_size(),
        debug: Some(inspection.debug.level.name().to_owned()),
        sha256,
        code: digests.map(|digests| digests.code),
        rest: digests.map(|digests| digests.rest),
        parts: parts.map(|parts| LockedParts { parts, debug: debug_contents(inspection) }),
    }
}

fn locked_kernel(kernel: &Kernel, code: Option<Hash>, pool: &mut KernelPool) -> LockedKernel {
    let code = code.and_then(|hash| hash.first_chunk().copied());
    LockedKernel { name: pool.name(&kernel.name), usage: pool.usage(KernelUsage::of(kernel)), code }
}

/// Returns the hash of the contents of debug information, without directories: its level, the compilers, and the source
/// lines of kernels.
fn debug_contents(inspection: &Inspection) -> Hash {
    let mut hash = Sha256::new();
    let mut add = |text: Option<&str>| {
        hash.update(text.unwrap_or_default());
        hash.update([0]);
    };
    let name = |path: &str| path.rsplit(['/', '\\']).next().unwrap_or_default().to_owned();
    add(Some(inspection.debug.level.name()));
    for unit in &inspection.debug.units {
        add(unit.name.as_deref().map(name).as_deref());
        add(unit.producer.as_deref());
    }
    for source in inspection.kernels.iter().filter_map(|kernel| kernel.source.as_ref()) {
        add(Some(&format!("{}:{}", name(&source.file), source.line)));
    }
    hash.finalize().into()
}
