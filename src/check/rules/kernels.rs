//! Kernels: whether they are there for all architectures that they have to be for, and what they take of a device.

use std::collections::BTreeMap;

use super::findings::{Findings, undecided, violated};
use crate::check::coverage::is_there;
use crate::check::facts::{Code, Facts, ImageFacts, each_once};
use crate::check::policy::{Demands, KernelArchs, KernelDemand, Limit, Target};
use crate::inspect::Kernel;

pub fn covers(demands: &Demands) -> bool {
    demands.kernels.iter().flatten().any(|demand| demand.archs.is_some())
}

pub fn limits(demands: &Demands) -> bool {
    demands.kernels.iter().flatten().any(|demand| !demand.limits.is_empty())
}

/// Kernels are there for the architectures that they have to be for.
pub fn coverage(facts: &Facts<'_>, demands: &Demands, findings: &mut Findings) {
    for demand in demands.kernels.iter().flatten() {
        let Some(archs) = &demand.archs else { continue };
        for (name, images) in matching(facts, demand) {
            findings.matched(demand.line);
            let codes: Vec<&str> = images.iter().filter_map(|image| native(image)).collect();
            let missing: Vec<Target> = match archs {
                KernelArchs::These(targets) => {
                    let is_missing = |target: &&Target| match target {
                        Target::Native(id) => !is_there(&codes, id),
                        target => !images.iter().any(|image| image.code == Code::For((*target).clone())),
                    };
                    targets.iter().filter(is_missing).cloned().collect()
                }
                KernelArchs::All => others(facts, &images, &codes),
            };
            let there: Vec<String> = images.iter().filter_map(|image| image.code.label()).collect();
            for target in missing {
                let unread = facts.images.iter().find(|image| was_not_read(image) && may_be(image, &target));
                let found = match unread {
                    Some(image) => undecided(format!("cannot tell whether it is there for {target}: {}", why(image))),
                    None => violated(format!("is not there for {target}")),
                };
                findings.add(found.kernel(name).there(format!("it is there for {}", each_once(&there))));
            }
        }
    }
}

/// No kernel takes more than it may. This is about machine code: what PTX will take is known once it is compiled.
pub fn within_limits(facts: &Facts<'_>, demands: &Demands, findings: &mut Findings) {
    for demand in demands.kernels.iter().flatten().filter(|demand| !demand.limits.is_empty()) {
        for image in facts.images.iter().filter(|image| image.is_machine_code()) {
            if was_not_read(image) {
                findings.add(undecided(format!("cannot tell what its kernels take: {}", why(image))).image(image));
            }
            for kernel in kernels(image).filter(|kernel| is_meant(demand, kernel)) {
                findings.matched(demand.line);
                for &(limit, most) in &demand.limits {
                    judge_limit(image, kernel, limit, most, findings);
                }
            }
        }
    }
}

fn judge_limit(image: &ImageFacts<'_>, kernel: &Kernel, limit: Limit, most: u64, findings: &mut Findings) {
    let name = limit.name();
    let found = match figure(kernel, limit) {
        Some(value) if value > most => violated(format!("{value} {name}, at most {most} allowed")),
        Some(value) if limit == Limit::Scratch && kernel.scratch_is_minimum => {
            undecided(format!("{value} {name} and more, as the kernel calls for; at most {most} allowed"))
        }
        Some(_) => return,
        None if limit == Limit::Spills => {
            undecided(format!("the image does not state {name}, of which at most {most} are allowed"))
                .there("NVIDIA's images state what was spilled to memory as a part of scratch: see max-scratch")
        }
        None => undecided(format!("the image does not state {name}, of which at most {most} are allowed")),
    };
    findings.add(found.image(image).kernel(shown(kernel)));
}

fn figure(kernel: &Kernel, limit: Limit) -> Option<u64> {
    match limit {
        Limit::Registers => kernel.registers.or(kernel.vgprs),
        Limit::Spills => match (kernel.vgpr_spills, kernel.sgpr_spills) {
            (None, None) => None,
            (vector, scalar) => Some(vector.unwrap_or(0).saturating_add(scalar.unwrap_or(0))),
        },
        Limit::Scratch => kernel.scratch,
        Limit::Shared => kernel.shared,
    }
}

/// The kernels that a demand is about, and the images that each is in.
fn matching<'f>(facts: &'f Facts<'_>, demand: &KernelDemand) -> BTreeMap<&'f str, Vec<&'f ImageFacts<'f>>> {
    let mut found: BTreeMap<&str, Vec<&ImageFacts<'_>>> = BTreeMap::new();
    for image in &facts.images {
        for kernel in kernels(image).filter(|kernel| is_meant(demand, kernel)) {
            found.entry(shown(kernel)).or_default().push(image);
        }
    }
    found
}

fn kernels<'f>(image: &'f ImageFacts<'_>) -> impl Iterator<Item = &'f Kernel> {
    image.inside.inspection.iter().flat_map(|inspection| &inspection.kernels)
}

fn is_meant(demand: &KernelDemand, kernel: &Kernel) -> bool {
    let Some(regex) = &demand.matching else { return true };
    regex.is_match(&kernel.name) || kernel.demangled.as_deref().is_some_and(|name| regex.is_match(name))
}

/// The name that people know.
fn shown(kernel: &Kernel) -> &str {
    kernel.demangled.as_deref().unwrap_or(&kernel.name)
}

fn native<'f>(image: &'f ImageFacts<'_>) -> Option<&'f str> {
    match &image.code {
        Code::For(Target::Native(id)) => Some(id),
        _ => None,
    }
}

/// The architectures of machine code for the same triples that a kernel is not there for. PTX is not asked for: that it
/// is there for some kernels and not for others is what libraries do.
fn others(facts: &Facts<'_>, images: &[&ImageFacts<'_>], codes: &[&str]) -> Vec<Target> {
    let is_same_triple = |other: &&ImageFacts<'_>| images.iter().any(|image| image.image.triple == other.image.triple);
    let same = facts.images.iter().filter(is_same_triple);
    let mut missing: Vec<&str> = same.filter_map(native).filter(|id| !codes.contains(id)).collect();
    missing.sort_unstable();
    missing.dedup();
    missing.into_iter().map(|id| Target::Native(id.to_owned())).collect()
}

/// Whether there may be kernels in an image that are not known.
fn was_not_read(image: &ImageFacts<'_>) -> bool {
    match &image.inside.inspection {
        None => true,
        Some(inspection) => {
            image.code != Code::Empty && (inspection.not_inspected.is_some() || !inspection.problems.is_empty())
        }
    }
}

fn why(image: &ImageFacts<'_>) -> String {
    let inspection = image.inside.inspection.as_ref();
    let reason = inspection.and_then(|inspection| match inspection.problems.first() {
        Some(problem) => Some(format!("it is broken ({problem})")),
        None => inspection.not_inspected.map(str::to_owned),
    });
    format!("image {}: {}", image.number, reason.unwrap_or("was not looked into".to_owned()))
}

/// Whether an image may be, or become, code for a target.
fn may_be(image: &ImageFacts<'_>, target: &Target) -> bool {
    match &image.code {
        Code::For(own) => own == target,
        Code::Intermediate(arch) => Target::parse(arch).map_or(true, |own| own == *target),
        Code::Unknown => true,
        Code::Empty => false,
    }
}
