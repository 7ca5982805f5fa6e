//! What images are and how they are stored: readable, whole, without what should not be shipped.

use std::collections::BTreeMap;

use super::findings::{Findings, undecided, violated};
use crate::check::facts::{FileFacts, ImageCode, ImageFacts, unique_list};
use crate::check::policy::{Requirements, Size};
use crate::check::readers::Support;
use crate::codec::Codec;
use crate::error::Cause;
use crate::inspect::DebugLevel;
use crate::inventory::Container;

/// Everything can be read.
pub fn readable(facts: &FileFacts<'_>, _: &Requirements, findings: &mut Findings) {
    let file = &facts.survey.file;
    if let Some(failure) = &file.failure {
        // It begins with the path, which every finding has.
        let failure = failure.strip_prefix(&format!("{}: ", file.path)).unwrap_or(failure);
        findings.add(undecided(failure.to_owned()));
    }
    for error in file.errors.iter().filter(|error| !is_corruption(&error.cause)) {
        findings.add(undecided(error.to_string()));
    }
}

/// Stored hashes are right, and images are what their containers say.
pub fn valid(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    for error in facts.survey.file.errors.iter().filter(|error| is_corruption(&error.cause)) {
        findings.add(violated(error.to_string()));
    }
    for image in &facts.images {
        if let Some(own) = &image.image.own_arch {
            let stated = image.image.arch.as_deref().unwrap_or_default();
            findings.add(violated(format!("its container says {stated}, its own header {own}")).image(image));
        }
        if requirements.intact != Some(true) {
            continue;
        }
        match &image.inside.inspection {
            Some(inspection) => {
                for problem in &inspection.problems {
                    findings.add(violated(problem.to_string()).image(image));
                }
            }
            None => findings.add(undecided("was not looked into").image(image)),
        }
        if image.codec == Some(Codec::Opaque) {
            findings.add(undecided("is stored in a way that is not known").image(image));
        }
    }
}

/// Whether bytes are not those that were stored; anything else may be more than this program knows.
fn is_corruption(cause: &Cause) -> bool {
    matches!(cause, Cause::OtherHash { .. } | Cause::OtherSize { .. } | Cause::Compressed(_))
}

/// Images have no more debug information than they may.
pub fn debug_information(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    let Some(most) = requirements.debug else { return };
    let allowed = match most {
        DebugLevel::None => "none is allowed",
        _ => "only line tables are allowed",
    };
    for image in non_empty_images(facts) {
        let inspection = image.inside.inspection.as_ref();
        match inspection.map(|inspection| (inspection.debug.level, inspection)) {
            Some((level, _)) if level > most => {
                let what = match level {
                    DebugLevel::Lines => "line tables",
                    _ => "full debug information",
                };
                findings.add(violated(format!("has {what}, and {allowed}")).image(image));
            }
            Some((_, inspection)) if inspection.not_inspected.is_none() && inspection.problems.is_empty() => {}
            other => {
                let reason = other.and_then(|(_, inspection)| match inspection.problems.first() {
                    Some(problem) => Some(problem.to_string()),
                    None => inspection.not_inspected.map(str::to_owned),
                });
                let reason = reason.unwrap_or("it was not looked into".to_owned());
                findings.add(undecided(format!("cannot tell whether it has debug information: {reason}")).image(image));
            }
        }
    }
}

/// Images hold no paths of the machine that they were built on.
pub fn build_paths(facts: &FileFacts<'_>, _: &Requirements, findings: &mut Findings) {
    for image in non_empty_images(facts) {
        match &image.inside.build_paths {
            Some(paths) if paths.is_empty() => {}
            Some(paths) => {
                let some = paths.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
                let and_more = if paths.len() > 3 { ", ..." } else { "" };
                let what = if paths.len() == 1 { "a path" } else { "paths" };
                let message = format!("holds {what} of the machine that it was built on");
                findings.add(violated(message).image(image).there(format!("such as {some}{and_more}")));
            }
            None => findings.add(undecided("cannot be searched for paths: it cannot be decompressed").image(image)),
        }
    }
}

/// Images are stored compressed, or are not.
pub fn compression(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    let Some(demanded) = requirements.compressed else { return };
    let images: Vec<&ImageFacts<'_>> = non_empty_images(facts).collect();
    let wrong: Vec<&&ImageFacts<'_>> = images.iter().filter(|image| image.codec.is_some() != demanded).collect();
    let unknown = images.iter().find(|image| image.codec == Some(Codec::Opaque));
    if !wrong.is_empty() {
        let size = Size(wrong.iter().map(|image| image.stored.1).fold(0, u64::saturating_add));
        let (is, of) = (if demanded { "not compressed" } else { "compressed" }, images.len());
        let archs: Vec<String> = wrong.iter().filter_map(|image| image.code.label()).collect();
        let message = format!("{} of {of} images {is}, {size}", wrong.len());
        findings.add(violated(message).there(format!("these are for {}", unique_list(&archs))));
    } else if let (true, Some(image)) = (demanded, unknown) {
        findings.add(undecided("is stored in a way that is not known").image(image));
    }
}

/// The runtime can read the containers.
pub fn readable_by(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    let mut versions: BTreeMap<(&str, Option<u32>), &Container> = BTreeMap::new();
    visit_containers(&facts.survey.file.containers, &mut |container| {
        versions.entry((container.container_type.name(), container.version)).or_insert(container);
    });
    for reader in requirements.readable_by.iter().flatten() {
        for ((name, version), container) in &versions {
            let Support::No(first) = reader.reads(container.container_type, *version) else { continue };
            let version = version.map_or("of no version".to_owned(), |version| format!("of version {version}"));
            let at = container.offset.map_or(String::new(), |offset| format!(" (at {offset:#x})"));
            let message = format!("{reader} cannot read a {name} {version}{at}");
            findings.add(match first {
                Some(first) => violated(message).there(format!("{first} is the first that can")),
                None => violated(message).there("no release is known that can"),
            });
        }
    }
}

fn visit_containers<'a>(containers: &'a [Container], look: &mut dyn FnMut(&'a Container)) {
    for container in containers {
        look(container);
        container.images.iter().for_each(|image| visit_containers(&image.containers, look));
    }
}

/// No image is stored twice.
pub fn duplicates(facts: &FileFacts<'_>, _: &Requirements, findings: &mut Findings) {
    let mut same: BTreeMap<[u8; 32], Vec<&ImageFacts<'_>>> = BTreeMap::new();
    for image in non_empty_images(facts) {
        match image.image.sha256 {
            Some(hash) => same.entry(hash).or_default().push(image),
            None => findings.add(undecided("cannot be compared: it cannot be decompressed").image(image)),
        }
    }
    let mut groups: Vec<Vec<&ImageFacts<'_>>> = same.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_by_key(|group| group[0].number);
    for group in groups {
        let [first, others @ ..] = group.as_slice() else { continue };
        let numbers = others.iter().map(|image| image.number.to_string()).collect::<Vec<_>>().join(", ");
        let waste = Size(others.iter().map(|image| image.stored.1).fold(0, u64::saturating_add));
        let times = if group.len() == 2 { "twice".to_owned() } else { format!("{} times", group.len()) };
        findings.add(violated(format!("is stored {times}, also as image {numbers}: {waste} too much")).image(first));
    }
}

/// Images that there is anything in.
fn non_empty_images<'f, 'a>(facts: &'f FileFacts<'a>) -> impl Iterator<Item = &'f ImageFacts<'a>> {
    facts.images.iter().filter(|image| image.code != ImageCode::Empty)
}
