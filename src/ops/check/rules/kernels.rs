//! Kernels: the architectures that they must be available for, and the registers and memory that they use.

use std::collections::{BTreeMap, BTreeSet};

use super::findings::{RuleFindings, undecided, violated};
use crate::check::coverage::has_exact_code;
use crate::check::facts::{FileFacts, ImageCode, ImageFacts, unique_list};
use crate::check::policy::{KernelLimit, KernelRequirement, KernelTargets, Requirements};
use crate::check::target::PolicyTarget;
use fatbin_core::image::Kernel;

pub fn requires_coverage(requirements: &Requirements) -> bool {
    requirements.kernels.iter().flatten().any(|it| it.archs.is_some() || it.devices.is_some())
}

pub fn requires_limits(requirements: &Requirements) -> bool {
    requirements.kernels.iter().flatten().any(|requirement| !requirement.limits.is_empty())
}

/// Checks that kernels are available for the required architectures.
pub fn coverage(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let native_archs = NativeArchs::of(facts);
    for requirement in requirements.kernels.iter().flatten() {
        let Some(archs) = &requirement.archs else { continue };
        for (name, images) in selected_kernels(facts, requirement) {
            findings.add_matched_line(requirement.line);
            let available: Vec<String> = images.iter().filter_map(|image| image.code.label()).collect();
            for target in missing_targets(&native_archs, archs, &images) {
                let unread = facts.images.iter().find(|image| is_unread(image) && may_match(image, &target));
                let finding = match unread {
                    Some(image) => undecided(format!(
                        "cannot determine whether it is available for {target}: {}",
                        unread_reason(image)
                    )),
                    None => violated(format!("missing for {target}")),
                };
                let detail = format!("available for {}", unique_list(&available));
                findings.add(finding.kernel(name).detail(detail));
            }
        }
    }
}

/// Returns the required targets that a kernel is missing for. `images` are the images that contain it.
fn missing_targets(
    native_archs: &NativeArchs<'_>,
    archs: &KernelTargets,
    images: &[&ImageFacts<'_>],
) -> Vec<PolicyTarget> {
    let codes: Vec<&str> = images.iter().filter_map(|image| native_target(image)).collect();
    let is_missing = |target: &&PolicyTarget| match target {
        PolicyTarget::Native(id) => !has_exact_code(&codes, id),
        target => !images.iter().any(|image| image.code == ImageCode::For((*target).clone())),
    };
    match archs {
        KernelTargets::Listed(targets) => targets.iter().filter(is_missing).cloned().collect(),
        KernelTargets::All => native_archs.missing(images, &codes),
    }
}

/// Architectures of the machine code in a file, by triple.
struct NativeArchs<'a>(BTreeMap<Option<&'a str>, BTreeSet<&'a str>>);

impl<'a> NativeArchs<'a> {
    fn of(facts: &'a FileFacts<'_>) -> Self {
        let mut archs = BTreeMap::<_, BTreeSet<&str>>::new();
        for image in &facts.images {
            if let Some(id) = native_target(image) {
                archs.entry(image.image.triple.as_deref()).or_default().insert(id);
            }
        }
        NativeArchs(archs)
    }

    /// Returns the architectures for the triples of some images that are not among `codes`. PTX is not required:
    /// libraries contain it for some kernels and not for others.
    fn missing(&self, images: &[&ImageFacts<'_>], codes: &[&str]) -> Vec<PolicyTarget> {
        let triples: BTreeSet<_> = images.iter().map(|image| image.image.triple.as_deref()).collect();
        let archs: BTreeSet<_> = triples.iter().filter_map(|triple| self.0.get(triple)).flatten().copied().collect();
        let missing = archs.into_iter().filter(|id| !codes.contains(id));
        missing.map(|id: &str| PolicyTarget::Native(id.to_owned())).collect()
    }
}

/// Checks the registers and memory of kernels in machine code. PTX has no known usage until it is compiled.
pub fn resource_limits(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    for requirement in requirements.kernels.iter().flatten() {
        if requirement.limits.is_empty() {
            continue;
        }
        for image in facts.images.iter().filter(|image| image.is_machine_code()) {
            if is_unread(image) {
                let message = format!("cannot determine what its kernels use: {}", unread_reason(image));
                findings.add(undecided(message).image(image));
            }
            for kernel in
                kernels(image).filter(|kernel| is_selected(requirement, &kernel.name, kernel.demangled.as_deref()))
            {
                findings.add_matched_line(requirement.line);
                for &(limit, most) in &requirement.limits {
                    check_limit(image, kernel, limit, most, findings);
                }
            }
        }
    }
}

fn check_limit(image: &ImageFacts<'_>, kernel: &Kernel, limit: KernelLimit, most: u64, findings: &mut RuleFindings) {
    let name = limit.name();
    let finding = match usage(kernel, limit) {
        Some(value) if value > most => violated(format!("{value} {name}, at most {most} allowed")),
        Some(value) if limit == KernelLimit::Scratch && kernel.scratch_is_minimum => {
            undecided(format!("{value} {name} or more, depending on calls; at most {most} allowed"))
        }
        Some(_) => return,
        None => {
            let finding = undecided(format!("the image does not state {name}; at most {most} allowed"));
            if limit == KernelLimit::Spills {
                finding.detail("NVIDIA images state spills to memory as part of scratch: use max-scratch")
            } else {
                finding
            }
        }
    };
    findings.add(finding.image(image).kernel(display_name(kernel)));
}

fn usage(kernel: &Kernel, limit: KernelLimit) -> Option<u64> {
    match limit {
        KernelLimit::Registers => kernel.registers.or(kernel.vgprs),
        KernelLimit::Spills => kernel.spills(),
        KernelLimit::Scratch => kernel.scratch,
        KernelLimit::Shared => kernel.shared,
    }
}

/// Returns the kernels that a requirement selects by name, and the images that contain each.
fn selected_kernels<'f>(
    facts: &'f FileFacts<'_>,
    requirement: &KernelRequirement,
) -> BTreeMap<&'f str, Vec<&'f ImageFacts<'f>>> {
    let mut selected: BTreeMap<&str, Vec<&ImageFacts<'_>>> = BTreeMap::new();
    for image in &facts.images {
        for kernel in
            kernels(image).filter(|kernel| is_selected(requirement, &kernel.name, kernel.demangled.as_deref()))
        {
            selected.entry(display_name(kernel)).or_default().push(image);
        }
    }
    selected
}

