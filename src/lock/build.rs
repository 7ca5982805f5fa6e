//! Building locks from analyzed files.

use sha2::{Digest, Sha256};

use super::{FIGURES, Hash, LockedFile, LockedImage, LockedKernel, LockedParts, LockedTarget};
use crate::codec::Codec;
use crate::inspect::{Inspection, Kernel};
use crate::inventory::{Image, NestedImage};
use crate::survey::{AnalyzedFile, ImageAnalysis};

/// Returns the lock entry of a file. Hashes and kernels are recorded as far as the analysis has them.
pub fn locked_file(analyzed: &AnalyzedFile) -> LockedFile {
    let file = &analyzed.file;
    let images = file.nested_images().zip(&analyzed.analyses);
    let images: Vec<LockedImage> =
        images.map(|(nested, analysis)| ImageContext::new(&nested).locked_image(analysis)).collect();
    let stored = file.containers.iter().fold(0, |sum: u64, container| sum.saturating_add(container.size));
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

/// Returns the hash of the contents of debug information, without directories: its level, the compilers, and the source lines of
/// kernels.
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

/// A device image with the types and the compression of the containers around it.
struct ImageContext<'a> {
    image: &'a Image,
    container_path: String,
    codec: Option<Codec>,
}

impl<'a> ImageContext<'a> {
    fn new(nested: &NestedImage<'a>) -> Self {
        let types: Vec<&str> = nested.containers.iter().map(|container| container.container_type.name()).collect();
        let own_codec = nested.image.codec.filter(|&codec| codec != Codec::None);
        let codec = own_codec.or(nested.containers.iter().rev().find_map(|container| container.codec));
        ImageContext { image: nested.image, container_path: types.join(">"), codec }
    }
}

impl ImageContext<'_> {
    fn locked_image(&self, analysis: &ImageAnalysis) -> LockedImage {
        let image = self.image;
        let inspection = analysis.inspection.as_ref();
        LockedImage {
            target: LockedTarget {
                arch: image.arch.clone(),
                kind: image.kind.map(|kind| kind.name().to_owned()),
                image: image.image_kind.name().to_owned(),
                triple: image.triple.clone(),
            },
            container_path: Some(self.container_path.clone()),
            codec: self.codec.map(|codec| codec.name().to_owned()),
            stored: image.size,
            size: image.decompressed_size(),
            debug: inspection.map(|inspection| inspection.debug.level.name().to_owned()),
            sha256: image.sha256,
            code: analysis.code_hash,
            parts: analysis
                .parts
                .as_ref()
                .zip(inspection)
                .map(|(parts, inspection)| LockedParts { parts: parts.clone(), debug: debug_contents(inspection) }),
            kernels: inspection.map_or(Vec::new(), |it| it.kernels.iter().map(locked_kernel).collect()),
        }
    }
}

fn locked_kernel(kernel: &Kernel) -> LockedKernel {
    LockedKernel {
        name: kernel.name.clone(),
        figures: FIGURES.map(|figure| figure.value(kernel)),
        scratch_is_minimum: kernel.scratch_is_minimum && kernel.scratch.is_some(),
        demangled: kernel.demangled.clone(),
    }
}
