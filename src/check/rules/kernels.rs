//! Kernels: whether they are there for all architectures that they have to be for, and what they take of a device.

use std::collections::BTreeMap;

use super::findings::{Findings, undecided, violated};
use crate::check::coverage::has_exact_code;
use crate::check::facts::{FileFacts, ImageCode, ImageFacts, unique_list};
use crate::check::policy::{KernelArchs, KernelLimit, KernelRequirement, PolicyTarget, Requirements};
use crate::inspect::Kernel;

pub fn covers(requirements: &Requirements) -> bool {
    requirements.kernels.iter().flatten().any(|requirement| requirement.archs.is_some())
}

pub fn limits(requirements: &Requirements) -> bool {
    requirements.kernels.iter().flatten().any(|requirement| !requirement.limits.is_empty())
}

/// Kernels are there for the architectures that they have to be for.
pub fn coverage(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    for requirement in requirements.kernels.iter().flatten() {
        let Some(archs) = &requirement.archs else { continue };
        for (name, images) in matching(facts, requirement) {
            findings.matched(requirement.line);
            let codes: Vec<&str> = images.iter().filter_map(|image| native_target(image)).collect();
            let missing: Vec<PolicyTarget> = match archs {
                KernelArchs::Listed(targets) => {
                    let is_missing = |target: &&PolicyTarget| match target {
                        PolicyTarget::Native(id) => !has_exact_code(&codes, id),
                        target => !images.iter().any(|image| image.code == ImageCode::For((*target).clone())),
                    };
                    targets.iter().filter(is_missing).cloned().collect()
                }
                KernelArchs::All => missing_archs(facts, &images, &codes),
            };
            let there: Vec<String> = images.iter().filter_map(|image| image.code.label()).collect();
            for target in missing {
                let unread = facts.images.iter().find(|image| is_unread(image) && may_match(image, &target));
                let found = match unread {
                    Some(image) => {
                        undecided(format!("cannot tell whether it is there for {target}: {}", unread_reason(image)))
                    }
                    None => violated(format!("is not there for {target}")),
                };
                findings.add(found.kernel(name).there(format!("it is there for {}", unique_list(&there))));
            }
        }
    }
}

/// No kernel takes more than it may. This is about machine code: what PTX will take is known once it is compiled.
pub fn resource_limits(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    for requirement in requirements.kernels.iter().flatten().filter(|requirement| !requirement.limits.is_empty()) {
        for image in facts.images.iter().filter(|image| image.is_machine_code()) {
            if is_unread(image) {
                findings.add(
                    undecided(format!("cannot tell what its kernels take: {}", unread_reason(image))).image(image),
                );
            }
            for kernel in kernels(image).filter(|kernel| is_selected(requirement, kernel)) {
                findings.matched(requirement.line);
                for &(limit, most) in &requirement.limits {
                    check_limit(image, kernel, limit, most, findings);
                }
            }
        }
    }
}

fn check_limit(image: &ImageFacts<'_>, kernel: &Kernel, limit: KernelLimit, most: u64, findings: &mut Findings) {
    let name = limit.name();
    let found = match figure(kernel, limit) {
        Some(value) if value > most => violated(format!("{value} {name}, at most {most} allowed")),
        Some(value) if limit == KernelLimit::Scratch && kernel.scratch_is_minimum => {
            undecided(format!("{value} {name} and more, as the kernel calls for; at most {most} allowed"))
        }
        Some(_) => return,
        None if limit == KernelLimit::Spills => {
            undecided(format!("the image does not state {name}, of which at most {most} are allowed"))
                .there("NVIDIA's images state what was spilled to memory as a part of scratch: see max-scratch")
        }
        None => undecided(format!("the image does not state {name}, of which at most {most} are allowed")),
    };
    findings.add(found.image(image).kernel(display_name(kernel)));
}

fn figure(kernel: &Kernel, limit: KernelLimit) -> Option<u64> {
    match limit {
        KernelLimit::Registers => kernel.registers.or(kernel.vgprs),
        KernelLimit::Spills => match (kernel.vgpr_spills, kernel.sgpr_spills) {
            (None, None) => None,
            (vector, scalar) => Some(vector.unwrap_or(0).saturating_add(scalar.unwrap_or(0))),
        },
        KernelLimit::Scratch => kernel.scratch,
        KernelLimit::Shared => kernel.shared,
    }
}

/// The kernels that a demand is about, and the images that each is in.
fn matching<'f>(
    facts: &'f FileFacts<'_>,
    requirement: &KernelRequirement,
) -> BTreeMap<&'f str, Vec<&'f ImageFacts<'f>>> {
    let mut found: BTreeMap<&str, Vec<&ImageFacts<'_>>> = BTreeMap::new();
    for image in &facts.images {
        for kernel in kernels(image).filter(|kernel| is_selected(requirement, kernel)) {
            found.entry(display_name(kernel)).or_default().push(image);
        }
    }
    found
}

fn kernels<'f>(image: &'f ImageFacts<'_>) -> impl Iterator<Item = &'f Kernel> {
    image.inside.inspection.iter().flat_map(|inspection| &inspection.kernels)
}

fn is_selected(requirement: &KernelRequirement, kernel: &Kernel) -> bool {
    let Some(regex) = &requirement.matching else { return true };
    regex.is_match(&kernel.name) || kernel.demangled.as_deref().is_some_and(|name| regex.is_match(name))
}

/// The name that people know.
fn display_name(kernel: &Kernel) -> &str {
    kernel.demangled.as_deref().unwrap_or(&kernel.name)
}

fn native_target<'f>(image: &'f ImageFacts<'_>) -> Option<&'f str> {
    match &image.code {
        ImageCode::For(PolicyTarget::Native(id)) => Some(id),
        _ => None,
    }
}

/// The architectures of machine code for the same triples that a kernel is not there for. PTX is not asked for: that it
/// is there for some kernels and not for others is what libraries do.
fn missing_archs(facts: &FileFacts<'_>, images: &[&ImageFacts<'_>], codes: &[&str]) -> Vec<PolicyTarget> {
    let is_same_triple = |other: &&ImageFacts<'_>| images.iter().any(|image| image.image.triple == other.image.triple);
    let same = facts.images.iter().filter(is_same_triple);
    let mut missing: Vec<&str> = same.filter_map(native_target).filter(|id| !codes.contains(id)).collect();
    missing.sort_unstable();
    missing.dedup();
    missing.into_iter().map(|id| PolicyTarget::Native(id.to_owned())).collect()
}

/// Whether there may be kernels in an image that are not known.
fn is_unread(image: &ImageFacts<'_>) -> bool {
    match &image.inside.inspection {
        None => true,
        Some(inspection) => {
            image.code != ImageCode::Empty && (inspection.not_inspected.is_some() || !inspection.problems.is_empty())
        }
    }
}

fn unread_reason(image: &ImageFacts<'_>) -> String {
    let inspection = image.inside.inspection.as_ref();
    let reason = inspection.and_then(|inspection| match inspection.problems.first() {
        Some(problem) => Some(format!("it is broken ({problem})")),
        None => inspection.not_inspected.map(str::to_owned),
    });
    format!("image {}: {}", image.number, reason.unwrap_or("was not looked into".to_owned()))
}

/// Whether an image may be, or become, code for a target.
fn may_match(image: &ImageFacts<'_>, target: &PolicyTarget) -> bool {
    match &image.code {
        ImageCode::For(own) => own == target,
        ImageCode::Intermediate(arch) => PolicyTarget::parse(arch).map_or(true, |own| own == *target),
        ImageCode::Unknown => true,
        ImageCode::Empty => false,
    }
}