fn kernels<'f>(image: &'f ImageFacts<'_>) -> impl Iterator<Item = &'f Kernel> {
    image.inside.inspection.iter().flat_map(|inspection| &inspection.kernels)
}

pub fn is_selected(requirement: &KernelRequirement, name: &str, demangled: Option<&str>) -> bool {
    let Some(regex) = &requirement.matching else { return true };
    let matches = |name: &str| regex.is_match(name.as_bytes());
    matches(name) || demangled.is_some_and(matches)
}

/// Returns the demangled name, or the symbol if it is not mangled.
fn display_name(kernel: &Kernel) -> &str {
    kernel.demangled.as_deref().unwrap_or(&kernel.name)
}

fn native_target<'f>(image: &'f ImageFacts<'_>) -> Option<&'f str> {
    match &image.code {
        ImageCode::For(PolicyTarget::Native(id)) => Some(id),
        _ => None,
    }
}

/// Returns whether an image may contain kernels that are not known.
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
        Some(problem) => Some(format!("damaged ({problem})")),
        None => inspection.not_inspected.map(str::to_owned),
    });
    format!("image {}: {}", image.number, reason.unwrap_or("not inspected".to_owned()))
}

/// Returns whether an image is, or may become, code for a target.
fn may_match(image: &ImageFacts<'_>, target: &PolicyTarget) -> bool {
    match &image.code {
        // It is linked to machine code.
        ImageCode::For(PolicyTarget::LtoIr(arch)) => *target == PolicyTarget::Native(arch.to_string()),
        ImageCode::For(own) => own == target,
        ImageCode::For32Bit(_) => false,
        ImageCode::Intermediate(arch) => PolicyTarget::parse(arch).map_or(true, |own| own == *target),
        ImageCode::Unknown(_) => true,
        ImageCode::OtherSystem(_) | ImageCode::Unneeded(_) | ImageCode::Empty => false,
    }
}
