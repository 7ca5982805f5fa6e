//! Which architectures there is code for.

use super::findings::{Findings, RuleFinding, undecided, violated};
use crate::check::coverage::{allows, has_exact_code, runs_on_device};
use crate::check::facts::{FileFacts, ImageCode};
use crate::check::policy::{PolicyTarget, Requirements};
use crate::target::nvptx::{self, Suffix};

/// There is code for exactly these.
pub fn required(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    for target in requirements.require.iter().flatten() {
        let is_there = match target {
            PolicyTarget::Native(id) => {
                has_exact_code(&facts.native_targets(), id) || fallback_serves(facts, requirements, id)
            }
            target => facts.images.iter().any(|image| is_listed(target, &image.code)),
        };
        if !is_there {
            findings.add(missing(facts, target, format!("code for {target}")));
        }
    }
}

/// There is code that runs on these.
pub fn devices(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    for target in requirements.devices.iter().flatten() {
        let PolicyTarget::Native(device) = target else { continue };
        if !runs_on_device(&facts.native_targets(), device) && !fallback_serves(facts, requirements, device) {
            let ptx =
                facts.ptx().find(|ptx| nvptx::Arch::parse(device).is_some_and(|device| ptx.runs_on(device, true)));
            let what = match ptx {
                Some(_) => format!("machine code that runs on {device} (only PTX, to be compiled there)"),
                None => format!("code that runs on {device}"),
            };
            findings.add(missing(facts, target, what));
        }
    }
}

/// There is no code for these.
pub fn forbidden(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    let forbidden = requirements.forbid.as_deref().unwrap_or_default();
    for image in &facts.images {
        match &image.code {
            ImageCode::For(target) if forbidden.iter().any(|listed| allows(listed, target)) => {
                findings.add(violated(format!("code for {target}, which is forbidden")).image(image));
            }
            ImageCode::Unknown if !forbidden.is_empty() => {
                findings.add(undecided("does not say what it is for, which may be forbidden").image(image));
            }
            _ => {}
        }
    }
}

/// There is no code for any other.
pub fn only(facts: &FileFacts<'_>, requirements: &Requirements, findings: &mut Findings) {
    let only = requirements.only.as_deref().unwrap_or_default();
    let names: Vec<String> = only.iter().map(PolicyTarget::to_string).collect();
    for image in &facts.images {
        match &image.code {
            ImageCode::For(target) if !only.iter().any(|listed| allows(listed, target)) => {
                findings.add(
                    violated(format!("code for {target}, and only {} may be there", names.join(", "))).image(image),
                );
            }
            ImageCode::Unknown => {
                findings.add(undecided("does not say what it is for, which may be something else").image(image));
            }
            _ => {}
        }
    }
}

fn is_listed(listed: &PolicyTarget, code: &ImageCode) -> bool {
    matches!(code, ImageCode::For(target) if allows(listed, target))
}

/// Whether there is PTX that does where machine code for a device of NVIDIA's is missing.
fn fallback_serves(facts: &FileFacts<'_>, requirements: &Requirements, device: &str) -> bool {
    let (Some(PolicyTarget::Ptx(least)), Some(device)) = (&requirements.ptx_fallback, nvptx::Arch::parse(device))
    else {
        return false;
    };
    facts.ptx().any(|ptx| ptx.number >= least.number && ptx.runs_on(device, true))
}

/// Code is missing; or it may be what cannot be told apart or read.
fn missing(facts: &FileFacts<'_>, target: &PolicyTarget, what: String) -> RuleFinding {
    if let Some(image) = facts.images.iter().find(|image| image.code == ImageCode::Unknown) {
        return undecided(format!("cannot tell whether there is {what}: this image does not say what it is for"))
            .image(image)
            .there(facts.there());
    }
    if let Some(image) = facts.images.iter().find(|image| !image.is_named && hides_suffix(&image.code, target)) {
        return undecided(format!(
            "cannot tell whether there is {what}: cubins for it and without the suffix look alike"
        ))
        .image(image)
        .there(facts.there());
    }
    if !facts.survey.file.errors.is_empty() {
        return undecided(format!("no {what} in what can be read")).there(facts.there());
    }
    violated(format!("no {what}")).there(facts.there())
}

/// Whether machine code by itself may be for a target with a suffix that its header cannot state: `f` for none, and for
/// CUDA 12's cubins of Blackwell neither `a`.
fn hides_suffix(code: &ImageCode, target: &PolicyTarget) -> bool {
    let (ImageCode::For(PolicyTarget::Native(code)), PolicyTarget::Native(target)) = (code, target) else {
        return false;
    };
    match (nvptx::Arch::parse(code), nvptx::Arch::parse(target)) {
        (Some(code), Some(target)) => {
            let first = if target.suffix == Some(Suffix::Family) { 0 } else { 100 };
            target.suffix.is_some() && code.suffix.is_none() && code.number == target.number && code.number >= first
        }
        _ => false,
    }
}
