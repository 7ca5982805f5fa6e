//! Building locks from analyzed files.

use super::{FIGURES, LockedFile, LockedImage, LockedKernel, LockedTarget};
use crate::codec::Codec;
use crate::inspect::Kernel;
use crate::inventory::{Image, NestedImage};
use crate::survey::{AnalyzedFile, ImageAnalysis};

/// Returns the lock entry of a file. Hashes and kernels are recorded as far as the analysis has them.
pub fn locked_file(analyzed: &AnalyzedFile) -> LockedFile {
    let file = &analyzed.file;
    let images = file.nested_images().zip(&analyzed.analyses);
    let images = images.map(|(nested, analysis)| ImageContext::new(&nested).locked_image(analysis)).collect();
    let stored = file.containers.iter().fold(0, |sum: u64, container| sum.saturating_add(container.size));
    let path = file.path.replace(std::path::MAIN_SEPARATOR, "/");
    LockedFile { path, size: Some(file.size), stored: Some(stored), images }
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
