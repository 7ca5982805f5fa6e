//! Grouping of device images by target: each group is one device link.
//!
//! An image belongs to the group of its target. A copy of it belongs to each group of a compatible target that exists
//! when the image is read: code for `gfx90a` is linked into code for `gfx90a:xnack+`. Members of archives come last.
//! They belong only to groups that exist, and to targets that are requested. The two spellings of a triple for AMD's
//! GPUs are one target. Source: clang-linker-wrapper 22.1.8, for files in every order; for spellings LLVM 23,
//! `AMDGPUTargetParser.cpp`.
//!
//! Since LLVM 24, objects for AMD's GPUs join only groups with the same target. Members of archives join only groups
//! that they provide code for; see [`fatbin_core::target::link_rules`].

use crate::embed::llvm::linker::LinkerRules;
use fatbin_core::target::link_rules::CodeTarget;
use fatbin_core::target::subarch::{self, GENERIC};
use fatbin_core::target::{target_id, triple};

/// Target of a device image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Target<'data> {
    /// Triple; empty if it is not stated.
    pub triple: &'data str,
    /// Processor; empty if it is not stated.
    pub arch: &'data str,
    /// True for an image in an archive member that is linked only if needed.
    pub is_lazy: bool,
}

/// Device images that are linked together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Group<'data> {
    /// Triple of the first image.
    pub triple: &'data str,
    /// Processor of the first image.
    pub arch: &'data str,
    /// Indices of the images, in link order.
    pub images: Vec<usize>,
}

/// Groups images by their targets. Members of archives for the processors in `requested` are linked even if no other
/// image is for the target.
pub fn group<'data>(targets: &[Target<'data>], requested: &[String], rules: LinkerRules) -> Vec<Group<'data>> {
    let mut groups = group_objects(targets, rules);
    for (index, target) in targets.iter().enumerate().filter(|(_, target)| target.is_lazy) {
        let is_requested = requested.iter().any(|processor| processor == target.arch);
        join(&mut groups, index, target, rules, is_requested);
    }
    groups
}

/// Groups images by their targets, without members of archives.
pub fn group_objects<'data>(targets: &[Target<'data>], rules: LinkerRules) -> Vec<Group<'data>> {
    let mut groups: Vec<Group<'data>> = Vec::new();
    for (index, target) in targets.iter().enumerate().filter(|(_, target)| !target.is_lazy) {
        join(&mut groups, index, target, rules, true);
    }
    groups
}

/// Adds an image to the groups that accept it, and to the group of its target. With `creates`, a missing group is
/// created.
fn join<'data>(
    groups: &mut Vec<Group<'data>>,
    index: usize,
    target: &Target<'data>,
    rules: LinkerRules,
    creates: bool,
) {
    for group in groups.iter_mut().filter(|group| group.accepts(target, rules)) {
        group.images.push(index);
    }
    if creates && !groups.iter().any(|group| group.is_own(target, rules)) {
        groups.push(Group { triple: target.triple, arch: target.arch, images: vec![index] });
    }
}

impl Group<'_> {
    /// True if this is the group of a target.
    pub fn is_own(&self, target: &Target<'_>, rules: LinkerRules) -> bool {
        target.relation_to(self, rules) == Relation::Own
    }

    /// True if images for a target belong to the group.
    pub fn accepts(&self, target: &Target<'_>, rules: LinkerRules) -> bool {
        target.relation_to(self, rules) != Relation::Other
    }
}

/// Relation of an image to a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Relation {
    /// The group has the image's target.
    Own,
    /// A copy of the image is linked into the group.
    Joined,
    /// The image does not belong to the group.
    Other,
}

impl Target<'_> {
    fn relation_to(&self, group: &Group<'_>, rules: LinkerRules) -> Relation {
        if !triple::are_compatible(group.triple, self.triple) {
            return Relation::Other;
        }
        let own = CodeTarget { triple: self.triple, arch: self.arch };
        let of_group = CodeTarget { triple: group.triple, arch: group.arch };
        let (is_own, is_joined) = if rules.separates_features && subarch::is_amdgpu(self.triple) {
            let gives = || if self.is_lazy { own.provides_for(of_group) } else { self.arch == GENERIC };
            (own.is_equivalent_to(of_group), gives())
        } else {
            (self.arch == group.arch, are_compatible(self.arch, group.arch))
        };
        match (is_own, is_joined) {
            (true, _) => Relation::Own,
            (false, true) => Relation::Joined,
            (false, false) => Relation::Other,
        }
    }
}

