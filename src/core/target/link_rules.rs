//! Rules of LLVM 24 for device code of AMD's GPUs that is linked together.
//!
//! Objects are linked together if they are for one target: the same processor, and the same setting of each feature. A
//! member of an archive provides code for a target if it leaves open what the target sets. Source: LLVM's main branch
//! in autumn 2026, `AMDGPUTargetParser.cpp` and the tests of clang-linker-wrapper.

use std::collections::BTreeSet;

use super::processors::Processor;
use super::subarch::{GENERIC, Subarch, stated_arch};
use super::{target_id, triple};

/// Triple and processor of code.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CodeTarget<'a> {
    /// Triple, in either spelling.
    pub triple: &'a str,
    /// Processor with features; may be empty.
    pub arch: &'a str,
}

impl<'a> CodeTarget<'a> {
    /// Returns the processor and the features. For a family without a generic processor, the number in the triple
    /// replaces the processor.
    fn identity(&self) -> (&'a str, BTreeSet<&'a str>) {
        let stated = stated_arch(self.triple, Some(self.arch)).unwrap_or_default();
        let (processor, features) = target_id::cut(stated);
        let family = match Subarch::of(self.triple) {
            Some(Subarch::Family(family)) => family.number,
            Some(Subarch::Processor(_)) | None => "",
        };
        (if processor.is_empty() { family } else { processor }, features.collect())
    }

    /// Returns whether code is for one target: spellings of the triple do not matter.
    pub fn is_equivalent_to(&self, other: CodeTarget<'_>) -> bool {
        triple::are_compatible(self.triple, other.triple) && self.identity() == other.identity()
    }

    /// Returns whether a member of an archive with this target provides code for another target: for the same processor
    /// or its family, with features that are unset or equal.
    pub fn provides_for(&self, other: CodeTarget<'_>) -> bool {
        let ((own, own_features), (processor, features)) = (self.identity(), other.identity());
        let generic = || Processor::named(processor)?.generic();
        let fits = own == GENERIC || own == processor || generic() == Some(own);
        triple::are_compatible(self.triple, other.triple) && fits && own_features.is_subset(&features)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Parses `TRIPLE ARCH`, where the triple is `amdgcn` or `amdgpu` with a number.
    fn target(text: &str) -> (String, &str) {
        let (architecture, arch) = text.split_once(' ').unwrap_or((text, ""));
        (format!("{architecture}-amd-amdhsa"), arch)
    }

    fn with<R>(one: &str, other: &str, compare: fn(CodeTarget, CodeTarget) -> R) -> R {
        let ((one, one_arch), (other, other_arch)) = (target(one), target(other));
        compare(CodeTarget { triple: &one, arch: one_arch }, CodeTarget { triple: &other, arch: other_arch })
    }

    #[test]
    fn objects_are_for_one_target_in_every_spelling() {
        let equivalent = [
            ("amdgcn gfx90a", "amdgpu gfx90a"),
            ("amdgcn gfx90a", "amdgpu9.0a"),
            ("amdgpu9.0a gfx90a", "amdgpu9.0a"),
            ("amdgcn gfx90a:sramecc+:xnack-", "amdgpu9.0a gfx90a:sramecc+:xnack-"),
            ("amdgpu9", "amdgcn gfx9-generic"),
        ];
        let different = [
            ("amdgcn gfx90a", "amdgcn gfx90a:xnack+"),
            ("amdgcn gfx90a:xnack-", "amdgcn gfx90a:xnack+"),
            ("amdgcn gfx90a:sramecc+", "amdgcn gfx90a"),
            ("amdgcn gfx900", "amdgcn gfx906"),
            ("amdgpu9", "amdgpu9.00"),
            ("amdgcn gfx900", "amdgcn gfx9-generic"),
            ("amdgpu6", "amdgpu6.00"),
        ];
        for (pairs, expected) in [(&equivalent[..], true), (&different, false)] {
            for &(one, other) in pairs {
                assert_eq!(with(one, other, |one, other| one.is_equivalent_to(other)), expected, "{one}, {other}");
                assert_eq!(with(other, one, |one, other| one.is_equivalent_to(other)), expected, "{other}, {one}");
            }
        }
    }

    #[test]
    fn members_of_archives_leave_open_what_the_target_sets() {
        let provides = [
            ("amdgcn gfx90a", "amdgcn gfx90a:xnack+"),
            ("amdgpu9", "amdgcn gfx900"),
            ("amdgcn gfx9-generic", "amdgpu9.00"),
            ("amdgcn generic", "amdgcn gfx1100"),
            ("amdgpu9.4", "amdgpu9.42 gfx942:sramecc+:xnack+"),
        ];
        let not = [
            ("amdgcn gfx90a:xnack+", "amdgcn gfx90a"),
            ("amdgcn gfx90a:xnack+", "amdgcn gfx90a:xnack-"),
            ("amdgcn gfx900", "amdgpu9"),
            ("amdgpu9", "amdgcn gfx1100"),
            ("amdgcn gfx900", "amdgcn gfx906"),
        ];
        for (pairs, expected) in [(&provides[..], true), (&not, false)] {
            for &(member, object) in pairs {
                let found = with(member, object, |member, object| member.provides_for(object));
                assert_eq!(found, expected, "{member} for {object}");
            }
        }
    }
}
