//! Contents and storage of images: readable, undamaged, and without what should not be shipped.

use std::collections::BTreeMap;

use super::findings::{RuleFinding, RuleFindings, undecided, undecided_by, violated};
use crate::check::facts::{FileFacts, ImageCode, ImageFacts, unique_list};
use crate::check::policy::{Requirements, Size};
use fatbin_core::base::bytes::total;
use fatbin_core::base::codec::Codec;
use fatbin_core::base::error::Cause;
use fatbin_core::format::readers::{Reader, Support};
use fatbin_core::image::{DebugLevel, Inspection, LTO_IR};
use fatbin_core::scan::inventory::{Container, Node};
use fatbin_core::target::{BundleEntryId, OffloadKind};

/// Message for images with an unsupported codec.
const UNKNOWN_CODEC: &str = "compressed with an unknown codec";

/// Reports what cannot be read.
pub fn readable(facts: &FileFacts<'_>, _: &Requirements, findings: &mut RuleFindings) {
    let file = &facts.survey.file;
    if let Some(failure) = &file.failure {
        // Every finding has the path, so the message does not repeat it.
        let failure = failure.strip_prefix(&format!("{}: ", file.path)).unwrap_or(failure);
        findings.add(undecided(failure.to_owned()).remedy(file.remedy.clone()));
    }
    for error in file.errors.iter().filter(|error| !is_corruption(&error.cause)) {
        findings.add(undecided_by(error));
    }
    if let Some(reason) = file.not_opened {
        findings.add(undecided(format!("not opened: {reason}")));
    }
    for sign in file.unknown_code() {
        findings.add(undecided(format!("device code of an unknown kind: {} {}", sign.kind.name(), sign.name)));
    }
}

/// Checks that stored hashes are correct and that images match what their containers state. If required, also checks
/// that images are intact.
pub fn valid(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    for error in facts.survey.file.errors.iter().filter(|error| is_corruption(&error.cause)) {
        findings.add(violated(error.to_string()));
    }
    if requirements.intact == Some(true) {
        for defect in facts.survey.file.load_defects() {
            findings.add(violated(defect.to_string()));
        }
    }
    for image in &facts.images {
        for (stated, own) in image.image.contradictions() {
            let message = format!("the container states {stated}, the image's own header {own}");
            findings.add(violated(message).image(image));
        }
        if requirements.intact == Some(true) {
            check_intact(image, findings);
        }
    }
}

fn check_intact(image: &ImageFacts<'_>, findings: &mut RuleFindings) {
    match &image.inside.inspection {
        Some(inspection) => {
            for problem in inspection.problems.iter().chain(inspection.load_defects(image.image.kind)) {
                findings.add(violated(problem.to_string()).image(image));
            }
        }
        None => findings.add(undecided("not inspected").image(image)),
    }
    if has_unknown_codec(image) {
        findings.add(undecided(UNKNOWN_CODEC).image(image));
    }
}

/// Returns whether the codec is unknown. Scrambled LTO-IR is intact, and compressed with a known one.
fn has_unknown_codec(image: &ImageFacts<'_>) -> bool {
    image.codec == Some(Codec::Opaque) && !image.image.is_scrambled()
}

/// Returns whether the bytes were changed after they were stored. Other causes may be formats that this version does
/// not know.
fn is_corruption(cause: &Cause) -> bool {
    matches!(cause, Cause::HashMismatch { .. } | Cause::SizeMismatch { .. } | Cause::Compressed(_))
}

/// Checks the amount of debug information in images.
pub fn debug_information(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let Some(most) = requirements.debug else { return };
    let allowed = match most {
        DebugLevel::None => "none is allowed",
        _ => "only line tables are allowed",
    };
    for image in non_empty_images(facts) {
        let inspection = image.inside.inspection.as_ref();
        match inspection.map(|inspection| inspection.debug.level) {
            Some(level) if level > most => {
                let present = match level {
                    DebugLevel::Lines => "line tables",
                    _ => "full debug information",
                };
                findings.add(violated(format!("contains {present}, {allowed}")).image(image));
            }
            Some(_) if inspection.is_some_and(|it| it.not_inspected.is_none() && it.problems.is_empty()) => {}
            _ => {
                let reason = inspection.map_or("not inspected".to_owned(), incompleteness);
                let message = format!("cannot determine whether it contains debug information: {reason}");
                findings.add(undecided(message).image(image));
            }
        }
    }
}

fn incompleteness(inspection: &Inspection) -> String {
    match inspection.problems.first() {
        Some(problem) => problem.to_string(),
        None => inspection.not_inspected.unwrap_or("not inspected").to_owned(),
    }
}

/// Forbids paths of the build machine in images.
pub fn build_paths(facts: &FileFacts<'_>, _: &Requirements, findings: &mut RuleFindings) {
    for image in non_empty_images(facts) {
        match &image.inside.build_paths {
            Some(Ok(paths)) if paths.is_empty() => {}
            Some(Ok(paths)) => {
                let first = paths.iter().take(3).cloned().collect::<Vec<_>>().join(", ");
                let and_more = if paths.len() > 3 { ", ..." } else { "" };
                let noun = if paths.len() == 1 { "a path" } else { "paths" };
                let message = format!("contains {noun} of the build machine");
                findings.add(violated(message).image(image).detail(format!("for example {first}{and_more}")));
            }
            Some(Err(error)) => findings.add(undecided(format!("cannot be searched for paths: {error}")).image(image)),
            None => findings.add(undecided("not searched for paths").image(image)),
        }
    }
}