/// Tests whether code for two different processors of one triple can be linked together: the processors of the target
/// IDs are equal, and no feature is on in one and off in the other.
fn are_compatible(one: &str, other: &str) -> bool {
    if one == GENERIC || other == GENERIC {
        return true;
    }
    let ((processor, features), (other_processor, other_features)) = (target_id::cut(one), target_id::cut(other));
    let other_features: Vec<&str> = other_features.collect();
    let contradicts = |feature: &str| {
        let opposite = match feature.strip_suffix('+') {
            Some(name) => format!("{name}-"),
            None => format!("{}+", feature.trim_end_matches('-')),
        };
        other_features.contains(&opposite.as_str())
    };
    processor.starts_with("gfx") && processor == other_processor && !features.into_iter().any(contradicts)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::embed::llvm::Release;

    fn groups(targets: &str, requested: &[&str]) -> Vec<String> {
        groups_of("llvm22", targets, requested)
    }

    /// Groups of a release as text: the processor, then its images.
    fn groups_of(release: &str, targets: &str, requested: &[&str]) -> Vec<String> {
        let target = |text: &'static str| {
            let (arch, is_lazy) = text.strip_prefix('?').map_or((text, false), |arch| (arch, true));
            let (arch, number) = arch.split_once('@').unwrap_or((arch, ""));
            let triple = match (number, arch.starts_with("sm_")) {
                ("", true) => "nvptx64-nvidia-cuda",
                ("", false) => "amdgcn-amd-amdhsa",
                (number, _) => format!("amdgpu{number}-amd-amdhsa").leak(),
            };
            Target { triple, arch, is_lazy }
        };
        let names: Vec<&'static str> = targets.to_owned().leak().split(' ').collect();
        let targets: Vec<Target> = names.iter().copied().map(target).collect();
        let requested: Vec<String> = requested.iter().map(|&processor| processor.to_owned()).collect();
        let text = |group: Group| {
            let images: Vec<&str> = group.images.iter().map(|&index| names[index]).collect();
            format!("{}: {}", group.arch, images.join(" "))
        };
        group(&targets, &requested, Release::named(release).unwrap().linker).into_iter().map(text).collect()
    }

    #[test]
    fn images_join_compatible_groups_that_exist() {
        // Measured with clang-linker-wrapper 22.1.8.
        let cases: [(&str, &[&str]); 8] = [
            ("gfx90a gfx942 gfx90a", &["gfx90a: gfx90a gfx90a", "gfx942: gfx942"]),
            ("generic gfx90a gfx942", &["generic: generic gfx90a gfx942", "gfx90a: gfx90a", "gfx942: gfx942"]),
            ("gfx90a gfx942 generic", &["gfx90a: gfx90a generic", "gfx942: gfx942 generic", "generic: generic"]),
            ("gfx90a:xnack+ gfx90a", &["gfx90a:xnack+: gfx90a:xnack+ gfx90a", "gfx90a: gfx90a"]),
            ("gfx90a gfx90a:xnack+", &["gfx90a: gfx90a gfx90a:xnack+", "gfx90a:xnack+: gfx90a:xnack+"]),
            (
                "gfx90a:xnack- gfx90a:xnack+ gfx90a",
                &["gfx90a:xnack-: gfx90a:xnack- gfx90a", "gfx90a:xnack+: gfx90a:xnack+ gfx90a", "gfx90a: gfx90a"],
            ),
            ("sm_90 sm_90a", &["sm_90: sm_90", "sm_90a: sm_90a"]),
            ("generic sm_90", &["generic: generic", "sm_90: sm_90"]),
        ];
        for (targets, expected) in cases {
            assert_eq!(groups(targets, &[]), expected, "{targets}");
        }
    }

    #[test]
    fn both_spellings_of_a_triple_are_one_target() {
        let cases: [(&str, &[&str]); 4] = [
            ("gfx90a gfx90a@9.0a gfx942@9.4", &["gfx90a: gfx90a gfx90a@9.0a", "gfx942: gfx942@9.4"]),
            ("gfx90a@9.0a gfx90a@", &["gfx90a: gfx90a@9.0a gfx90a@"]),
            ("gfx90a:xnack+@9.0a gfx90a", &["gfx90a:xnack+: gfx90a:xnack+@9.0a gfx90a", "gfx90a: gfx90a"]),
            ("gfx942@9.42 gfx950@9.50", &["gfx942: gfx942@9.42", "gfx950: gfx950@9.50"]),
        ];
        for (targets, expected) in cases {
            assert_eq!(groups(targets, &[]), expected, "{targets}");
        }
    }

    #[test]
    fn members_of_archives_join_groups_of_others_or_requested_ones() {
        let cases: [(&str, &[&str], &[&str]); 5] = [
            ("?gfx90a", &[], &[]),
            ("?gfx90a ?gfx942", &["gfx90a"], &["gfx90a: ?gfx90a"]),
            ("?gfx90a gfx90a", &[], &["gfx90a: gfx90a ?gfx90a"]),
            ("gfx90a ?gfx942", &[], &["gfx90a: gfx90a"]),
            ("gfx90a:xnack+ ?gfx90a", &[], &["gfx90a:xnack+: gfx90a:xnack+ ?gfx90a"]),
        ];
        for (targets, requested, expected) in cases {
            assert_eq!(groups(targets, requested), expected, "{targets}");
        }
    }

    #[test]
    fn since_llvm_24_only_generic_code_and_archives_give_to_other_targets() {
        let cases: [(&str, &[&str]); 6] = [
            (
                "gfx90a:xnack+ gfx90a:xnack- gfx90a",
                &["gfx90a:xnack+: gfx90a:xnack+", "gfx90a:xnack-: gfx90a:xnack-", "gfx90a: gfx90a"],
            ),
            (
                "gfx90a:xnack+ gfx90a:xnack- ?gfx90a",
                &["gfx90a:xnack+: gfx90a:xnack+ ?gfx90a", "gfx90a:xnack-: gfx90a:xnack- ?gfx90a"],
            ),
            ("gfx90a gfx908 ?generic", &["gfx90a: gfx90a ?generic", "gfx908: gfx908 ?generic"]),
            ("generic gfx90a", &["generic: generic", "gfx90a: gfx90a"]),
            ("gfx90a gfx90a@ @9.0a", &["gfx90a: gfx90a gfx90a@ @9.0a"]),
            ("sm_90 sm_90a", &["sm_90: sm_90", "sm_90a: sm_90a"]),
        ];
        for release in ["llvm24", "main"] {
            for (targets, expected) in cases {
                assert_eq!(groups_of(release, targets, &[]), expected, "{targets}");
            }
        }
    }
}
