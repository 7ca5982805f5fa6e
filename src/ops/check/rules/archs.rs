//! Architectures that code must, may and must not be built for.

use super::devices::device as named_device;
use super::findings::{RuleFinding, RuleFindings, undecided, violated};
use super::kpack;
use crate::analyze::select::{CandidateSet, candidate_sets, program_sets};
use crate::check::coverage::{allows, has_exact_code};
use crate::check::facts::{FileFacts, ImageCode};
use crate::check::policy::Requirements;
use crate::check::target::PolicyTarget;
use fatbin_core::format::ImageKind;
use fatbin_core::target::Device;
use fatbin_core::target::nvptx::{self, Suffix};
use fatbin_core::target::runs_on::LoadMethod;

/// Requires code that is built for exactly these architectures.
pub fn required(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    for target in requirements.require.iter().flatten() {
        let code = format!("code for {target}");
        kpack::required(facts, target, &code, findings);
        if !facts.images.is_empty() && !has_code(facts, target) && !is_replaced(facts, requirements, target) {
            findings.add(missing(facts, target, code).detail(facts.available()));
        }
    }
}

/// Returns whether a file has code that is built for exactly this architecture.
pub fn has_code(facts: &FileFacts<'_>, target: &PolicyTarget) -> bool {
    match target {
        PolicyTarget::Native(id) => has_exact_code(&facts.native_targets(), id),
        target => facts.loadable().any(|image| is_listed(target, &image.code)),
    }
}

/// Returns whether PTX that the policy accepts replaces machine code.
fn is_replaced(facts: &FileFacts<'_>, requirements: &Requirements, target: &PolicyTarget) -> bool {
    let PolicyTarget::Native(id) = target else { return false };
    has_ptx_fallback(facts, requirements, id)
        || linked_ptx(facts, id).is_some_and(|ptx| accepts_all(requirements, &ptx))
}

/// Requires code that runs on these devices.
pub fn devices(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    kpack::devices(facts, requirements, findings);
    if facts.images.is_empty() {
        return;
    }
    for target in requirements.devices.iter().flatten() {
        let PolicyTarget::Native(device) = target else {
            // The system of a Metal library.
            if !facts.images.iter().any(|image| is_listed(target, &image.code)) {
                let code = format!("code that runs on {target}");
                findings.add(missing(facts, target, code).detail(facts.available()));
            }
            continue;
        };
        let service = service(facts, &|arch| accepts_ptx(requirements, arch), target);
        if service == Some(Acceptance::Accepted) {
            continue;
        }
        let code = if service == Some(Acceptance::OnlyPtx) {
            format!("machine code that runs on {device} (only PTX, which is compiled when it is loaded)")
        } else {
            format!("code that runs on {device}")
        };
        findings.add(missing(facts, target, code).detail(facts.available()));
    }
}

/// How a file serves a device. Worse is greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Acceptance {
    /// By code that the policy accepts.
    Accepted,
    /// By PTX that the policy does not accept.
    OnlyPtx,
}

/// Returns how the modules of a file serve a device, in the worst setting that its name leaves open; `None` if nothing
/// runs there. One module that serves it is enough: libraries have modules with specialized code.
pub fn service(
    facts: &FileFacts<'_>,
    accepts_ptx: &dyn Fn(nvptx::Arch) -> bool,
    target: &PolicyTarget,
) -> Option<Acceptance> {
    let device = named_device(target)?;
    let file = &facts.survey.file;
    let mut sets: Vec<CandidateSet<'_>> = candidate_sets(file).into_iter().chain(program_sets(file)).collect();
    sets.retain(CandidateSet::has_kernels);
    let on = |device: &Device| sets.iter().filter_map(|set| acceptance(set, accepts_ptx, device)).min();
    let services: Option<Vec<Acceptance>> = device.devices.iter().map(on).collect();
    services?.into_iter().max()
}

/// Returns how a module serves a device: by machine code, or by PTX. The policy must accept all of the PTX.
fn acceptance(
    set: &CandidateSet<'_>,
    accepts_ptx: &dyn Fn(nvptx::Arch) -> bool,
    device: &Device,
) -> Option<Acceptance> {
    let selection = set.select_on(device);
    let (selected, method) = selection.selected.filter(|_| !selection.is_undecided())?;
    if method != LoadMethod::FromPtx {
        return Some(Acceptance::Accepted);
    }
    let linked = selection.link.iter().map(|(index, _)| *index);
    let images = [selected].into_iter().chain(linked).filter_map(|index| set.candidates.get(index)).map(|it| it.image);
    let ptx = images.filter(|image| image.image_kind == ImageKind::Ptx);
    let mut archs = ptx.map(|image| image.arch.as_deref().and_then(nvptx::Arch::parse));
    let are_accepted = archs.all(|arch| arch.is_some_and(accepts_ptx));
    Some(if are_accepted { Acceptance::Accepted } else { Acceptance::OnlyPtx })
}

/// Forbids code for these architectures.
pub fn forbidden(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let forbidden = requirements.forbid.as_deref().unwrap_or_default();
    kpack::allowed(facts, &|target| !forbidden.iter().any(|listed| allows(listed, target)), "forbidden", findings);
    for image in &facts.images {
        match &image.code {
            ImageCode::For(target) if forbidden.iter().any(|listed| allows(listed, target)) => {
                findings.add(violated(format!("code for {target} is forbidden")).image(image));
            }
            ImageCode::Unknown(why) if !forbidden.is_empty() => {
                findings.add(undecided(format!("{}, which may be forbidden", why.reason())).image(image));
            }
            _ => {}
        }
    }
}

