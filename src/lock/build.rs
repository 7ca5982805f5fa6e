//! What a lock says of a file that was looked into.

use super::{FIGURES, LockedFile, LockedImage, LockedKernel, LockedTarget};
use crate::codec::Codec;
use crate::inspect::Kernel;
use crate::inventory::{Container, Image};
use crate::survey::{Inside, SurveyedFile};

/// The file as a lock has it; hashes and kernels are there as far as the survey took them.
pub fn locked_file(surveyed: &SurveyedFile) -> LockedFile {
    let file = &surveyed.file;
    let mut around = Vec::new();
    for container in &file.containers {
        add_surroundings(container, "", None, &mut around);
    }
    // In the order of `device_images`, as the walk is the same.
    let images = around.iter().zip(&surveyed.insides).map(|(it, inside)| it.locked(inside)).collect();
    let stored = file.containers.iter().fold(0, |sum: u64, container| sum.saturating_add(container.size));
    let path = file.path.replace(std::path::MAIN_SEPARATOR, "/");
    LockedFile { path, size: Some(file.size), stored: Some(stored), images }
}

/// A device image and what the containers around it say of it.
struct Surrounded<'a> {
    image: &'a Image,
    within: String,
    codec: Option<Codec>,
}

fn add_surroundings<'a>(container: &'a Container, outer: &str, codec: Option<Codec>, found: &mut Vec<Surrounded<'a>>) {
    let within = format!("{outer}{}", container.container_type.name());
    let codec = container.codec.or(codec);
    for image in &container.images {
        let codec = image.codec.filter(|&codec| codec != Codec::None).or(codec);
        if image.containers.is_empty() && image.is_for_a_device() {
            found.push(Surrounded { image, within: within.clone(), codec });
        }
        for inner in &image.containers {
            add_surroundings(inner, &format!("{within}>"), codec, found);
        }
    }
}

impl Surrounded<'_> {
    fn locked(&self, inside: &Inside) -> LockedImage {
        let image = self.image;
        let inspection = inside.inspection.as_ref();
        LockedImage {
            target: LockedTarget {
                arch: image.arch.clone(),
                kind: image.kind.map(|kind| kind.name().to_owned()),
                image: image.image_kind.name().to_owned(),
                triple: image.triple.clone(),
            },
            within: Some(self.within.clone()),
            codec: self.codec.map(|codec| codec.name().to_owned()),
            stored: image.size,
            size: image.whole_size(),
            debug: inspection.map(|inspection| inspection.debug.level.name().to_owned()),
            sha256: image.sha256,
            code: inside.code_hash,
            kernels: inspection.map_or(Vec::new(), |it| it.kernels.iter().map(locked_kernel).collect()),
        }
    }
}

fn locked_kernel(kernel: &Kernel) -> LockedKernel {
    LockedKernel {
        name: kernel.name.clone(),
        figures: FIGURES.map(|figure| (figure.of)(kernel)),
        scratch_is_minimum: kernel.scratch_is_minimum && kernel.scratch.is_some(),
        demangled: kernel.demangled.clone(),
    }
}
