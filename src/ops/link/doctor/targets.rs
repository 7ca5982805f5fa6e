//! Targets of HIP's images that exclude each other: the bundle of a program has one entry for each, and an entry without a
//! feature would serve the devices of the other.

use super::inputs::{Inputs, LinkedFile};
use super::problem::{Effect, Problem, ProblemKind};
use super::remedy;
use super::resolve::Resolution;
use fatbin_core::format::ContainerType;
use fatbin_core::scan::inventory::{Container, Image};
use fatbin_core::target::{OffloadKind, compatibility};

/// Start of the ID of an entry for one of AMD's processors.
const ID: &str = "hip-amdgcn-amd-amdhsa--";

/// Finds the first conflict between the images that a device link takes.
pub fn find(inputs: &Inputs, resolution: &Resolution) -> Option<Problem> {
    let linked: Vec<&LinkedFile> = resolution.linked().map(|number| &inputs.objects[number]).collect();
    let ids: Vec<String> = linked.iter().flat_map(|file| archs(file)).map(|(arch, _)| format!("{ID}{arch}")).collect();
    let ids: Vec<&str> = ids.iter().map(String::as_str).collect();
    let (one, other) = compatibility::conflicting_entries(&ids)?;
    let [one, other] = [&one, &other].map(|id| id.strip_prefix(ID).unwrap_or(id));
    let has = |file: &&LinkedFile| archs(file).any(|(arch, _)| arch == one);
    let file = linked.into_iter().find(has)?;
    let (_, container) = archs(file).find(|(arch, _)| *arch == one)?;
    Some(Problem {
        kind: ProblemKind::ConflictingTargets,
        effect: Effect::LinkFails,
        path: file.path.clone(),
        section: container.section.as_ref().map(|section| section.name.clone()),
        offset: container.offset,
        symbol: None,
        count: 1,
        message: format!("conflicting targets {one} and {other}: {}", compatibility::FEATURE_RULE),
        remedy: remedy::SAME_TARGETS.to_owned(),
    })
}

/// Targets of the images for HIP that a device link takes from an object, with their containers.
fn archs(file: &LinkedFile) -> impl Iterator<Item = (&str, &Container)> {
    let containers = file.inventory.containers.iter().filter(|it| it.container_type == ContainerType::OffloadBinary);
    containers.flat_map(|container| {
        let images = container.images.iter().filter(|image: &&Image| image.kind == Some(OffloadKind::Hip));
        images.filter_map(move |image| Some((image.arch.as_deref()?, container)))
    })
}