/// Checks that images are stored compressed, or uncompressed.
pub fn compression(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let Some(compressed) = requirements.compressed else { return };
    let images: Vec<&ImageFacts<'_>> = non_empty_images(facts).collect();
    let wrong: Vec<&&ImageFacts<'_>> = images.iter().filter(|image| image.codec.is_some() != compressed).collect();
    let unknown = images.iter().find(|image| has_unknown_codec(image));
    if !wrong.is_empty() {
        let size = Size(total(wrong.iter().map(|image| image.stored.1)));
        let state = if compressed { "not compressed" } else { "compressed" };
        let archs: Vec<String> = wrong.iter().filter_map(|image| image.code.label()).collect();
        let message = format!("{} of {} images {state}, {size}", wrong.len(), images.len());
        findings.add(violated(message).detail(format!("architectures: {}", unique_list(&archs))));
    } else if compressed && let Some(image) = unknown {
        findings.add(undecided(UNKNOWN_CODEC).image(image));
    }
}

/// Checks that the required releases can read all containers.
pub fn readable_by(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let mut versions: BTreeMap<(&str, Option<u32>), &Container> = BTreeMap::new();
    let mut codecs: BTreeMap<(&str, &str), (&Container, Codec)> = BTreeMap::new();
    for node in facts.survey.file.walk() {
        if let Node::Container(container) = node {
            let name = container.container_type.name();
            versions.entry((name, container.version)).or_insert(container);
            for codec in container.images.iter().filter_map(|image| image.codec) {
                codecs.entry((name, codec.name())).or_insert((container, codec));
            }
        }
    }
    for reader in requirements.readable_by.iter().flatten() {
        for ((name, version), container) in &versions {
            let Support::No(first) = reader.reads(container.container_type, *version) else { continue };
            let version = version.map_or("without a version".to_owned(), |version| format!("version {version}"));
            findings.add(unreadable(*reader, &format!("{name} {version}"), container, first));
        }
        for ((name, codec_name), (container, codec)) in &codecs {
            let Support::No(first) = reader.decompresses(container.container_type, *codec) else { continue };
            findings.add(unreadable(*reader, &format!("{name} with {codec_name}"), container, first));
        }
        for node in facts.survey.file.walk() {
            let Node::Container(container) = node else { continue };
            let Some(id) = container.id_refused_by(*reader) else { continue };
            let at = container.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
            let message = format!("{reader} refuses the {}{at} for its entry {id}", container.container_type.name());
            findings.add(violated(message).detail("it needs a kind and a triple of four components"));
        }
    }
}

/// Finding for a release that cannot read a container. `found` is the property that it does not support, and `first`
/// the first release that supports it.
fn unreadable(reader: Reader, found: &str, container: &Container, first: Option<Reader>) -> RuleFinding {
    let at = container.offset.map_or(String::new(), |offset| format!(" at {offset:#x}"));
    let message = format!("{reader} cannot read {found}{at}");
    match first {
        Some(first) => violated(message).detail(format!("{first} is the first release that can")),
        None => violated(message).detail("no known release can"),
    }
}

/// Checks that the HIP runtimes of the required releases find all bundle entries.
pub fn findable_by(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    for image in facts.images.iter().filter(|image| image.image.kind == Some(OffloadKind::Hip)) {
        let Some(id) = image.image.id.as_deref().and_then(BundleEntryId::parse) else { continue };
        for reader in requirements.findable_by.iter().flatten() {
            if let Support::No(_) = reader.finds(&id) {
                let text = image.image.id.as_deref().unwrap_or_default();
                let message = format!("the HIP runtime of {reader} does not find {text}");
                findings.add(violated(message).image(image).detail(id.remedy_for_hip()));
            }
        }
    }
}

/// Forbids images that are stored more than once.
pub fn duplicates(facts: &FileFacts<'_>, _: &Requirements, findings: &mut RuleFindings) {
    let mut by_hash: BTreeMap<[u8; 32], Vec<&ImageFacts<'_>>> = BTreeMap::new();
    for image in non_empty_images(facts) {
        match image.image.sha256 {
            Some(hash) => by_hash.entry(hash).or_default().push(image),
            None => findings.add(undecided(format!("cannot be compared: {}", missing_hash_reason(image))).image(image)),
        }
    }
    let mut groups: Vec<Vec<&ImageFacts<'_>>> = by_hash.into_values().filter(|group| group.len() > 1).collect();
    groups.sort_by_cached_key(|group| group[0].number);
    for group in groups {
        let [first, others @ ..] = group.as_slice() else { continue };
        let numbers = others.iter().map(|image| image.number.to_string()).collect::<Vec<_>>().join(", ");
        let waste = Size(total(others.iter().map(|image| image.stored.1)));
        let times = if group.len() == 2 { "twice".to_owned() } else { format!("{} times", group.len()) };
        findings.add(violated(format!("stored {times}, also as image {numbers}, wasting {waste}")).image(first));
    }
}

/// Explains why an image has no hash. Damage has a separate finding, with offset and cause.
fn missing_hash_reason(image: &ImageFacts<'_>) -> &'static str {
    match image.codec {
        _ if image.image.is_scrambled() => LTO_IR,
        Some(Codec::Opaque) => UNKNOWN_CODEC,
        _ => "damaged",
    }
}

fn non_empty_images<'f, 'a>(facts: &'f FileFacts<'a>) -> impl Iterator<Item = &'f ImageFacts<'a>> {
    facts.images.iter().filter(|image| image.code != ImageCode::Empty)
}
