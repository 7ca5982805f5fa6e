//! The oldest system that a wheel states in its name, compared with the oldest one that its Metal libraries load on.

use std::collections::HashMap;

use super::findings::{RuleFindings, undecided, violated};
use super::wheel_name;
use crate::analyze::select::alternatives::Alternatives;
use crate::check::facts::{FileFacts, ImageFacts};
use crate::check::policy::Requirements;
use fatbin_core::base::file_path::FilePath;
use fatbin_core::target::metal::{Release, System};

/// Checks that Metal libraries load on every system that the tag of the wheel allows.
///
/// The name of a wheel ends with its platforms, joined by dots (PyPA, Binary distribution format, File name convention).
pub fn allows_load(facts: &FileFacts<'_>, _: &Requirements, findings: &mut RuleFindings) {
    let wheel = wheel_of(facts.path());
    let alternatives = Alternatives::of(&facts.survey.file);
    let oldest_of_sets = oldest_of_sets(facts, &alternatives);
    for image in &facts.images {
        let Some((system, oldest)) = system_of(image) else { continue };
        let needs = format!("needs {} {oldest}", system.name());
        let Some(tags) = wheel else {
            findings.add(undecided(format!("{needs}, and no wheel states what it is for")).image(image));
            continue;
        };
        let allowed = tags.split('.').filter_map(|tag| Some((tag, oldest_of(tag, system)?)));
        let Some((tag, allowed)) = allowed.min_by_key(|(_, release)| *release) else { continue };
        let replaced_by = alternatives.set_of(image.number).and_then(|set| oldest_of_sets.get(&set));
        if allowed < Some(*replaced_by.unwrap_or(&oldest)) {
            findings.add(violated(format!("{needs}, but the wheel is for {tag}")).image(image));
        }
    }
}

/// Returns the oldest release that a library of each set loads on. A program loads one library of a set.
fn oldest_of_sets(facts: &FileFacts<'_>, alternatives: &Alternatives) -> HashMap<usize, Release> {
    let mut oldest_of_sets: HashMap<usize, Release> = HashMap::new();
    for image in &facts.images {
        if let (Some(set), Some((_, oldest))) = (alternatives.set_of(image.number), system_of(image)) {
            let known = oldest_of_sets.entry(set).or_insert(oldest);
            *known = oldest.min(*known);
        }
    }
    oldest_of_sets
}

/// Returns the system of a Metal library, and its oldest release.
fn system_of(image: &ImageFacts<'_>) -> Option<(System, Release)> {
    image.image.triple.as_deref().and_then(System::of_triple)
}

/// Returns the oldest release of a system that a platform allows; `None` if the platform is another system.
/// A wheel for `any` platform is installed on every release.
fn oldest_of(tag: &str, system: System) -> Option<Option<Release>> {
    if tag == "any" {
        return Some(None);
    }
    let (tagged, release) = System::of_tag(tag)?;
    (tagged == system).then_some(Some(release))
}

/// Returns the platforms in the name of the innermost wheel around a file.
fn wheel_of(path: &FilePath) -> Option<&str> {
    wheel_name(path)?.rsplit_once('-').map(|(_, tags)| tags)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_innermost_wheel_states_the_platforms() {
        let cases = [
            ("d/a-1-py3-none-macosx_11_0_arm64.whl!a/k.metallib", Some("macosx_11_0_arm64")),
            ("s.tar!a-1-py3-none-any.whl!k.bin!MTLB", Some("any")),
            (
                "a-1-py3-none-any.whl!b-1-1-py3-none-macosx_12_0_x86_64.macosx_12_0_arm64.whl!k",
                Some("macosx_12_0_x86_64.macosx_12_0_arm64"),
            ),
            ("a-1-py3-none-any.whl", None),
            ("a/k.metallib", None),
            ("a.zip!k.metallib", None),
        ];
        for (path, expected) in cases {
            assert_eq!(wheel_of(&FilePath::parse(path)), expected, "{path}");
        }
    }

    #[test]
    fn tags_state_the_oldest_release_of_their_system() {
        let cases = [
            ("macosx_10_9_x86_64", System::MacOs, Some(Some(Release::new(10, 9)))),
            ("macosx_11_0_universal2", System::MacOs, Some(Some(Release::new(11, 0)))),
            ("ios_13_0_arm64_iphoneos", System::Ios, Some(Some(Release::new(13, 0)))),
            ("macosx_11_0_arm64", System::Ios, None),
            ("manylinux_2_28_x86_64", System::MacOs, None),
            ("macosx_x_y_arm64", System::MacOs, None),
            ("any", System::MacOs, Some(None)),
        ];
        for (tag, system, expected) in cases {
            assert_eq!(oldest_of(tag, system), expected, "{tag}");
        }
    }
}