/// Forbids code for all other architectures.
pub fn only(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut RuleFindings) {
    let only = requirements.only.as_deref().unwrap_or_default();
    let names = only.iter().map(PolicyTarget::to_string).collect::<Vec<_>>().join(", ");
    let allowed = |target: &PolicyTarget| only.iter().any(|listed| allows(listed, target));
    kpack::allowed(facts, &allowed, &format!("not allowed, only {names}"), findings);
    let lists_lto_ir = only.iter().any(|listed| matches!(listed, PolicyTarget::LtoIr(_)));
    for image in &facts.images {
        match &image.code {
            // Nothing runs it unlinked.
            ImageCode::For(PolicyTarget::LtoIr(_)) if !lists_lto_ir => {}
            ImageCode::For(target) if !only.iter().any(|listed| allows(listed, target)) => {
                findings.add(violated(format!("code for {target}, only {names} allowed")).image(image));
            }
            ImageCode::Unknown(why) => {
                findings.add(undecided(format!("{}, which may not be allowed", why.reason())).image(image));
            }
            _ => {}
        }
    }
}

fn is_listed(listed: &PolicyTarget, code: &ImageCode) -> bool {
    matches!(code, ImageCode::For(target) if allows(listed, target))
}

/// Returns whether PTX that the policy accepts replaces missing machine code for an NVIDIA device.
fn has_ptx_fallback(facts: &FileFacts<'_>, requirements: &Requirements, device: &str) -> bool {
    let Some(device) = nvptx::Arch::parse(device) else { return false };
    facts.ptx().any(|ptx| accepts_ptx(requirements, ptx) && ptx.runs_on(device, true))
}

/// Returns whether PTX for an architecture may replace machine code.
fn accepts_ptx(requirements: &Requirements, ptx: nvptx::Arch) -> bool {
    matches!(requirements.ptx_fallback, Some(PolicyTarget::Ptx(least)) if ptx.number >= least.number)
}

/// Returns whether the policy accepts that the driver links relocatable code at load time and compiles this PTX for it.
fn accepts_all(requirements: &Requirements, ptx: &[nvptx::Arch]) -> bool {
    ptx.iter().all(|ptx| accepts_ptx(requirements, *ptx))
}

/// Returns the architectures of the PTX that the driver compiles when it links relocatable code for a device at load
/// time. Returns `None` if it does not link any.
fn linked_ptx(facts: &FileFacts<'_>, device: &str) -> Option<Vec<nvptx::Arch>> {
    let [device] = Device::parse(device).ok()?.try_into().ok()?;
    let sets = candidate_sets(&facts.survey.file).into_iter().filter(|set| !set.link_inputs.is_empty());
    let mut links = sets.map(|set| {
        let selection = set.select_on(&device);
        let images = selection.link.iter().filter_map(|(index, _)| set.candidates.get(*index)).map(|it| it.image);
        let ptx = images.filter(|image| image.image_kind == ImageKind::Ptx);
        let archs = ptx.filter_map(|image| image.arch.as_deref().and_then(nvptx::Arch::parse)).collect();
        if selection.is_link() && !selection.is_undecided() { Some(archs) } else { None }
    });
    links.find_map(|link| link)
}

/// Creates the finding for missing code. It is undecided if an image that is ambiguous or unreadable may be that code.
pub fn missing(facts: &FileFacts<'_>, target: &PolicyTarget, code: String) -> RuleFinding {
    unmet(facts, target, code).target(target)
}

fn unmet(facts: &FileFacts<'_>, target: &PolicyTarget, code: String) -> RuleFinding {
    let unknown = facts.images.iter().find_map(|image| match image.code {
        ImageCode::Unknown(why) => Some((image, why)),
        _ => None,
    });
    if let Some((image, why)) = unknown {
        let message = format!("cannot determine whether there is {code}: this image {}", why.reason());
        undecided(message).image(image)
    } else if let Some(image) = facts.images.iter().find(|it| !it.is_named && hides_suffix(&it.code, target)) {
        let message =
            format!("cannot determine whether there is {code}: cubins with and without the suffix are identical");
        undecided(message).image(image)
    } else if !facts.survey.file.is_incomplete() {
        violated(format!("no {code}"))
    } else {
        undecided(format!("no {code} in the readable part of the file"))
    }
}

/// Returns whether bare machine code may be for a target with a suffix that its header cannot state: `f` in no cubin,
/// and `a` not in CUDA 12's cubins for Blackwell.
fn hides_suffix(code: &ImageCode, target: &PolicyTarget) -> bool {
    let (ImageCode::For(PolicyTarget::Native(code)), PolicyTarget::Native(target)) = (code, target) else {
        return false;
    };
    let (Some(code), Some(target)) = (nvptx::Arch::parse(code), nvptx::Arch::parse(target)) else { return false };
    let first = if target.suffix == Some(Suffix::Family) { 0 } else { 100 };
    target.suffix.is_some() && code.suffix.is_none() && code.number == target.number && code.number >= first
}
